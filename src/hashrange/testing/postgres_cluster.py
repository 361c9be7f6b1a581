"""A cluster of PostgreSQL servers with Citus on this machine, for tests and measurements.

    cluster = Cluster(nodes=3)
    ...
    cluster.stop()

Or, from a shell: `python -m hashrange.testing.postgres_cluster 3`. This prints the address of each
node, and stops the cluster on Ctrl-C.

A PostgreSQL with the extension Citus must be installed. Each node is a `PostgresServer` that
listens on 127.0.0.1. The first node is the coordinator, and also holds shards.
"""

import asyncio
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from hashrange.storage.postgres.cluster.distribute import distribute
from hashrange.testing.postgres_server import NoPostgres, PostgresServer, all_programs

PORTS = range(15_000, 32_000)
PORTS_TRIED = 5
PAUSE_SECONDS = 30


def find_programs_with_citus() -> Path:
    """The folder with the programs of a PostgreSQL that has Citus. Raises `NoPostgres`."""
    for folder in all_programs():
        with suppress(OSError, subprocess.CalledProcessError):
            shares = subprocess.run(
                [folder / "pg_config", "--sharedir"], check=True, capture_output=True, text=True
            ).stdout.strip()
            if (Path(shares) / "extension" / "citus.control").exists():
                return folder
    raise NoPostgres(
        "no PostgreSQL with the extension Citus was found: install one, or set "
        "HASHRANGE_POSTGRES_BIN to the folder of its programs"
    )


class Cluster:
    """A cluster, which the constructor starts. The attribute `nodes` has the servers, the
    coordinator first."""

    def __init__(
        self, nodes: int, *, durable: bool = False, settings: dict[str, str] | None = None
    ) -> None:
        self._programs = find_programs_with_citus()
        self._durable = durable
        self._settings = settings or {}
        self.nodes: list[PostgresServer] = []
        try:
            for _ in range(nodes):
                self.start_node()
            first = self.nodes[0]
            first.run(
                f"SELECT citus_set_coordinator_host('127.0.0.1', {first.settings['port']})",
                "SELECT citus_set_node_property('127.0.0.1', "
                f"{first.settings['port']}, 'shouldhaveshards', true)",
            )
            for node in self.nodes[1:]:
                self.add(node)
        except BaseException:
            self.stop()
            raise

    def start_node(self) -> PostgresServer:
        """Start a new server with Citus. It is not a member of the cluster until `add` is
        called."""
        node = self._started(
            {
                "listen_addresses": "127.0.0.1",
                "shared_preload_libraries": "citus",
                "max_prepared_transactions": "200",
                "max_connections": "300",
                "wal_level": "logical",
                "max_wal_senders": "20",
                "max_replication_slots": "40",
                "max_worker_processes": "40",
                "citus.node_conninfo": "sslmode=disable",
                "citus.recover_2pc_interval": "2s",
                "citus.enable_statistics_collection": "off",
                **self._settings,
            }
        )
        self.nodes.append(node)
        node.run("ALTER ROLE hashrange SET lock_timeout = '10s'", "CREATE EXTENSION citus")
        return node

    def _started(self, settings: dict[str, str]) -> PostgresServer:
        """Start a server on a random port. If the port is not free, another one is tried."""
        for attempt in range(PORTS_TRIED):
            port = {"port": str(random.choice(PORTS))}
            try:
                return PostgresServer(
                    durable=self._durable, programs=self._programs, settings=settings | port
                )
            except RuntimeError:
                if attempt == PORTS_TRIED - 1:
                    raise
        raise AssertionError

    def add(self, node: PostgresServer) -> None:
        self.nodes[0].run(f"SELECT citus_add_node('127.0.0.1', {node.settings['port']})")

    def dsn(self, node: int = 0, *, database: str = "postgres", **options: str) -> str:
        """The address (DSN) of a database at a node; node 0 is the coordinator."""
        port = self.nodes[node].settings["port"]
        options = options if self._durable else {"unsynced": "1", **options}
        more = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://hashrange@127.0.0.1:{port}/{database}?{more}"

    def new_database(self, **options: str) -> str:
        """The address (DSN) of a new, empty database on all nodes."""
        name = f"test{time.time_ns()}"
        for node in self.nodes:
            node.run(f"CREATE DATABASE {name}")
            node.run("CREATE EXTENSION citus", database=name)
        first, *others = self.nodes
        at = f"'127.0.0.1', {first.settings['port']}"
        first.run(
            f"SELECT citus_set_coordinator_host({at})",
            f"SELECT citus_set_node_property({at}, 'shouldhaveshards', true)",
            *(f"SELECT citus_add_node('127.0.0.1', {it.settings['port']})" for it in others),
            database=name,
        )
        return self.dsn(0, database=name, **options)

    def new_distributed_database(self) -> str:
        dsn = self.new_database()
        asyncio.run(distribute(dsn))
        return dsn

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()


def main() -> None:
    count = sys.argv[1] if len(sys.argv) == 2 else ""
    if not count.isdecimal() or int(count) < 1:
        sys.exit("usage: python -m hashrange.testing.postgres_cluster NODES")
    try:
        cluster = Cluster(int(count))
    except NoPostgres as error:
        sys.exit(str(error))
    try:
        for at in range(len(cluster.nodes)):
            print(cluster.dsn(at), flush=True)
        while True:
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        pass
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
