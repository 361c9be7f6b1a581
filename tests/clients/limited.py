"""A server in memory that enforces throughput: each partition serves a fixed number of units/s."""

import sys

import hashrange
from hashrange.server.listener import open_listener
from hashrange.server.server import Server, serve

if __name__ == "__main__":
    units = float(sys.argv[1])
    settings = hashrange.Settings(
        throughput="enforced", partition_read_units=units, partition_write_units=units
    )
    listener = open_listener("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.port}"
    with hashrange.connect(settings=settings) as database:
        serve(Server(database.runtime, listener), lambda: print(url, flush=True))
