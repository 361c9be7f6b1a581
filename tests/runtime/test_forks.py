"""A database goes on after a fork, in both processes, whatever other threads were doing."""

import asyncio
import os
import threading
import time

import pytest
from forking import in_child
from running import add_index, count, create_table, increment, index_status, put, scanned
from waiting import SECONDS_MAX, wait_until

import hashrange
from hashrange.upkeep import upkeep

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]


def test_parent_and_child_continue(path: str) -> None:
    with hashrange.connect(path) as database:
        create_table(database.execute)
        database.execute("PutItem", put("before"))

        def child() -> None:
            assert len(scanned(database.execute)) == 1
            database.execute("PutItem", put("child"))
            assert not list(database.check())

        in_child(child)
        database.execute("PutItem", put("parent"))
        found = {item["pk"]["S"] for item in scanned(database.execute)}
        assert found == {"before", "child", "parent"}
        assert not list(database.check())


def test_work_of_other_threads_is_done_once(path: str) -> None:
    """The child neither waits for locks of those threads nor repeats their writes."""
    with hashrange.connect(path, durability="relaxed") as database:
        create_table(database.execute)
        stop = threading.Event()
        acknowledged = [0] * 4

        def write(thread: int) -> None:
            while not stop.is_set():
                database.execute("UpdateItem", increment("a"))
                acknowledged[thread] += 1

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        children = 8
        for _ in range(children):
            time.sleep(0.01)
            in_child(lambda: database.execute("UpdateItem", increment("b")))
        wait_until(lambda: all(acknowledged))
        stop.set()
        for thread in threads:
            thread.join()
        assert count(database.execute, "b") == children
        assert count(database.execute, "a") == sum(acknowledged)
        assert not list(database.check())


def test_an_event_loop_in_the_child(path: str) -> None:
    with hashrange.connect(path) as database:
        create_table(database.execute)

        async def write(pk: str) -> None:
            await asyncio.wait_for(database.execute_async("PutItem", put(pk)), SECONDS_MAX)

        asyncio.run(write("parent"))  # its commit thread is not in the child
        in_child(lambda: asyncio.run(write("child")))
        assert len(scanned(database.execute)) == 2


def test_upkeep_in_the_child(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent's thread does not exist in the child: the child builds an index of its own."""
    monkeypatch.setattr(upkeep, "PAUSE_SECONDS", 1000.0)  # or the parent would build it too
    with hashrange.connect(path, durability="relaxed") as database:
        create_table(database.execute, "other")
        add_index(database.execute, "other")  # so that the thread runs
        # A fork in the midst of its reads would keep SQLite's own locks.
        wait_until(lambda: index_status(database.execute, "other") == "ACTIVE")

        def child() -> None:
            create_table(database.execute)
            database.execute("PutItem", put("a", color="red"))
            add_index(database.execute)
            wait_until(lambda: index_status(database.execute) == "ACTIVE")
            assert len(scanned(database.execute, IndexName="by-color")) == 1

        in_child(child)


def test_memory_is_copied() -> None:
    with hashrange.connect() as database:
        create_table(database.execute)
        database.execute("PutItem", put("a"))

        def child() -> None:
            database.execute("PutItem", put("b"))
            assert len(scanned(database.execute)) == 2

        in_child(child)
        assert len(scanned(database.execute)) == 1
