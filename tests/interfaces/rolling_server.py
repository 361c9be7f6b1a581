"""A server in a process of its own, whose streams' shards roll over after so many seconds."""

import sys

import hashrange
from hashrange import Settings
from hashrange.interfaces.entrance import open_entrance
from hashrange.interfaces.server import serve

if __name__ == "__main__":
    entrance = open_entrance("127.0.0.1", 0)
    settings = Settings(shard_seconds=float(sys.argv[1]))
    with entrance.listener, hashrange.connect(settings=settings) as database:
        serve(database.runtime, entrance, lambda: print(entrance.port, flush=True))
