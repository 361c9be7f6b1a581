"""`hashrange.connect` and `connect_async` with the address of a database that is awaited."""

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from waiting import SECONDS_MAX, run

import hashrange
from hashrange.engine.cost import UNITS_MAX
from hashrange.model.errors import (
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.runtime.mistaken_calls import Closed
from hashrange.server.admin.metrics import Counts, rendered
from hashrange.server.workers.monitor import Monitor

TABLE = "Things"
CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
BY_COLOR: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "color", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "by-color",
                "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}


def put(pk: str, **attributes: str) -> dict[str, Any]:
    values = {name: {"S": value} for name, value in attributes.items()}
    return {"TableName": TABLE, "Item": {"pk": {"S": pk}, **values}}


def get(pk: str) -> dict[str, Any]:
    return {"TableName": TABLE, "Key": {"pk": {"S": pk}}}


def test_a_program_without_an_event_loop(address: str) -> None:
    with hashrange.connect(address) as database:
        database.execute("CreateTable", CREATE)
        client = database.boto3_session().client("dynamodb")
        client.put_item(**put("a", color="red"))
        assert client.get_item(**get("a"))["Item"]["color"] == {"S": "red"}
        with pytest.raises(ValidationException):
            database.execute("GetItem", get("a") | {"Key": {}})
        explained = database.explain("GetItem", get("a"))
        assert (explained["rows_read"], explained["read_units"]) == (1, 0.5)
        [shown] = database.inspect(TABLE)
        assert shown["items"] == 1
        assert not list(database.check())
    with pytest.raises(Closed):
        database.execute("GetItem", get("a"))
    with hashrange.connect(address) as again:
        assert "Item" in again.execute("GetItem", get("a"))


def test_an_index_is_built_and_expired_items_deleted(address: str) -> None:
    with hashrange.connect(address) as database:
        database.execute("CreateTable", CREATE)
        for number in range(30):
            item = put(str(number), color="red")
            item["Item"]["until"] = {"N": str(int(time.time()) - 60 if number < 10 else 1 << 40)}
            database.execute("PutItem", item)
        database.execute("UpdateTable", BY_COLOR)
        ttl = {"Enabled": True, "AttributeName": "until"}
        database.execute("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": ttl})
        database.run_upkeep()
        table = database.execute("DescribeTable", {"TableName": TABLE})["Table"]
        assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
        found = database.execute("Scan", {"TableName": TABLE, "IndexName": "by-color"})
        assert found["Count"] == 20
        assert not list(database.check())


def test_a_program_on_an_event_loop(address: str) -> None:
    async def scenario() -> None:
        async with await hashrange.connect_async(address) as database:
            await database.execute_async("CreateTable", CREATE)
            await asyncio.gather(
                *[database.execute_async("PutItem", put(str(n))) for n in range(40)]
            )
            found = await database.execute_async("Scan", {"TableName": TABLE})
            assert found["Count"] == 40
            with pytest.raises(RuntimeError, match="await execute_async"):
                database.execute("GetItem", get("1"))
            with pytest.raises(RuntimeError, match="await execute_async"):
                database.boto3_session().client("dynamodb").get_item(**get("1"))
            assert not await asyncio.to_thread(lambda: list(database.check()))
        with pytest.raises(Closed):
            await database.execute_async("GetItem", get("1"))

    run(scenario)


def test_two_processes_see_each_others_tables_at_once(address: str) -> None:
    with hashrange.connect(address) as one, hashrange.connect(address) as other:
        for number in range(5):
            name = {"TableName": f"{TABLE}{number}"}
            one.execute("CreateTable", CREATE | name)
            other.execute("PutItem", put("a") | name)
            assert "Item" in one.execute("GetItem", get("a") | name)
            other.execute("DeleteTable", name)
            assert name["TableName"] not in one.execute("ListTables", {})["TableNames"]


def test_tokens_hold_across_processes(address: str) -> None:
    update = get("n") | {
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
    }
    request = {"TransactItems": [{"Update": update}], "ClientRequestToken": "once"}
    with hashrange.connect(address) as one, hashrange.connect(address) as other:
        one.execute("CreateTable", CREATE)
        for database in (one, other, one):
            database.execute("TransactWriteItems", request)
        assert other.execute("GetItem", get("n"))["Item"]["n"] == {"N": "1"}
        absent = {"Update": update | get("m") | {"ConditionExpression": "attribute_exists(pk)"}}
        cancelled = {"TransactItems": [absent], "ClientRequestToken": "cancelled"}
        for database in (one, other):
            with pytest.raises(TransactionCanceledException):
                database.execute("TransactWriteItems", cancelled)
            with pytest.raises(IdempotentParameterMismatchException):
                other.execute("TransactWriteItems", request | {"ClientRequestToken": "cancelled"})


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (hashrange.Settings(throughput="enforced"), 'throughput="enforced" needs a database that'),
        (hashrange.Settings(consistency=hashrange.Eventual()), "that only one process uses"),
    ],
)
def test_what_needs_one_process_is_refused(
    address: str, settings: hashrange.Settings, says: str
) -> None:
    with pytest.raises(hashrange.StoreError, match=says):
        hashrange.connect(address, settings=settings)
    with pytest.raises(hashrange.StoreError, match=says):
        asyncio.run(hashrange.connect_async(address, settings=settings))


def test_files_and_memory_on_an_event_loop(tmp_path: Path) -> None:
    async def scenario() -> None:
        for path in (None, tmp_path / "app.db"):
            async with await hashrange.connect_async(path) as database:
                await database.execute_async("CreateTable", CREATE)
                await database.execute_async("PutItem", put("a"))
                assert "Item" in await database.execute_async("GetItem", get("a"))

    run(scenario)


def test_metrics_say_which_numbers_only_rise(dsn: str) -> None:
    with hashrange.connect(f"{dsn}&pool=7") as database:
        monitor = Monitor.of(database, lambda: {"connections_max": 900})
        text = monitor.metrics.render({}).body.decode()
    kinds = dict(re.findall(r"# TYPE hashrange_(\w+) (\w+)", text))
    assert kinds["conflicts_total"] == kinds["database_connections_opened_total"] == "counter"
    assert kinds["database_connections"] == kinds["database_connections_waiting"] == "gauge"
    assert "\nhashrange_connections_max 900.0\n" in text
    assert "\nhashrange_database_connections_max 7.0\n" in text


def test_a_figure_that_is_not_listed_is_refused() -> None:
    with pytest.raises(AssertionError, match="the figure unheard_of must be listed"):
        rendered(lambda: Counts(figures={"unheard_of": 1}))


def test_the_address_says_how_many_connections(dsn: str) -> None:
    with hashrange.connect(f"{dsn}&pool=7") as database:
        assert database.figures()["database_connections_max"] == 7
    for size in ("0", "many", "65"):
        with pytest.raises(hashrange.StoreError, match="pool must be a number from 1 to 64"):
            hashrange.connect(f"{dsn}&pool={size}")


@pytest.mark.parametrize("pool", [1, 2, 4])
def test_costly_reads_leave_connections_to_others(dsn: str, pool: int) -> None:
    """Each holds one, and is advanced by the same thread as the others."""
    long = {"L": [{"N": "1"}] * UNITS_MAX}
    scan: dict[str, Any] = {
        "TableName": TABLE,
        "FilterExpression": " OR ".join(["contains(l, :absent)"] * 20),
        "ExpressionAttributeValues": {":absent": {"S": "absent"}},
    }
    increment = get("a") | {
        "UpdateExpression": "ADD n :n",
        "ConditionExpression": f"NOT ({scan['FilterExpression']})",
        "ExpressionAttributeValues": {":n": {"N": "1"}, **scan["ExpressionAttributeValues"]},
    }
    with hashrange.connect(f"{dsn}&pool={pool}") as database, ThreadPoolExecutor(16) as threads:
        database.execute("CreateTable", CREATE)
        for pk in "abc":
            database.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": pk}, "l": long}})
        scans = [threads.submit(database.execute, "Scan", scan) for _ in range(12)]
        increments = [threads.submit(database.execute, "UpdateItem", increment) for _ in range(4)]
        assert [scanned.result(SECONDS_MAX)["ScannedCount"] for scanned in scans] == [3] * 12
        for incremented in increments:
            incremented.result(SECONDS_MAX)
        assert database.execute("GetItem", get("a"))["Item"]["n"] == {"N": "4"}


def test_a_closed_database_has_given_its_connections_back(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read is answered a moment before its snapshot is closed."""
    postgres = pytest.importorskip("hashrange.storage.postgres.transaction")
    close, closed = postgres.PostgresSnapshot.close, []

    async def slow(snapshot: Any) -> None:
        await asyncio.sleep(0.1)
        await close(snapshot)
        closed.append(snapshot)

    with hashrange.connect(dsn) as database:
        database.execute("CreateTable", CREATE)
        monkeypatch.setattr(postgres.PostgresSnapshot, "close", slow)
        database.execute("Scan", {"TableName": TABLE})
    assert closed
