"""A server in memory whose stream shards roll over after some seconds, for readers that follow the
lineage of shards.
"""

import sys

import hashrange
from hashrange.server.listener import open_listener
from hashrange.server.server import Server, serve

if __name__ == "__main__":
    settings = hashrange.Settings(shard_seconds=int(sys.argv[1]))
    listener = open_listener("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.port}"
    with hashrange.connect(settings=settings) as database:
        serve(Server(database.runtime, listener), lambda: print(url, flush=True))
