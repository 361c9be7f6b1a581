"""A server in memory whose stream shards roll over every second, for readers that walk lineage."""

import hashrange
from hashrange.interfaces.entrance import open_entrance
from hashrange.interfaces.server import serve

if __name__ == "__main__":
    entrance = open_entrance("127.0.0.1", 0)
    url = f"http://127.0.0.1:{entrance.port}"
    with hashrange.connect(settings=hashrange.Settings(shard_seconds=1)) as database:
        serve(database.runtime, entrance, lambda: print(url, flush=True))
