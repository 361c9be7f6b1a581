"""The HTTP server: a listener, its clients' connections, and the turns they are served in.

Nothing is imported here: the command line reads a name of this package at every start.
"""
