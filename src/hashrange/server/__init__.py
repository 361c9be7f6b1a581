"""The HTTP server: a listener, the connections of clients, and the turns in which they are served.

Import nothing here: each start of the command line imports this package, and should stay quick.
"""

VARIABLES_PREFIX = "HASHRANGE_"
"""The prefix of a server's environment variables. Child processes that run other programs do not
inherit these variables, because some are secret."""
