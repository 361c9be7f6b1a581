"""Few long reads run at once; the others wait without a snapshot, and callers take turns."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable
from itertools import count, groupby
from typing import Any

import pytest
from running import TABLE, WatchedStore, create_table, get, put, standing
from waiting import SECONDS_MAX

from hashrange import Database, kv
from hashrange.model.caller import Caller
from hashrange.model.errors import ThrottlingException
from hashrange.runtime import read_queue as queue
from hashrange.runtime.clock import Clock
from hashrange.runtime.threaded import reads
from hashrange.runtime.threaded.runtime import Runtime

SCAN = {"TableName": TABLE}


class CountingStore(WatchedStore):
    """Counts the snapshots that are open and not brief."""

    def __init__(self, store: kv.Store) -> None:
        super().__init__(store)
        self.open = 0
        self.most = 0
        self.readers: list[_CountedSnapshot] = []
        """The snapshot of each read of a range."""
        self.hold: threading.Event | None = None
        self._lock = threading.Lock()

    def snapshot(self, brief: bool = False, /) -> kv.Snapshot:
        snapshot = super().snapshot(brief)
        return snapshot if brief else _CountedSnapshot(self, snapshot)

    def count(self, more: int) -> None:
        with self._lock:
            self.open += more
            self.most = max(self.most, self.open)


class _CountedSnapshot:
    def __init__(self, store: CountingStore, snapshot: kv.Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        store.count(1)

    def read(self, read: kv.Read, /) -> kv.Answer:
        if type(read) is kv.Range:
            self._store.readers.append(self)
            if self._store.hold:
                assert self._store.hold.wait(SECONDS_MAX)
        return self._snapshot.read(read)

    def close(self) -> None:
        self._store.count(-1)
        self._snapshot.close()


def filled(
    store: kv.Store, items: int = 100, clock: Clock | None = None, text: str = ""
) -> Database:
    database = Database(store, clock=clock)
    create_table(database.execute)
    for number in range(items):
        database.execute("PutItem", put(str(number), text=text))
    return database


async def outcomes(requests: list[Awaitable[Any]]) -> list[Any]:
    return await asyncio.wait_for(asyncio.gather(*requests, return_exceptions=True), SECONDS_MAX)


@pytest.mark.usefixtures("small_steps")
def test_a_few_run_at_once_and_all_end(store: kv.Store) -> None:
    counting = CountingStore(store)
    with filled(counting) as database:

        async def scenario() -> list[Any]:
            return await outcomes([database.execute_async("Scan", SCAN) for _ in range(100)])

        counting.most = 0
        assert [answer["Count"] for answer in asyncio.run(scenario())] == [100] * 100
        assert counting.most == queue.READS_MAX
        assert counting.open == 0


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("much", [False, True])
def test_reads_take_turns_until_they_hold_much(
    store: kv.Store, much: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if much:
        monkeypatch.setattr(reads, "HELD_BYTES_MAX", 0)
    counting = CountingStore(store)
    with filled(counting) as database:

        async def together() -> list[Any]:
            return await outcomes([database.execute_async("Scan", SCAN) for _ in range(5)])

        counting.readers.clear()
        found = asyncio.run(together())
        assert [answer["Count"] for answer in found] == [100] * 5
    turns = [reader for reader, _ in groupby(counting.readers)]
    assert (len(turns) == len(set(turns))) == much


def test_reads_wait_after_a_page_that_cannot_be_divided(store: kv.Store) -> None:
    """The first of them is answered at once. An item that is read after the others is not late.

    No time passes, but a page of half a megabyte is known to take a while until it is sent.
    """
    counting = CountingStore(store)
    with filled(counting, clock=standing(), text="x" * 5_000) as database:
        order: list[str] = []

        async def answer(operation: str, request: dict[str, Any]) -> None:
            await database.execute_async(operation, request)
            order.append(operation)

        async def scenario() -> None:
            scans = [answer("Scan", SCAN) for _ in range(40)]
            await outcomes([*scans, answer("GetItem", get("1"))])

        counting.most = 0
        asyncio.run(scenario())
        assert counting.most == queue.READS_MAX
        assert order[:2] == ["Scan", "GetItem"]
        assert order[2:] == ["Scan"] * 39


@pytest.mark.usefixtures("small_steps")
def test_the_queue_has_an_end(store: kv.Store) -> None:
    """More are refused with an error after which SDKs try again, and short reads go on."""
    room = queue.READS_MAX + queue.WAITING_MAX
    with filled(store, items=30) as database:

        async def scenario() -> list[Any]:
            scans = [database.execute_async("Scan", SCAN) for _ in range(room + 40)]
            reads = [database.execute_async("GetItem", get("1")) for _ in range(5)]
            return await outcomes([*scans, *reads])

        answers = asyncio.run(scenario())
        assert all("Item" in answer for answer in answers[-5:])
        kinds = Counter(type(answer) for answer in answers[:-5])
        assert kinds == {dict: room, ThrottlingException: 40}
        assert database.execute("Scan", SCAN)["Count"] == 30


@pytest.mark.usefixtures("small_steps")
def test_callers_take_turns(store: kv.Store) -> None:
    with filled(store) as database:
        order: list[str] = []

        async def scenario() -> None:
            everything = asyncio.Event()

            def submit(access_key: str) -> None:
                def done(_: object) -> None:
                    order.append(access_key)
                    if len(order) == 101:
                        everything.set()

                body = b'{"TableName":"items"}'
                database.runtime.submit("Scan", body, done, Caller(access_key=access_key))

            for _ in range(100):
                submit("many")
            submit("one")
            await asyncio.wait_for(everything.wait(), SECONDS_MAX)

        asyncio.run(scenario())
        assert order.index("one") <= 2 * queue.READS_MAX


def test_threads_have_the_same_limit(store: kv.Store) -> None:
    counting = CountingStore(store)
    with filled(counting, items=5) as database:
        counting.hold, counting.most = threading.Event(), 0
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda: counts.append(database.execute("Scan", SCAN)["Count"]))
            for _ in range(3 * queue.READS_MAX)
        ]
        for thread in threads:
            thread.start()
        counting.hold.set()
        for thread in threads:
            thread.join()
        assert counts == [5] * len(threads)
        assert counting.most <= queue.READS_MAX


def test_a_thread_that_runs_a_loop_does_not_wait_for_the_loop(
    store: kv.Store, small_steps: None
) -> None:
    with filled(store) as database:

        async def scenario() -> Any:
            scans = [
                asyncio.ensure_future(database.execute_async("Scan", SCAN))
                for _ in range(queue.READS_MAX)
            ]
            await asyncio.sleep(0)
            count = database.execute("Scan", SCAN)["Count"]
            await outcomes([*scans])
            return count

        assert asyncio.run(scenario()) == 100


@pytest.mark.usefixtures("small_steps")
def test_a_closed_loop_gives_its_places_back(store: kv.Store) -> None:
    with filled(store) as database:
        for _ in range(2):
            loop = asyncio.new_event_loop()

            async def submit() -> None:
                for _ in range(2 * queue.READS_MAX):
                    database.runtime.submit("Scan", b'{"TableName":"items"}', lambda _: None)

            loop.run_until_complete(submit())
            loop.close()
        assert asyncio.run(database.execute_async("Scan", SCAN))["Count"] == 100


@pytest.mark.usefixtures("small_steps")
def test_a_read_that_waited_too_long_is_not_begun(store: kv.Store) -> None:
    """By its clock, which is looked at after each step, a second passes between any two looks."""
    with filled(store, clock=Clock(timer=map(float, count()).__next__)) as database:

        async def scenario() -> list[Any]:
            return await outcomes(
                [database.execute_async("Scan", SCAN) for _ in range(2 * queue.READS_MAX)]
            )

        kinds = Counter(type(answer) for answer in asyncio.run(scenario()))
        assert kinds == {dict: queue.READS_MAX, ThrottlingException: queue.READS_MAX}
        assert isinstance(database.runtime, Runtime)
