"""A store that fails: InternalServerError and one line in the log, until the store works again."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from running import TABLE, count, create_table, get, increment, key, put, scanned, standing
from waiting import SECONDS_MAX

from hashrange import Database, kv
from hashrange.model.errors import InternalServerError, ThrottlingException
from hashrange.runtime.batch import CONFLICTS_MAX
from hashrange.runtime.ending import Complaints
from hashrange.storage import MemoryStore
from hashrange.testing import FaultyStore
from hashrange.testing.faulty import LandedUnknown, LostUnknown

STEPS = 40
"""More than any request takes, so that each of its steps fails once."""

BY_COLOR = {
    "IndexName": "by-color",
    "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
TRANSACTION = {
    "TransactItems": [
        {"Put": put("t", "1", color="red")},
        {"Delete": get("there")},
        {"Update": increment("t", "2")},
    ],
    "ClientRequestToken": "token",
}
REQUESTS: dict[str, dict[str, Any]] = {
    "PutItem": put("a", color="red"),
    "UpdateItem": increment("there"),
    "DeleteItem": get("there"),
    "BatchWriteItem": {
        "RequestItems": {
            TABLE: [
                {"PutRequest": {"Item": put("b")["Item"]}},
                {"DeleteRequest": {"Key": key("there")}},
            ]
        }
    },
    "TransactWriteItems": TRANSACTION,
    "DeleteTable": {"TableName": TABLE},
    "GetItem": get("there"),
    "Query": {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "there"}},
    },
    "Scan": {"TableName": TABLE, "IndexName": "by-color"},
    "TransactGetItems": {"TransactItems": [{"Get": get("there")}]},
    "DescribeTable": {"TableName": TABLE},
}


pytestmark = pytest.mark.usefixtures("by_hand")
"""Upkeep would take steps, and faults, of its own."""


@pytest.fixture(autouse=True)
def every_failure_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a line that is the same as the last one is left out."""
    monkeypatch.setattr(Complaints, "PAUSE_SECONDS", 0.0)


@pytest.fixture
def inner() -> MemoryStore:
    """A store with a table that has an index, and an item."""
    store = MemoryStore()
    database = Database(store)
    definitions = [{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk", "color")]
    create_table(
        database.execute, AttributeDefinitions=definitions, GlobalSecondaryIndexes=[BY_COLOR]
    )
    database.execute("PutItem", put("there", color="blue"))
    return store


@pytest.fixture(params=["sync", "async"])
def execute(request: pytest.FixtureRequest) -> Callable[[Database, str, Any], Any]:
    def sync(database: Database, operation: str, given: Any) -> Any:
        return database.execute(operation, given)

    def on_loop(database: Database, operation: str, given: Any) -> Any:
        return asyncio.run(asyncio.wait_for(database.execute_async(operation, given), SECONDS_MAX))

    return sync if request.param == "sync" else on_loop


def state(store: kv.Store) -> list[Any]:
    return [store.snapshot().read(kv.Range(space, b"", None)) for space in range(4)]


@pytest.mark.parametrize("fault", [kv.Full, kv.StoreError])
@pytest.mark.parametrize("operation", REQUESTS)
def test_each_step_may_fail(
    operation: str,
    fault: type[kv.StoreError],
    execute: Callable[[Database, str, Any], Any],
    inner: MemoryStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is written, one line is logged, and the next attempt succeeds."""
    caplog.set_level(logging.ERROR)
    before = state(inner)
    failed = 0
    for step in range(STEPS):
        faults = dict.fromkeys(("begin", "read", "write", "commit"), (fault,))
        faulty = FaultyStore(inner, countdown=step, faults=faults)
        caplog.clear()
        try:
            database = Database(faulty)
        except kv.StoreError:
            continue  # while it looked if the stored rows are up to date
        try:
            execute(database, operation, REQUESTS[operation])
        except InternalServerError:
            failed += 1
        else:
            break  # it takes no more steps than this
        assert state(inner) == before
        assert [len(record.getMessage().splitlines()) for record in caplog.records] == [1]
        assert not any(record.exc_info for record in caplog.records)
    assert failed >= 2
    assert not faulty.struck
    assert not list(Database(inner).check())


def test_a_request_waits_for_a_busy_store(inner: MemoryStore) -> None:
    """It waits in a thread, not on the loop; the store says for how long."""
    database = Database(FaultyStore(inner, countdown=0, faults={"begin": (kv.Busy,)}))
    assert asyncio.run(database.execute_async("PutItem", put("a"))) == {}
    database = Database(FaultyStore(inner, countdown=0, faults={"begin": (kv.Busy,)}))
    with pytest.raises(InternalServerError):
        database.execute("PutItem", put("b"))
    assert len(scanned(database.execute)) == 2


def test_a_lost_race_is_run_again(
    execute: Callable[[Database, str, Any], Any], inner: MemoryStore
) -> None:
    faulty = FaultyStore(inner, rate=0.5, seed=1, faults={"commit": (kv.Conflict,)})
    database = Database(faulty)
    for _ in range(20):
        execute(database, "UpdateItem", increment("n"))
    assert faulty.struck[kv.Conflict] > 5
    assert count(database.execute, "n") == 20
    assert not list(database.check())


@pytest.mark.parametrize("fault", [LandedUnknown, LostUnknown])
def test_an_unknown_outcome_is_answered_by_an_error_and_not_run_again(
    execute: Callable[[Database, str, Any], Any],
    inner: MemoryStore,
    fault: type[kv.OutcomeUnknown],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    faulty = FaultyStore(inner, countdown=0, faults={"commit": (fault,)})
    database = Database(faulty)
    with pytest.raises(InternalServerError) as refused:
        execute(database, "UpdateItem", increment("n"))
    assert str(refused.value) == "Internal server error"
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert faulty.struck == {fault: 1}
    assert count(Database(inner).execute, "n") == (fault is LandedUnknown)
    execute(database, "UpdateItem", increment("n"))
    assert count(database.execute, "n") == 1 + (fault is LandedUnknown)
    assert not list(database.check())


def test_an_unknown_outcome_is_reported_to_all_requests_of_the_commit(inner: MemoryStore) -> None:
    faulty = FaultyStore(inner, countdown=0, faults={"commit": (LandedUnknown,)})
    database = Database(faulty, clock=standing())

    async def together() -> list[dict[str, Any] | BaseException]:
        requests = [database.execute_async("UpdateItem", increment("n")) for _ in range(3)]
        return await asyncio.gather(*requests, return_exceptions=True)

    outcomes = asyncio.run(together())
    assert [type(outcome) for outcome in outcomes] == [InternalServerError] * 3
    assert count(Database(inner).execute, "n") == 3


def test_lost_races_are_not_retried_forever(inner: MemoryStore) -> None:
    """The client may try again, as over an asynchronous store."""
    faulty = FaultyStore(inner, rate=1.0, faults={"commit": (kv.Conflict,)})
    database = Database(faulty)
    with pytest.raises(ThrottlingException):
        database.execute("PutItem", put("a"))
    assert faulty.struck[kv.Conflict] == CONFLICTS_MAX
    assert Database(inner).execute("GetItem", get("a")) == {}


def test_a_counter_equals_the_acknowledged_writes(inner: MemoryStore) -> None:
    """Threads and tasks, while a third of all steps of the store fail."""
    faulty = FaultyStore(
        inner,
        rate=0.02,
        seed=7,
        faults={
            "begin": (kv.Busy,),
            "read": (kv.StoreError,),
            "write": (kv.Full,),
            "commit": (kv.Conflict, kv.Full),
        },
    )
    database = Database(faulty)

    def in_thread(_: int) -> int:
        done = 0
        for _ in range(100):
            with suppress(InternalServerError):
                database.execute("UpdateItem", increment("n"))
                done += 1
        return done

    async def on_loop() -> int:
        requests = (database.execute_async("UpdateItem", increment("n")) for _ in range(100))
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        return sum(isinstance(outcome, dict) for outcome in outcomes)

    with ThreadPoolExecutor(5) as pool:
        acknowledged = sum(pool.map(in_thread, range(4)))
        acknowledged += pool.submit(asyncio.run, on_loop()).result(SECONDS_MAX)
    assert faulty.struck
    assert count(Database(inner).execute, "n") == acknowledged
    assert not list(Database(inner).check())


def test_a_disk_that_lost_a_write_is_read_only_until_reopened(inner: MemoryStore) -> None:
    faulty = FaultyStore(inner, countdown=0, faults={"commit": (kv.ReadOnly,)})
    database = Database(faulty)
    for _ in range(3):
        with pytest.raises(InternalServerError):
            database.execute("PutItem", put("a"))
    assert database.execute("GetItem", get("there"))["Item"]
    assert len(scanned(database.execute)) == 1
    reopened = Database(inner)
    reopened.execute("PutItem", put("a"))
    assert len(scanned(reopened.execute)) == 2


class Stubborn(FaultyStore):
    """Raises something at the next commit or rollback, once."""

    def __init__(self, store: kv.Store, step: str, error: BaseException) -> None:
        super().__init__(store)
        self.step = step
        self.error: BaseException | None = error

    def begin(self, wait: bool = True, /) -> kv.Transaction:
        transaction = super().begin(wait)
        if self.error:
            ended = getattr(transaction, self.step)

            def fail() -> None:
                error, self.error = self.error, None
                if self.step == "commit":
                    transaction.rollback()
                else:
                    ended()
                assert error
                raise error

            setattr(transaction, self.step, fail)
        return transaction


@pytest.fixture
def refused() -> dict[str, Any]:
    """A request that ends in a rollback."""
    return put("a") | {"ConditionExpression": "attribute_exists(pk)"}


def test_a_failed_rollback_does_not_block_others(
    inner: MemoryStore, refused: dict[str, Any], execute: Callable[[Database, str, Any], Any]
) -> None:
    database = Database(Stubborn(inner, "rollback", kv.StoreError("the disk is gone")))
    with pytest.raises(Exception, match="conditional request failed"):
        execute(database, "PutItem", refused)
    execute(database, "PutItem", put("a"))


@pytest.mark.parametrize("step", ["commit", "rollback"])
def test_ctrl_c_does_not_block_others(
    inner: MemoryStore, refused: dict[str, Any], step: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends the thread that worked, and that thread's requests fail. No log calls it a bug."""
    database = Database(Stubborn(inner, step, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        database.execute("PutItem", put("a") if step == "commit" else refused)
    assert database.execute("GetItem", get("a")) == {}
    database.execute("PutItem", put("a"))
    assert asyncio.run(database.execute_async("PutItem", put("b"))) == {}
    assert "KeyboardInterrupt" not in caplog.text


def test_ctrl_c_on_a_loop_acknowledges_nothing(inner: MemoryStore) -> None:
    database = Database(Stubborn(inner, "commit", KeyboardInterrupt()))
    outcomes: list[object] = []
    loop = asyncio.new_event_loop()
    for pk in "ab":
        body = msgspec.json.encode(put(pk))
        loop.call_soon(database.runtime.submit, "PutItem", body, outcomes.append)
    with pytest.raises(KeyboardInterrupt):
        loop.run_forever()
    assert [type(outcome) for outcome in outcomes] == [InternalServerError] * 2
    assert len(scanned(database.execute)) == 1
    loop.call_soon(database.runtime.submit, "PutItem", body, outcomes.append)
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    loop.close()
    assert outcomes[2] == b"{}"
