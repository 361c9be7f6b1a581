"""The HTTP server: a listener, the connections of clients, and the turns in which they are served.

Nothing is imported here: the command line reads a name of this package at every start.
"""
