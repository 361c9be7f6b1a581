"""Forks while other threads read and write: parent and child both go on, and nothing is lost."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forking import in_child
from planting import bug_in, found_by_a_test
from waiting import SECONDS_MAX

import hashrange
from hashrange import Database
from hashrange.storage import SqliteStore

from .runs import times
from .tables import DEFINITION, count, increment, key, put, scanned

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]

FORKS = times(6, 10_000)
ITEMS = 30


@contextmanager
def load(database: Database) -> Iterator[list[int]]:
    """Threads that write and read; the number of writes that each was told of."""
    stop = threading.Event()
    told = [0, 0]

    def write(thread: int) -> None:
        while not stop.is_set():
            database.execute("UpdateItem", increment("parent"))
            told[thread] += 1

    def read() -> None:
        while not stop.is_set():
            database.execute("GetItem", key("parent"))
            scanned(database.execute)
            scanned(database.execute, IndexName="by-color")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(told))]
    threads += [threading.Thread(target=read) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)  # so that the thread that forks has its turn, and forks anywhere
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()


def fork_under_load(path: Path, forks: int, seconds_max: float = SECONDS_MAX) -> None:
    with hashrange.connect(path, durability="relaxed") as database:
        database.execute("CreateTable", DEFINITION)
        for number in range(ITEMS):
            database.execute("PutItem", put(str(number), color="red", size="1"))

        def child() -> None:
            database.execute("UpdateItem", increment("child"))
            assert len(scanned(database.execute)) >= ITEMS

        with load(database) as told:
            for _ in range(forks):
                in_child(child, seconds_max)
        assert count(database.execute, "child") == forks
        assert count(database.execute, "parent") == sum(told)
        assert not list(database.check())


def test_forks_under_load(tmp_path: Path) -> None:
    fork_under_load(tmp_path / "a.db", FORKS)


def test_forks_that_do_not_wait_for_readers_are_found_out(tmp_path: Path) -> None:
    """The children inherit locks of SQLite, whose holders are not there."""
    stopped = bug_in(SqliteStore, "before_fork", lambda store: setattr(store, "_stopped", True))
    with stopped, bug_in(SqliteStore, "after_fork_in_parent", lambda _: None), found_by_a_test():
        fork_under_load(tmp_path / "a.db", 500, seconds_max=1.0)
