"""Several processes on one file, foreign locks, forks, and processes that are killed."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import apsw
import pytest
from forking import fork, in_child, join
from small import log_of
from waiting import SECONDS_MAX

from hashrange import forks
from hashrange.kv import (
    SYSTEM_SPACE,
    Answer,
    Append,
    Busy,
    CreateSpace,
    DropSpace,
    Get,
    Page,
    Purge,
    Put,
    Range,
    Read,
    StoreError,
    Write,
    unpack_weight,
)
from hashrange.storage import SqliteStore
from hashrange.testing.store_access import commit, counted, keys, read, row
from hashrange.testing.store_model import value_of

from .conftest import OpenStore

pytestmark = pytest.mark.slow

# ---- two processes ----

_there: SqliteStore  # the other process's store


def _open(path: str) -> None:
    global _there  # noqa: PLW0603  one per process
    _there = SqliteStore(path, durability="relaxed")


def _commit(writes: Sequence[Write]) -> None:
    commit(_there, *writes)


def _read(what: Read) -> Answer:
    return read(_there, what)


def _count(times: int) -> None:
    count(_there, times)


def count(store: SqliteStore, times: int) -> None:
    for _ in range(times):
        transaction = store.begin()
        found = transaction.read(Get(((SYSTEM_SPACE, b"count"),)))
        weight = 0
        match found:
            case [bytes(value)]:
                [weight] = unpack_weight(value)
        transaction.write([Put(SYSTEM_SPACE, b"count", value_of(weight + 1))])
        transaction.commit()


@pytest.fixture
def other(path: Path, open_store: OpenStore) -> Iterator[ProcessPoolExecutor]:
    open_store().close()
    with ProcessPoolExecutor(1, get_context("spawn"), _open, (str(path),)) as pool:
        yield pool


def test_each_process_sees_the_spaces_and_rows_of_the_other(
    open_store: OpenStore, other: ProcessPoolExecutor
) -> None:
    store = open_store()
    wanted = Range(5, b"", None)
    assert read(store, wanted) == Page([], True)
    other.submit(_commit, [CreateSpace(5), Put(5, b"a", value_of(1))]).result()
    assert keys(read(store, wanted)) == [b"a"]
    commit(store, Put(5, b"b", value_of(1)), Append(5, 0, b"l", value_of(1)))
    other.submit(_commit, [Append(5, 0, b"l", value_of(1))]).result()
    found = other.submit(_read, wanted).result()
    assert keys(found) == [b"a", b"b", b"l" + bytes(7) + b"\x01", b"l" + bytes(7) + b"\x02"]
    snapshot = store.snapshot()
    other.submit(_commit, [DropSpace(5)]).result()
    other.submit(_commit, [Purge(5, 100), CreateSpace(6), Put(6, b"c", value_of(1))]).result()
    assert snapshot.read(wanted) == found
    snapshot.close()
    assert read(store, wanted) == Page([], True)
    assert row(store, (6, b"c")) == value_of(1)


def test_no_addition_of_two_processes_is_lost(
    open_store: OpenStore, other: ProcessPoolExecutor
) -> None:
    store = open_store(durability="relaxed")
    counting = other.submit(_count, 300)
    count(store, 300)
    counting.result()
    assert row(store, (SYSTEM_SPACE, b"count")) == value_of(600)


def test_two_processes_may_make_the_file_at_once(path: Path) -> None:
    context = get_context("spawn")
    with ProcessPoolExecutor(4, context, _open, (str(path),)) as pool:
        list(pool.map(_count, [10] * 8))
    with_all = SqliteStore(str(path))
    assert row(with_all, (SYSTEM_SPACE, b"count")) == value_of(80)
    with_all.close()


# ---- locks that others hold ----


def test_a_foreign_lock_makes_it_busy_after_the_limit(open_store: OpenStore, path: Path) -> None:
    limit = 0.3
    store, patient = open_store(busy_seconds=limit), open_store(busy_seconds=SECONDS_MAX)
    foreign = apsw.Connection(str(path))
    foreign.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    with pytest.raises(Busy, match="another process"):
        store.begin()
    assert time.monotonic() - begun >= limit
    with pytest.raises(Busy, match="another process"):
        patient.begin(False)
    assert time.monotonic() - begun < SECONDS_MAX, "the second did not wait"
    assert read(store, Range(SYSTEM_SPACE, b"", None)) == Page([], True)
    foreign.execute("ROLLBACK")
    foreign.close()
    commit(store, Put(SYSTEM_SPACE, b"a", value_of(1)))


def test_a_file_locked_exclusively_is_busy(open_store: OpenStore, path: Path) -> None:
    open_store().close()
    foreign = apsw.Connection(str(path))
    foreign.pragma("locking_mode", "EXCLUSIVE")
    foreign.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Busy, match="another process"):
        open_store(busy_seconds=0.2)
    foreign.close()
    open_store()


def test_a_thread_waits_no_longer_than_the_limit(open_store: OpenStore) -> None:
    store = open_store(busy_seconds=0.2)
    transaction = store.begin()
    with pytest.raises(Busy, match="another thread"):
        store.begin()
    transaction.rollback()


# ---- the write-ahead log ----


def test_the_log_stays_short(open_store: OpenStore, path: Path) -> None:
    """Even with permanent readers, which would keep SQLite from restarting the log."""
    store = open_store(durability="relaxed")
    done = threading.Event()
    reader = threading.Thread(target=keep_reading, args=(store, done))
    reader.start()
    longest = 0
    with log_of(50):
        for number in range(800):
            rows = (Put(SYSTEM_SPACE, b"%d" % n, value_of(number, bytes(4_000))) for n in range(20))
            commit(store, *rows)
            longest = max(longest, Path(f"{path}-wal").stat().st_size)
    done.set()
    reader.join()
    assert longest < 24 << 20, "of 70 MB that went through it"


def keep_reading(store: SqliteStore, done: threading.Event) -> None:
    """Read, with a new snapshot opened before the old one is closed."""
    snapshot = store.snapshot()
    while not done.wait(0.003):
        fresh = store.snapshot()
        snapshot.close()
        snapshot = fresh
    snapshot.close()


# ---- forks ----


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_both_sides_of_a_fork_continue(open_store: OpenStore) -> None:
    store = open_store()
    commit(store, Put(SYSTEM_SPACE, b"before", value_of(1)))
    store.snapshot().close()

    def child() -> None:
        found = keys(read(store, Range(SYSTEM_SPACE, b"", None)))
        assert b"before" in found  # the parent may be ahead
        commit(store, Put(SYSTEM_SPACE, b"child", value_of(1)))

    pid = fork(child)
    commit(store, Put(SYSTEM_SPACE, b"parent", value_of(1)))
    join(pid)
    assert keys(read(store, Range(SYSTEM_SPACE, b"", None))) == [b"before", b"child", b"parent"]
    assert list(store.verify()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_parent_may_close_while_the_child_writes(open_store: OpenStore) -> None:
    """SQLite deletes the log with the last connection, so it must know the child's connection."""
    store = open_store()
    commit(store, Put(SYSTEM_SPACE, b"before", value_of(1)))
    written, closed = os.pipe(), os.pipe()

    def child() -> None:
        commit(store, Put(SYSTEM_SPACE, b"child", value_of(1)))
        os.write(written[1], b".")
        os.read(closed[0], 1)
        commit(store, Put(SYSTEM_SPACE, b"later", value_of(1)))

    pid = fork(child)
    os.read(written[0], 1)
    row(store, (SYSTEM_SPACE, b""))
    store.close()
    os.write(closed[1], b".")
    join(pid)
    found = keys(read(open_store(), Range(SYSTEM_SPACE, b"", None)))
    assert found == [b"before", b"child", b"later"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_the_file_is_in_use_is_refused_in_the_child(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has inherited locks that it does not hold, of a transaction that stays the parent's."""
    monkeypatch.setattr(forks, "WAIT_SECONDS_MAX", 0.1)
    store = open_store()
    transaction = store.begin()
    transaction.write([Put(SYSTEM_SPACE, b"parent", value_of(1))])

    def child() -> None:
        uses: list[Callable[[], object]] = [
            store.begin,
            store.snapshot,
            lambda: row(store, (SYSTEM_SPACE, b"parent")),
            lambda: list(store.verify()),
            lambda: SqliteStore(str(path)),
        ]
        for use in uses:
            with pytest.raises(StoreError, match="it was forked while the database was in use"):
                use()

    in_child(child)
    transaction.commit()
    assert keys(read(store, Range(SYSTEM_SPACE, b"", None))) == [b"parent"]


# ---- kill -9 ----

WRITER = """
import sys
from hashrange.kv import SYSTEM_SPACE, Add, Put
from hashrange.storage import SqliteStore
from hashrange.storage.sqlite import checkpoint
from hashrange.testing.store_access import counted
from hashrange.testing.store_model import value_of

checkpoint._EVERY_PAGES = 30
store = SqliteStore(sys.argv[1], durability=sys.argv[2])
number = counted(store, b"n")
while True:
    number += 1
    transaction = store.begin()
    transaction.write([Put(SYSTEM_SPACE, b"a%06d" % number, value_of(number, bytes(3_000)))])
    transaction.write([Put(SYSTEM_SPACE, b"b%06d" % number, value_of(number)), Add(b"n", 1)])
    transaction.commit()
    print(number, flush=True)
"""


@pytest.mark.parametrize("durability", ["full", "relaxed", "memory"])
@pytest.mark.deep
def test_a_killed_process_loses_no_acknowledged_commit(path: Path, durability: str) -> None:
    pause = random.Random(durability)
    acknowledged = 0
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), durability], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        first = writer.stdout.readline()
        threading.Timer(pause.uniform(0, 0.1), writer.kill).start()
        lines = [first, *writer.stdout.read().splitlines(keepends=True)]
        writer.wait()
        acknowledged = max([acknowledged, *(int(line) for line in lines if line.endswith("\n"))])
        store = SqliteStore(str(path))
        written = counted(store, b"n")
        assert acknowledged <= written <= acknowledged + 1
        for half in (b"a", b"b"):
            found = keys(read(store, Range(SYSTEM_SPACE, half, half + b"\xff")))
            assert found == [half + b"%06d" % number for number in range(1, written + 1)]
        assert list(store.verify()) == []
        store.close()
