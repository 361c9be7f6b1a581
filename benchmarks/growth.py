"""Whether a database slows down as it grows: `python -m benchmarks.growth`.

Databases of different sizes, with items of 100 bytes, are filled with `hashrange import`. Then
their servers take turns, driven by 16 connections with requests for items drawn from the whole
table. For PostgreSQL, the processor time of the database is a figure of its own, and so are the
bytes of its write-ahead log.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from rich.console import Console

from benchmarks import load, processor, report, runs, workloads
from benchmarks.peers import ROOT, RUNS
from benchmarks.report import Grid
from benchmarks.servers import Running, Server
from benchmarks.spread import Spread
from benchmarks.workloads import Table, Workload, encode
from hashrange.testing.postgres_server import PostgresServer

STORES = ["sqlite", "postgresql"]
SIZES = [10_000, 1_000_000]
ROUNDS = 7
SECONDS = 2
DRAWN = 50_000
"""How many requests are prepared: enough to reach every part of a large table."""
PARALLEL = 16
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB"}
"""The settings of a PostgreSQL that is set up for a large database."""


class Measured(NamedTuple):
    """The figures of one run. The processor time of the server and of the database, and the bytes
    of the log, are those of one request."""

    requests_per_second: float
    p99_ms: float
    server_us: float
    database_us: float
    wal_bytes: float

    @property
    def computed_us(self) -> float:
        return self.server_us + self.database_us


class Grown:
    """A server over a database with as many items as the table says."""

    def __init__(self, store: str, table: Table, folder: Path, durability: str) -> None:
        self.name = f"{store}, {table.items:,} items"
        self.table = table
        self._folder = folder
        self._postgres: PostgresServer | None = None
        if store == "postgresql":
            self._postgres = PostgresServer(durable=True, settings=SETTINGS)
        self._database = (
            self._postgres.new_database() if self._postgres else str(folder / "grown.db")
        )
        command = [sys.executable, "-m", "hashrange", "serve", self._database]
        command += ["--port", "{port}", "--durability", durability]
        self._server = Server(self.name, "", durability, command, ROOT, source=ROOT / "src")

    def fill(self) -> None:
        with Running(self._server, self._folder / "empty") as running:
            runs.fill(running, self.table._replace(items=0))
        file = self._folder / "items.json"
        with file.open("wb") as lines:
            for number in range(self.table.items):
                lines.write(encode(Item=self.table.item(number)) + b"\n")
        command = [sys.executable, "-m", "hashrange", "import", self._database, self.table.name]
        subprocess.run([*command, str(file), "--parallel", str(PARALLEL)], check=True, cwd=ROOT)
        file.unlink()

    @contextmanager
    def running(self) -> Iterator[Running]:
        try:
            self.fill()
            with Running(self._server, self._folder / "server") as running:
                yield running
        finally:
            if self._postgres:
                self._postgres.stop()

    def measure(self, running: Running, replay: runs.Replay) -> Measured:
        before = self._spent()
        seen = runs.drive(running, replay, SECONDS)
        computed, written = (b - a for a, b in zip(before, self._spent(), strict=True))
        requests = max(1.0, seen.requests_per_second * SECONDS)
        return Measured(
            seen.requests_per_second,
            seen.p99_ms,
            seen.server_us,
            computed / requests * 1e6,
            written / requests,
        )

    def _spent(self) -> tuple[float, float]:
        """The processor time of PostgreSQL so far, and the bytes of its log."""
        if self._postgres is None:
            return 0.0, 0.0
        written = self._postgres.run("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        return processor.seconds_of(self._postgres.pid), float(written)


def replay_of(name: str, table: Table, folder: Path) -> runs.Replay:
    """Requests for items of the whole table. Each put replaces an existing item."""
    pick = Random(workloads.SEED)
    numbers = [pick.randrange(table.items) for _ in range(DRAWN)]
    condition = {"KeyConditionExpression": "pk = :p"}
    bodies = {
        "GetItem": lambda n: encode(TableName=table.name, Key=table.key(n)),
        "PutItem": lambda n: encode(TableName=table.name, Item=table.item(n)),
        "Query": lambda n: encode(
            TableName=table.name,
            ExpressionAttributeValues={":p": table.key(n)["pk"]},
            **condition,
        ),
    }[name]
    folder = folder / str(table.items)
    folder.mkdir(exist_ok=True)
    made = list(map(bodies, numbers))
    return runs.prepare(Workload(name, name, table, made, writes=name == "PutItem"), folder)


def rows_of(name: str, seen: dict[str, list[Measured]]) -> Iterator[list[str]]:
    """A row for each size. In each round, the size is compared with the first size."""
    first = next(iter(seen.values()))
    for size, measured in seen.items():
        middle = Measured(*map(median, zip(*measured, strict=True)))
        pairs = list(zip(measured, first, strict=True))
        rates = Spread.of(a.requests_per_second / b.requests_per_second for a, b in pairs)
        times = Spread.of(a.computed_us / b.computed_us for a, b in pairs)
        yield [
            name,
            size,
            f"{middle.requests_per_second:,.0f}",
            f"{rates.median:.2f} ({rates.low:.2f} to {rates.high:.2f})",
            f"{middle.p99_ms:.2f}",
            f"{middle.server_us:.1f}",
            f"{middle.database_us:.1f}",
            f"{times.median:.2f} ({times.low:.2f} to {times.high:.2f})",
            f"{middle.wal_bytes:,.0f}",
        ]


def compare(store: str, arguments: argparse.Namespace, folder: Path, console: Console) -> Grid:
    rows: list[list[str]] = []
    with ExitStack() as stack:
        all_running: list[tuple[Grown, Running]] = []
        for items in arguments.items:
            console.log(f"{store}: filling {items:,} items")
            own = folder / f"{store}-{items}"
            own.mkdir()
            grown = Grown(store, Table("grown", 100, items), own, arguments.durability)
            all_running.append((grown, stack.enter_context(grown.running())))
        for name in ("GetItem", "PutItem", "Query"):
            console.log(f"{store}: {name}")
            replays = [replay_of(name, grown.table, folder) for grown, _ in all_running]
            seen: dict[str, list[Measured]] = {grown.name: [] for grown, _ in all_running}
            order = list(zip(all_running, replays, strict=True))
            for turn in range(1 + arguments.rounds):
                for (grown, running), replay in order:
                    measured = grown.measure(running, replay)
                    if turn:
                        seen[grown.name].append(measured)
                order.reverse()
            rows += rows_of(name, seen)
    columns = ["", "database", "requests/s", "of the first", "p99 ms"]
    columns += ["server, CPU us", "PostgreSQL, CPU us", "both, of the first", "log, bytes"]
    return Grid(f"Growth over {store} ({arguments.durability})", columns, rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="STORE", choices=STORES, default=STORES)
    parser.add_argument("--items", nargs="+", type=int, default=SIZES, help="the sizes of tables")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--durability", choices=["relaxed", "full"], default="relaxed")
    arguments = parser.parse_args()
    console = Console(stderr=True)
    if reason := load.missing():
        console.print(reason)
        return 1
    RUNS.mkdir(parents=True, exist_ok=True)
    for store in arguments.only:
        with tempfile.TemporaryDirectory(dir=RUNS) as folder:
            report.show([compare(store, arguments, Path(folder), console)], Console(width=150))
    print(report.machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
