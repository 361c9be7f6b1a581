"""`python -m benchmarks.over_postgresql NODES ARGUMENTS`: a server over a PostgreSQL of its own.

If NODES is above 0, PostgreSQL is a Citus cluster of that many nodes. The other arguments are those
of `hashrange serve`. The server and PostgreSQL end when this process is told to end.
"""

import signal
import subprocess
import sys

from hashrange.testing.postgres_cluster import Cluster
from hashrange.testing.postgres_server import PostgresServer


def main() -> None:
    nodes, arguments = int(sys.argv[1]), sys.argv[2:]
    database: Cluster | PostgresServer
    if nodes:
        database = Cluster(nodes, durable=True)
        address = database.new_distributed_database()
    else:
        database = PostgresServer(durable=True)
        address = database.new_database()
    command = [sys.executable, "-m", "hashrange", "serve", address, *arguments]
    try:
        with subprocess.Popen(command) as server:
            signal.signal(signal.SIGTERM, lambda *_: server.terminate())
            server.wait()
    finally:
        database.stop()


if __name__ == "__main__":
    main()
