"""Requests that fail do not take others with them: those of a locked row, or of a machine that is
away. What the store complains of is logged now and then, not once for each request."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from running import TABLE, create_table, get, put
from two_machines import AWAY, Failing
from waiting import run

from hashrange import kv
from hashrange.model.errors import InternalServerError
from hashrange.runtime import ending
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore
from hashrange.testing.async_memory import AsyncMemorySnapshot, AsyncMemoryStore


class LockedRows(AsyncMemoryStore):
    """On two machines. Reads of rows of one moment fail if an item has this in its name."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store, turns_max=0)
        self.failed: list[int] = []
        """How many requests each read was for that has failed."""

    def machine_of(self, key: bytes, /) -> int:  # type: ignore[override]
        return key[0] & 1 if key else 0

    async def snapshot(self) -> AsyncMemorySnapshot:
        return SnapshotOfLocked(self, self.store.snapshot())


class Moving(AsyncMemoryStore):
    """On two machines. The first `invalid` snapshots become invalid after their first read."""

    def __init__(self, store: MemoryStore, invalid: int) -> None:
        super().__init__(store, turns_max=0)
        self.invalid = invalid

    def machine_of(self, key: bytes, /) -> int:  # type: ignore[override]
        return key[0] & 1 if key else 0

    async def snapshot(self) -> AsyncMemorySnapshot:
        return MovedSnapshot(self, self.store.snapshot())


class MovedSnapshot(AsyncMemorySnapshot):
    was_read = False

    async def read(self, reads: Sequence[kv.Read], /) -> list[kv.Answer]:
        store = self._store
        assert isinstance(store, Moving)
        if self.was_read and store.invalid:
            store.invalid -= 1
            raise kv.Conflict("rows have moved")
        self.was_read = True
        return await super().read(reads)


class SnapshotOfLocked(AsyncMemorySnapshot):
    async def read(self, reads: Sequence[kv.Read], /) -> list[kv.Answer]:
        answers = await super().read(reads)
        rows: list[Any] = [
            answer for read, answer in zip(reads, answers, strict=False) if of_one_moment(read)
        ]
        if any(AWAY.encode() in (row or b"") for answer in rows for row in answer):
            store = self._store
            assert isinstance(store, LockedRows)
            store.failed.append(len(rows))
            raise kv.Locked("a lock was not free")
        return answers


def of_one_moment(read: kv.Read) -> bool:
    return type(read) is kv.Get and read.weight_max is not None


def both(name: str) -> dict[str, Any]:
    """A transaction over both machines, which two of many items surely concern."""
    return {"TransactItems": [{"Put": put(f"{name}{number}")} for number in range(12)]}


@pytest.mark.parametrize(
    ("problem", "operation"),
    [
        (kv.Locked("a lock was not free"), "PutItem"),
        (kv.StoreError("a node is away"), "TransactWriteItems"),
    ],
    ids=["a locked row", "a machine that is away"],
)
def test_a_request_that_fails_does_not_take_others_with_it(
    problem: kv.StoreError, operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    inner = MemoryStore()
    sync = Runtime(inner)
    create_table(lambda name, body: msgspec.json.decode(sync.call(name, msgspec.json.encode(body))))
    store = Failing(inner, problem)
    made = put if operation == "PutItem" else both

    async def scenario() -> None:
        runtime = AsyncRuntime(store, asyncio.get_running_loop())

        async def write(name: str) -> Any:
            told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            runtime.submit(operation, msgspec.json.encode(made(name)), told.set_result)
            return await told

        await write("first")
        for turn in range(5):
            names = [f"{turn}.{number}" for number in range(8)] + [AWAY]
            outcomes = await asyncio.gather(*map(write, names))
            assert type(outcomes[-1]) is InternalServerError
            assert outcomes[:-1] == [b"{}"] * 8
        await runtime.aclose()

    with caplog.at_level(logging.ERROR):
        run(scenario)
    alone = min(store.failed)
    assert len(store.failed) - store.failed.count(alone) == (1 if operation == "PutItem" else 5)
    item = get("4.7" if operation == "PutItem" else "4.711")
    assert b"Item" in sync.call("GetItem", msgspec.json.encode(item))


def test_a_row_that_stays_locked_holds_up_no_other_reads() -> None:
    inner = MemoryStore()
    sync = Runtime(inner)
    create_table(lambda name, body: msgspec.json.decode(sync.call(name, msgspec.json.encode(body))))
    names = [f"{number}" for number in range(6)] + [AWAY]
    for name in names:
        sync.call("PutItem", msgspec.json.encode(put(name)))
    store = LockedRows(inner)

    async def scenario() -> None:
        runtime = AsyncRuntime(store, asyncio.get_running_loop())

        async def read(operation: str, name: str) -> Any:
            told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            body = {"TransactItems": [{"Get": get(name)}]} if operation[0] == "T" else get(name)
            runtime.submit(operation, msgspec.json.encode(body), told.set_result)
            return await told

        assert b"Item" in await read("GetItem", names[0])  # from now on the table is known
        for _ in range(5):
            outcomes = await asyncio.gather(*(read("TransactGetItems", name) for name in names))
            assert type(outcomes[-1]) is InternalServerError
            assert all(b"Item" in outcome for outcome in outcomes[:-1])
            assert b"Item" in await read("GetItem", AWAY)
        await runtime.aclose()

    run(scenario)
    assert [size for size in store.failed if size > 1] == store.failed[:1]
    assert len(store.failed) == 6


@pytest.mark.parametrize("invalid", [1, 3, 4])
def test_reads_begin_again_if_their_snapshot_becomes_invalid(invalid: int) -> None:
    inner = MemoryStore()
    sync = Runtime(inner)
    create_table(lambda name, body: msgspec.json.decode(sync.call(name, msgspec.json.encode(body))))
    names = [f"{number}" for number in range(20)]
    for name in names:
        sync.call("PutItem", msgspec.json.encode(put(name)))
    keys = [get(name)["Key"] for name in names]
    body = msgspec.json.encode({"RequestItems": {TABLE: {"Keys": keys}}})
    outcomes: list[Any] = []

    async def scenario() -> None:
        runtime = AsyncRuntime(Moving(inner, invalid), asyncio.get_running_loop())
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        runtime.submit("BatchGetItem", body, told.set_result)
        outcomes.append(await told)
        await runtime.aclose()

    run(scenario)
    if invalid > 3:
        assert type(outcomes[0]) is InternalServerError
    else:
        assert len(msgspec.json.decode(outcomes[0])["Responses"][TABLE]) == len(names)


def test_a_database_that_is_away_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    complaints = ending.Complaints(lambda: now)
    for _ in range(1000):
        complaints.log("it is away")
        complaints.log("the disk is full")
    now = 1.5
    complaints.log("it is away")
    assert [record.getMessage() for record in caplog.records] == [
        "storage: it is away",
        "storage: the disk is full",
        "storage: it is away (999 more like this were not logged)",
    ]
