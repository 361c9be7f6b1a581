"""Compares SQLite tables that could hold a space: `python -m benchmarks.layouts`.

It inserts 100,000 rows in random order, a thousand in each commit, and then reads rows and ranges
of 50 rows at random.
"""

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from benchmarks.storage import random_keys
from hashrange.kv import PARTITION_BYTES

ROWS = 100_000
READS = 10_000


class Layout(NamedTuple):
    label: str
    table: str
    key: tuple[str, ...]

    def parts(self, key: bytes) -> tuple[bytes, ...]:
        return (key,) if len(self.key) == 1 else (key[:PARTITION_BYTES], key[PARTITION_BYTES:])


LAYOUTS = (
    Layout("unique key", "(k BLOB UNIQUE, value BLOB)", ("k",)),
    Layout("unique partition and sort", "(p BLOB, k BLOB, value BLOB, UNIQUE (p, k))", ("p", "k")),
    Layout("without rowid", "(k BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID", ("k",)),
)


def microseconds(step: Callable[[bytes], object], keys: list[bytes]) -> float:
    begun = time.perf_counter()
    for key in keys:
        step(key)
    return (time.perf_counter() - begun) / len(keys) * 1e6


def measure(layout: Layout, keys: list[bytes], value: bytes, path: Path) -> list[float]:
    """Microseconds of an insert, a get and a range, and megabytes of the file."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "WAL")
    connection.pragma("synchronous", "NORMAL")
    connection.pragma("cache_size", -16_000)
    execute = connection.execute
    execute(f"CREATE TABLE space {layout.table}")
    insert = f"INSERT INTO space VALUES ({', '.join('?' for _ in layout.key)}, ?)"
    get = f"SELECT value FROM space WHERE {' AND '.join(f'{name} = ?' for name in layout.key)}"
    split = len(layout.key) > 1
    within = f"{'p = ? AND ' if split else ''}k >= ? AND k < ?"
    page = f"SELECT k, value FROM space WHERE {within} ORDER BY k"

    def rows(key: bytes) -> None:
        partition = key[:PARTITION_BYTES]
        bounds = (partition, b"", b"\xff") if split else (partition, partition + b"\xff")
        execute(page, bounds).fetchall()

    inserting = 0.0
    for first in range(0, ROWS, 1_000):
        begun = time.perf_counter()
        with connection:
            for key in keys[first : first + 1_000]:
                execute(insert, (*layout.parts(key), value))
        inserting += time.perf_counter() - begun
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    some = random.Random(3).choices(keys, k=READS)
    getting = microseconds(lambda key: execute(get, layout.parts(key)).get, some)
    ranging = microseconds(rows, some[: READS // 10])
    connection.close()
    return [inserting / ROWS * 1e6, getting, ranging, path.stat().st_size / 1e6]


def main() -> None:
    keys = random_keys(ROWS)
    print(f"{'':32}{'insert us':>12}{'get us':>12}{'range us':>12}{'MB':>12}")
    for size in (100, 1_000):
        for layout in LAYOUTS:
            with tempfile.TemporaryDirectory() as folder:
                figures = measure(layout, keys, bytes(size), Path(folder) / "layout.db")
            label = f"{layout.label}, {size} bytes"
            print(f"{label:32}" + "".join(f"{figure:12.1f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
