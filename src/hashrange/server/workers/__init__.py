"""The processes of `hashrange serve`: one, or several workers under a supervisor.

The supervisor starts each worker as a fresh interpreter. A fork would be quicker, but a forked
worker would inherit the supervisor's event loop, threads and pipes. A worker inherits four things:
the listening socket, one end of a channel to the supervisor, a file whose memory and lock all
workers share, and stderr.
"""
