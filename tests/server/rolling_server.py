"""A server in a process of its own, whose stream shards roll over after a number of seconds."""

import sys

import hashrange
from hashrange import Settings
from hashrange.server.listener import open_listener
from hashrange.server.server import Server, serve

if __name__ == "__main__":
    listener = open_listener("127.0.0.1", 0)
    settings = Settings(shard_seconds=float(sys.argv[1]))
    with listener.sock, hashrange.connect(settings=settings) as database:
        serve(Server(database.runtime, listener), lambda: print(listener.port, flush=True))
