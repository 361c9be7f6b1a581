"""Costly requests are decided aside, a step at a time, and otherwise answered like any other."""

import asyncio
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from running import TABLE, Request, WatchedStore, create_table, get, key
from tracing import TracedStore
from waiting import SECONDS_MAX

from hashrange import Database, kv
from hashrange.engine import cost
from hashrange.model.errors import (
    ApiError,
    ConditionalCheckFailedException,
    IdempotentParameterMismatchException,
    InternalServerError,
    ResourceNotFoundException,
    ThrottlingException,
    TransactionCanceledException,
)
from hashrange.runtime.aside import jobs, watch
from hashrange.runtime.base import LARGE_BODY_BYTES
from hashrange.runtime.batch import BATCH_SECONDS_MAX
from hashrange.runtime.clock import Clock
from hashrange.storage import MemoryStore

LONG = {"L": [{"N": "1"}] * (cost.UNITS_MAX // 2)}
"""A list that may be gone through once where others wait, but not three times."""


def long_item(pk: str, n: int = 0) -> Request:
    return {"TableName": TABLE, "Item": key(pk) | {"l": LONG, "n": {"N": str(n)}}}


def costly_increment(pk: str) -> Request:
    return get(pk) | {
        "UpdateExpression": "SET n = n + :one",
        "ConditionExpression": "NOT contains(l, :absent)",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":absent": {"S": "absent"}},
        "ReturnValues": "UPDATED_NEW",
    }


def number(database: Database, pk: str) -> int:
    return int(database.execute("GetItem", get(pk))["Item"]["n"]["N"])


@pytest.fixture
def traced(store: kv.Store) -> TracedStore:
    return TracedStore(store)


@pytest.fixture
def database(traced: TracedStore) -> Iterator[Database]:
    with Database(traced) as database:
        create_table(database.execute)
        database.execute("PutItem", long_item("a"))
        traced.trace.clear()
        yield database


# ---- writes ----


def test_a_costly_write_is_decided_outside_transactions(
    database: Database, traced: TracedStore
) -> None:
    answer = database.execute("UpdateItem", costly_increment("a"))
    assert answer == {"Attributes": {"n": {"N": "1"}}}
    places = [place for place, read in traced.trace if type(read) is not kv.Head]
    # It is found to be costly; its tables and its item are read aside; what was read is compared.
    assert places == [
        *("begin", "transaction", "end"),
        *("snapshot", "snapshot"),
        *("begin", "transaction", "transaction", "end"),
    ]
    assert number(database, "a") == 1


def test_a_cheap_write_of_the_same_item_is_not(database: Database, traced: TracedStore) -> None:
    database.execute("PutItem", long_item("a", 7))
    assert not traced.gets("snapshot")


def test_a_costly_write_that_lost_a_race_is_decided_again(
    database: Database, traced: TracedStore
) -> None:
    def interfere(read: kv.Read) -> None:
        traced.before_read = lambda read: None
        database.execute("PutItem", long_item("a", 100))

    traced.before_read = interfere
    database.execute("UpdateItem", costly_increment("a"))
    # The snapshot was taken before the other write, so the first proposal did not hold.
    assert number(database, "a") == 101


def test_a_costly_write_that_always_loses_is_throttled(
    database: Database, traced: TracedStore
) -> None:
    turns = iter(range(100, 1000))

    def interfere(read: kv.Read) -> None:
        if type(read) is kv.Head:
            database.execute("PutItem", long_item("a", next(turns)))

    traced.before_read = interfere
    with pytest.raises(ThrottlingException):
        database.execute("UpdateItem", costly_increment("a"))
    traced.before_read = lambda read: None
    assert number(database, "a") == next(turns) - 1  # nothing was written
    database.execute("UpdateItem", costly_increment("a"))


def test_a_costly_write_that_is_refused(database: Database) -> None:
    request = costly_increment("a") | {"ConditionExpression": "contains(l, :absent)"}
    with pytest.raises(ConditionalCheckFailedException):
        database.execute("UpdateItem", request)
    assert number(database, "a") == 0


def test_a_costly_transaction_that_is_cancelled_keeps_its_token(database: Database) -> None:
    update = costly_increment("a") | {"ConditionExpression": "contains(l, :absent)"}
    del update["ReturnValues"]
    request = {"TransactItems": [{"Update": update}], "ClientRequestToken": "token"}
    for _ in range(2):
        with pytest.raises(TransactionCanceledException):
            database.execute("TransactWriteItems", request)
        other = {"TransactItems": [{"Delete": get("b")}], "ClientRequestToken": "token"}
        with pytest.raises(IdempotentParameterMismatchException):
            database.execute("TransactWriteItems", other)
    assert number(database, "a") == 0


def test_no_costly_write_is_lost(database: Database) -> None:
    """Neither from threads nor from an event loop, and cheap writes go on beside them."""

    async def increment_together() -> None:
        requests = [costly_increment("a"), get("cheap") | {"Item": key("cheap")}]
        del requests[1]["Key"]
        names = ["UpdateItem", "PutItem"]
        together = [
            database.execute_async(name, request)
            for _ in range(4)
            for name, request in zip(names, requests, strict=True)
        ]
        await asyncio.gather(*together)

    with ThreadPoolExecutor(4) as pool:
        from_threads = [
            pool.submit(database.execute, "UpdateItem", costly_increment("a")) for _ in range(8)
        ]
        asyncio.run(increment_together())
        for each in from_threads:
            each.result(timeout=SECONDS_MAX)
    assert number(database, "a") == 12
    assert not list(database.check())


def test_records_of_costly_writes_are_in_the_order_of_their_commits(store: kv.Store) -> None:
    """Another write commits between a costly one's decision and its commit."""
    times = iter(range(1_800_000_000, 1_900_000_000))
    traced = TracedStore(store)
    with Database(traced, clock=Clock(lambda: float(next(times)))) as database:
        create_table(
            database.execute,
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        )
        database.execute("PutItem", long_item("a"))

        def interfere(read: kv.Read) -> None:
            if type(read) is kv.Get and read.keys[0][0] != kv.SYSTEM_SPACE:
                traced.before_read = lambda read: None
                database.execute("PutItem", {"TableName": TABLE, "Item": key("b")})

        traced.before_read = interfere
        database.execute("UpdateItem", costly_increment("a"))
        assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in records(database)] == [
            *("a", "b", "a")
        ]


def records(database: Database) -> list[Request]:
    """All records of the table's stream, in the order of their times."""
    table = database.execute("DescribeTable", {"TableName": TABLE})["Table"]
    arn = {"StreamArn": table["LatestStreamArn"]}
    shards = database.execute("DescribeStream", arn)["StreamDescription"]["Shards"]
    found: list[Request] = []
    for shard in shards:
        where = arn | {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = database.execute("GetShardIterator", where)
        found += database.execute("GetRecords", iterator)["Records"]
    return sorted(found, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))


def test_a_batch_ends_when_its_time_is_over() -> None:
    """What is left waits for the next batch, so no request holds all others up."""
    looks = iter(range(10_000_000))
    store = WatchedStore(MemoryStore())
    store.slow_commits = False
    with Database(store, clock=Clock(timer=lambda: next(looks) * BATCH_SECONDS_MAX)) as database:
        create_table(database.execute)
        before = store.commits
        puts = [{"TableName": TABLE, "Item": key(f"k{number}")} for number in range(10)]

        async def together() -> None:
            await asyncio.gather(*(database.execute_async("PutItem", put) for put in puts))

        asyncio.run(together())
        assert store.commits - before == 5
        assert database.execute("Scan", {"TableName": TABLE})["Count"] == 10


# ---- reads aside ----


def projected(pk: str) -> Request:
    return get(pk) | {"ProjectionExpression": "l[3], n"}


def test_costly_reads_of_an_event_loop_are_answered(database: Database) -> None:
    database.execute("PutItem", {"TableName": TABLE, "Item": very_long("b")})
    expected = {"n": {"N": "0"}, "l": {"L": [{"N": "1"}]}}

    async def read() -> list[Request]:
        batch = {"RequestItems": {TABLE: {"Keys": [key("b")], "ProjectionExpression": "l[3], n"}}}
        requests = {"GetItem": projected("b"), "BatchGetItem": batch}
        return [await database.execute_async(name, each) for name, each in requests.items()]

    one, several = asyncio.run(read())
    assert one["Item"] == several["Responses"][TABLE][0] == expected


def very_long(pk: str) -> Request:
    """An item that is not even decoded while others wait."""
    return key(pk) | {"l": {"L": LONG["L"] * 4}, "n": {"N": "0"}}


def test_too_many_costly_requests_are_throttled(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WAITING_MAX", 3)

    async def write() -> list[Request | BaseException]:
        together = [database.execute_async("UpdateItem", costly_increment("a")) for _ in range(6)]
        return await asyncio.gather(*together, return_exceptions=True)

    outcomes = asyncio.run(write())
    throttled = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert throttled
    assert {type(each) for each in throttled} == {ThrottlingException}
    assert number(database, "a") == len(outcomes) - len(throttled)


# ---- in a process of their own ----


def workers() -> list[int]:
    """The child processes of this one."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(pid) for children in tasks for pid in children.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it lists processes in /proc")
def test_a_process_evaluates_costly_requests(database: Database) -> None:
    before = set(workers())
    database.runtime.evaluate_elsewhere()
    database.execute("PutItem", {"TableName": TABLE, "Item": very_long("b")})
    assert set(workers()) == before  # it starts when it is needed
    expected = {"n": {"N": "0"}, "l": {"L": [{"N": "1"}]}}
    assert database.execute("GetItem", projected("b"))["Item"] == expected
    assert database.execute("UpdateItem", costly_increment("a"))["Attributes"]["n"] == {"N": "1"}
    request = costly_increment("a") | {"ConditionExpression": "contains(l, :absent)"}
    with pytest.raises(ConditionalCheckFailedException) as refused:
        database.execute("UpdateItem", request)
    assert refused.value.message == "The conditional request failed"
    [worker] = set(workers()) - before
    os.kill(worker, signal.SIGKILL)
    outcomes = [costly_outcome(database) for _ in range(2)]
    assert outcomes[0] is None or isinstance(outcomes[0], InternalServerError)
    assert outcomes[1] is None  # there is a new one
    database.close()
    assert set(workers()) == before


def test_a_request_that_always_loses_its_process_is_given_up(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database.runtime.evaluate_elsewhere()
    with monkeypatch.context() as strict:
        strict.setattr(watch, "LOOK_SECONDS", 0.02)
        strict.setattr(watch, "ANSWER_SECONDS_MAX", -1.0)  # no process even gets to its start
        with pytest.raises(InternalServerError):
            database.execute("UpdateItem", costly_increment("a"))
    expected = "a costly UpdateItem was given up, because the process that evaluated it ended twice"
    assert expected in caplog.messages
    assert number(database, "a") == 0
    assert costly_outcome(database) is None
    assert number(database, "a") == 1


LARGE = b" " * LARGE_BODY_BYTES
"""Space at the end of a body, which makes it large."""

LARGE_REQUESTS: list[tuple[str, Request]] = [
    ("PutItem", {"TableName": TABLE, "Item": key("b") | {"n": {"N": "1"}}}),
    ("PutItem", {"TableName": TABLE, "Item": {"n": {"N": "1"}}}),
    ("PutItem", {"TableName": "absent", "Item": key("b")}),
    ("PutItem", {"TableName": TABLE, "Item": key("b") | {"s": {"S": "s" * 500_000}}}),
    ("UpdateItem", costly_increment("a")),
    ("UpdateItem", get("a") | {"UpdateExpression": "SET n = :absent"}),
    ("GetItem", get("a")),
    ("GetItem", get("none")),
    ("Scan", {"TableName": TABLE, "Limit": 0}),
    ("ExecuteStatement", {"Statement": f"SELECT n FROM {TABLE}"}),
    ("ExecuteStatement", {"Statement": f"DELETE FROM {TABLE} WHERE pk = 'none'"}),
    ("CreateTable", {"TableName": "t"}),
    ("DescribeTable", {"TableName": "absent"}),
    ("TagResource", {"ResourceArn": "none"}),
]


def outcome(database: Database, name: str, body: bytes) -> tuple[str, bytes | str]:
    try:
        return "", database.runtime.call(name, body)
    except ApiError as error:
        return error.code, error.message


@pytest.mark.deep
@pytest.mark.parametrize(("name", "request_"), LARGE_REQUESTS)
def test_a_large_body_has_the_same_outcome(
    database: Database, store: kv.Store, name: str, request_: Request
) -> None:
    body = msgspec.json.encode(request_)
    large = outcome(database, name, body + LARGE)
    database.execute("PutItem", long_item("a"))
    database.execute("DeleteItem", get("b"))
    database.runtime.evaluate_elsewhere()
    assert outcome(database, name, body + LARGE) == large


@pytest.mark.parametrize("body", [b"{" + LARGE, b'{"X":' + b"[]," * 200_000, b"\xff" + LARGE])
def test_a_large_body_that_is_no_json(database: Database, body: bytes) -> None:
    here = outcome(database, "PutItem", body)
    database.runtime.evaluate_elsewhere()
    assert outcome(database, "PutItem", body) == here
    assert here[0] == "SerializationException"


def test_a_table_is_deleted_with_a_large_body(database: Database) -> None:
    """Cached tables must be found out of date."""
    database.runtime.evaluate_elsewhere()
    body = msgspec.json.encode({"TableName": TABLE})
    database.runtime.call("DeleteTable", body + LARGE)
    with pytest.raises(ResourceNotFoundException):
        database.execute("PutItem", {"TableName": TABLE, "Item": key("b")})


def test_large_writes_of_many_threads(database: Database) -> None:
    """Items, tables and reads at once; none of the writes is lost."""
    database.runtime.evaluate_elsewhere()

    def large(name: str, request: Request) -> Request:
        body = msgspec.json.encode(request) + LARGE
        return msgspec.json.decode(database.runtime.call(name, body), type=Request)

    def write(number: int) -> None:
        puts = [
            {"PutRequest": {"Item": key(f"{number}-{n}") | {"s": {"S": "s" * 100_000}}}}
            for n in range(10)
        ]
        large("BatchWriteItem", {"RequestItems": {TABLE: puts}})
        create_table(large, f"table{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    assert len(database.execute("ListTables", {})["TableNames"]) == 9
    for number in range(8):
        for n in range(10):
            item = database.execute("GetItem", get(f"{number}-{n}"))["Item"]
            assert len(item["s"]["S"]) == 100_000


def costly_outcome(database: Database) -> ApiError | None:
    try:
        database.execute("UpdateItem", costly_increment("a"))
    except ApiError as error:
        return error
    return None
