"""Writers of several processes take turns, and one process is elected."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from forking import fork, join
from waiting import wait_until

from hashrange.kv import SYSTEM_SPACE, Busy, Put
from hashrange.storage import SqliteStore
from hashrange.storage.sqlite import write_queue
from hashrange.testing.store_access import commit
from hashrange.testing.store_model import value_of

from .conftest import OpenStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="locks of open files")

WAITS = """
import sys, time
from hashrange.storage.sqlite.write_queue import WriteQueue, Wait
queue = WriteQueue(sys.argv[1])
queue.open()
print(queue.elected(), flush=True)
with queue.turn(Wait(60, time.monotonic)):
    print("in turn", flush=True)
    sys.stdin.read()
"""


@contextmanager
def waiting(path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Another process, whose turn it is, and whether it is elected."""
    command = [sys.executable, "-c", WAITS, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            elected = process.stdout.readline().strip()
            assert process.stdout.readline() == "in turn\n"
            yield process, elected
        finally:
            process.kill()


def some_wait(path: Path) -> bool:
    return Path(f"{path}-turns").read_bytes()[:1] == b"\x01"


class Writer(threading.Thread):
    """Makes one commit in a thread, and notes it in a list when it has begun."""

    def __init__(self, store: SqliteStore, name: str, order: list[str]) -> None:
        super().__init__()
        self._store = store
        self._order = order
        self._name = name
        self.start()

    def run(self) -> None:
        transaction = self._store.begin()
        self._order.append(self._name)
        transaction.write([Put(SYSTEM_SPACE, self._name.encode(), value_of(1))])
        transaction.commit()


def was_drawn(path: Path, number: int) -> bool:
    return number_drawn(path) == number


def number_drawn(path: Path) -> int:
    return int.from_bytes(Path(f"{path}-turns").read_bytes()[1:9], sys.byteorder)


def test_writers_begin_in_the_order_in_which_they_came(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "SLICE_SECONDS", 0.0)
    first, *others = (open_store() for _ in range(4))
    order: list[str] = []
    for round_ in range(5):
        order.clear()
        holding = first.begin()
        writers = []
        for name, store in zip("abc", others, strict=True):
            behind = number_drawn(path) + 1
            writers.append(Writer(store, name, order))
            wait_until(partial(was_drawn, path, behind))
        holding.rollback()
        # One that writes again at once comes behind those that wait.
        writers.append(Writer(first, "d", order))
        for writer in writers:
            writer.join()
        assert order == ["a", "b", "c", "d"], f"round {round_}"
        assert not some_wait(path)


def test_a_process_that_is_killed_in_its_turn_holds_nobody_up(
    open_store: OpenStore, path: Path
) -> None:
    store = open_store()
    with waiting(path) as (process, _):
        order: list[str] = []
        writer = Writer(store, "behind", order)
        wait_until(partial(was_drawn, path, 2))
        assert order == []
        process.kill()
        writer.join()
    assert order == ["behind"]
    assert not some_wait(path)


def test_a_process_that_does_not_take_its_turn_is_overtaken(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "PATIENCE_SECONDS", 0.05)
    store = open_store()
    with waiting(path):
        commit(store, Put(SYSTEM_SPACE, b"a", value_of(1)))


def test_who_must_not_wait_finds_it_busy(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    with waiting(path), pytest.raises(Busy):
        store.begin(False)


def test_what_a_dead_process_left_in_the_file_is_corrected(
    open_store: OpenStore, path: Path
) -> None:
    store = open_store()
    with Path(f"{path}-turns").open("rb+") as file:
        file.write(b"\x01" + os.urandom(8))
    assert some_wait(path)
    for _ in range(3):
        commit(store, Put(SYSTEM_SPACE, b"a", value_of(1)))
    assert not some_wait(path)


def test_without_the_file_there_are_no_turns(open_store: OpenStore, path: Path) -> None:
    Path(f"{path}-turns").mkdir()
    one, other = open_store(), open_store()
    for store in (one, other):
        commit(store, Put(SYSTEM_SPACE, b"a", value_of(1)))
        assert store.elected()


def test_the_last_one_removes_the_file(open_store: OpenStore, path: Path) -> None:
    one, other = open_store(), open_store()
    one.close()
    assert Path(f"{path}-turns").exists()
    other.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# ---- the election ----


def test_one_is_elected_until_it_closes(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    assert [one.elected(), other.elected(), one.elected()] == [True, False, True]
    one.close()
    assert other.elected()


def test_one_is_elected_until_it_is_killed(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    with waiting(path) as (process, elected):
        assert elected == "True"
        assert not store.elected()
        process.kill()
        process.wait()
        assert store.elected()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_is_not_elected_beside_its_parent(open_store: OpenStore) -> None:
    store = open_store()
    assert store.elected()
    asked, asks = os.pipe()

    def child() -> None:
        os.read(asked, 1)
        commit(store, Put(SYSTEM_SPACE, b"child", value_of(1)))
        assert not store.elected()

    pid = fork(child)
    assert store.elected()
    os.write(asks, b"x")
    join(pid)
    assert store.elected()
    os.close(asked)
    os.close(asks)
