"""`python -m benchmarks.over_postgresql ARGUMENTS`: a server over a PostgreSQL of its own.

The arguments are those of `hashrange serve`. Both end when this process is told to end.
"""

import signal
import subprocess
import sys

from hashrange.testing.postgres_server import PostgresServer


def main() -> None:
    database = PostgresServer(durable=True)
    command = [sys.executable, "-m", "hashrange", "serve", database.new_database(), *sys.argv[1:]]
    try:
        with subprocess.Popen(command) as server:
            signal.signal(signal.SIGTERM, lambda *_: server.terminate())
            server.wait()
    finally:
        database.stop()


if __name__ == "__main__":
    main()
