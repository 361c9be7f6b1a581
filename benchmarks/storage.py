"""What each kind of read and write of `kv` costs, per store: `python -m benchmarks.storage`.

The figures are microseconds. Rows have 120 bytes, fifty are in a partition, and they were put in
random order. "amid commits" means that a transaction of ten puts precedes each ten glances. Such a
transaction invalidates a reader's cache.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from hashrange.kv import (
    PARTITION_BYTES,
    SYSTEM_SPACE,
    Add,
    CreateSpace,
    Get,
    Put,
    Range,
    Store,
)
from hashrange.storage import MemoryStore, SqliteStore

SPACE = 5
COUNTER = b"rows"
VERSION = (SYSTEM_SPACE, b"version")
PARTITION_ROWS = 50
PAGE_BYTES = 1 << 20
CALLS = 5_000
ROUNDS = 3  # the best counts
VALUE = bytes(4) + (120).to_bytes(4, "big") + 112 * b"x"


def random_keys(rows: int) -> list[bytes]:
    partitions = [
        blake2b(b"%d" % number, digest_size=PARTITION_BYTES).digest()
        for number in range(rows // PARTITION_ROWS)
    ]
    keys = [p + b"%04d" % number for p in partitions for number in range(PARTITION_ROWS)]
    random.Random(1).shuffle(keys)
    return keys


def load(store: Store, keys: list[bytes]) -> float:
    """Seconds for all rows, a thousand to a transaction."""
    begun = time.perf_counter()
    transaction = store.begin()
    transaction.write([CreateSpace(SPACE)])
    transaction.commit()
    for first in range(0, len(keys), 1_000):
        transaction = store.begin()
        transaction.write([Put(SPACE, key, VALUE) for key in keys[first : first + 1_000]])
        transaction.commit()
    return time.perf_counter() - begun


def measure(store: Store, keys: list[bytes]) -> Iterator[tuple[str, float]]:
    """Each step, and its mean time in microseconds in the best of some rounds."""
    yield "put, of a thousand to a commit", load(store, keys) / len(keys) * 1e6
    some = random.Random(2).choices(keys, k=CALLS)
    one = some[:1] * CALLS

    def mean(step: Callable[[bytes], object], over: list[bytes]) -> float:
        return min(once(step, over) for _ in range(ROUNDS))

    def once(step: Callable[[bytes], object], over: list[bytes]) -> float:
        begun = time.perf_counter()
        for key in over:
            step(key)
        return (time.perf_counter() - begun) / len(over) * 1e6

    def change(key: bytes) -> None:
        transaction = store.begin()
        transaction.read(Get(((SPACE, key),)))
        transaction.write((Put(SPACE, key, VALUE), Add(COUNTER, 1)))
        transaction.commit()

    def glance(key: bytes) -> None:
        store.glance(VERSION, (SPACE, key))

    def get(key: bytes) -> None:
        snapshot = store.snapshot()
        snapshot.read(Get(((SPACE, key),)))
        snapshot.close()

    def query(key: bytes, reverse: bool = False) -> None:
        partition = key[:PARTITION_BYTES]
        snapshot = store.snapshot()
        snapshot.read(Range(SPACE, partition, partition + b"\xff", reverse, 50, PAGE_BYTES))
        snapshot.close()

    def mixed() -> float:
        spent = 0.0
        for first in range(0, CALLS, 10):
            transaction = store.begin()
            transaction.write([Put(SPACE, key, VALUE) for key in some[first : first + 10]])
            transaction.commit()
            spent += once(glance, some[-first - 10 :][:10])
        return spent * 10 / CALLS

    yield "one transaction: get, put, add, commit", mean(change, some[:1_000])
    yield "glance, same row", mean(glance, one)
    yield "glance, any row", mean(glance, some)
    yield "glance, any row, amid commits", mixed()
    yield "snapshot and get, any row", mean(get, some)
    yield "snapshot and range of 50, same rows", mean(query, one)
    yield "snapshot and range of 50, any rows", mean(query, some)
    yield "the same in reverse", mean(lambda key: query(key, True), some)


@contextmanager
def stores() -> Iterator[dict[str, Store]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder)
        yield {
            "memory": MemoryStore(),
            "relaxed": SqliteStore(str(file / "relaxed.db"), durability="relaxed"),
            "full": SqliteStore(str(file / "full.db")),
        }


def main(rows: int) -> None:
    keys = random_keys(rows)
    with stores() as made:
        columns = {name: dict(measure(store, keys)) for name, store in made.items()}
        for store in made.values():
            store.close()
    print(f"{f'microseconds, {rows:,} rows':40}" + "".join(f"{name:>10}" for name in columns))
    for label in columns["memory"]:
        print(f"{label:40}" + "".join(f"{times[label]:10.1f}" for times in columns.values()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200_000)
