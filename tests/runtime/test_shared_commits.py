"""Many threads and many tasks share commits; a request that fails drops only itself."""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from running import TABLE, WatchedStore, count, create_table, get, increment, put, scanned, standing

from hashrange import Database, kv
from hashrange.model.errors import ApiError, ConditionalCheckFailedException
from hashrange.runtime import drive
from hashrange.runtime.clock import Clock
from hashrange.storage import MemoryStore
from hashrange.testing import TestClock

THREADS = 16
WRITES = 20
COMMIT_SECONDS = 0.004
"""About what an fsync takes."""


class SlowStore(WatchedStore):
    def commit(self, transaction: kv.Transaction, writes: Sequence[kv.Write]) -> None:
        time.sleep(COMMIT_SECONDS)
        super().commit(transaction, writes)


def in_threads(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def test_threads_share_commits(store: kv.Store) -> None:
    slow = SlowStore(store)
    with Database(slow) as database:
        create_table(database.execute)

        def write(thread: int) -> None:
            for number in range(WRITES):
                database.execute("PutItem", put(f"thread {thread}", f"{number:03}"))
                database.execute("UpdateItem", increment("shared"))

        before = slow.commits
        in_threads(write)
        writes = 2 * THREADS * WRITES
        assert slow.commits - before < writes / 4
        assert count(database.execute, "shared") == THREADS * WRITES
        assert len(scanned(database.execute)) == THREADS * WRITES + 1
        assert not list(database.check())


def test_threads_share_reads_and_tables(store: kv.Store) -> None:
    """Definitions change while readers run: a read never returns rows of another table."""
    with Database(store) as database:

        def work(thread: int) -> None:
            name = f"table-{thread}"
            for turn in range(5):
                create_table(database.execute, name)
                database.execute("PutItem", put("a", table=name, turn=str(turn)))
                found = database.execute("GetItem", get("a", table=name))["Item"]
                assert found["turn"] == {"S": str(turn)}
                assert database.execute("Scan", {"TableName": name})["Count"] == 1
                database.execute("DeleteTable", {"TableName": name})
                with pytest.raises(ApiError, match="not found"):
                    database.execute("GetItem", get("a", table=name))

        in_threads(work)
        assert not list(database.check())


def test_writes_of_one_turn_share_a_commit(store: kv.Store) -> None:
    watched = WatchedStore(store)
    with Database(watched, clock=standing()) as database:
        create_table(database.execute)
        before = watched.commits

        async def increments() -> None:
            requests = (database.execute_async("UpdateItem", increment("a")) for _ in range(100))
            await asyncio.gather(*requests)

        asyncio.run(increments())
        assert watched.commits - before == 1
        assert count(database.execute, "a") == 100


def commits_of(pauses: Sequence[int], timer: Callable[[], float]) -> int:
    """The commits of writes on a loop, with a number of turns before each write."""
    watched = WatchedStore(MemoryStore())
    watched.slow_commits = False
    with Database(watched, clock=Clock(timer=timer)) as database:
        create_table(database.execute)
        before = watched.commits

        async def increments() -> None:
            tasks = []
            for turns in pauses:
                for _ in range(turns):
                    await asyncio.sleep(0)
                tasks.append(
                    asyncio.create_task(database.execute_async("UpdateItem", increment("a")))
                )
            await asyncio.gather(*tasks)

        asyncio.run(increments())
        assert count(database.execute, "a") == len(pauses)
        return watched.commits - before


def test_a_batch_waits_while_each_turn_of_the_loop_brings_more() -> None:
    assert commits_of([1] * 10, lambda: 0.0) == 1
    assert commits_of([1, 1, 5, 1], lambda: 0.0) == 2


def test_a_batch_does_not_wait_where_turns_of_the_loop_are_long() -> None:
    """Turns are long beside a long read, which has a slice of each."""
    looks = itertools.count()
    assert commits_of([1] * 10, lambda: next(looks) * drive.SLICE_SECONDS) == 10


def test_a_refused_request_drops_only_itself() -> None:
    """This holds even if it is the last one, and if time stands still."""
    watched = WatchedStore(MemoryStore())
    with Database(watched, clock=Clock(TestClock(1_800_000_000).now)) as database:
        create_table(database.execute)
        database.execute("PutItem", put("there"))
        before = watched.commits
        absent = {"ConditionExpression": "attribute_not_exists(pk)"}

        async def batch() -> list[object]:
            names = ("a", "there", "b", "a", "c", "there")
            requests = (database.execute_async("PutItem", put(n) | absent) for n in names)
            return list(await asyncio.gather(*requests, return_exceptions=True))

        outcomes = asyncio.run(batch())
        assert watched.commits - before == 1
        refused = [isinstance(outcome, ConditionalCheckFailedException) for outcome in outcomes]
        assert refused == [False, True, False, True, False, True]  # the second `a` saw the first
        assert len(scanned(database.execute)) == 4


def test_a_batch_that_only_refuses_commits_nothing() -> None:
    watched = WatchedStore(MemoryStore())
    with Database(watched) as database:
        create_table(database.execute)
        before = watched.commits
        request = put("a") | {"ConditionExpression": "attribute_exists(pk)"}
        with pytest.raises(ConditionalCheckFailedException):
            database.execute("PutItem", request)
        assert watched.commits == before
        assert database.execute("Scan", {"TableName": TABLE})["Count"] == 0
