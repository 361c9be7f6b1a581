"""The HTTP server: a listener, the connections of clients, and the turns in which they are served.

Nothing is imported here: the command line reads `VARIABLES_PREFIX` at every start.
"""

VARIABLES_PREFIX = "HASHRANGE_"
"""The prefix of a server's environment variables. Child processes that run other programs do not
inherit these variables, because some are secret."""
