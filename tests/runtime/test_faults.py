"""Faults on purpose: which requests have them, what clients see, and that nothing is corrupted."""

import subprocess
import sys
from collections import Counter
from random import Random
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError
from loads import by_kind, units
from waiting import SECONDS_MAX

import hashrange
from hashrange import Database, Eventual, Faults, Settings
from hashrange.model.errors import ApiError

TABLE = {
    "TableName": "table",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    **by_kind(),
}


def opened(**members: Any) -> Database:
    db = hashrange.connect(settings=Settings(faults=Faults(**members)))
    db.execute("CreateTable", TABLE)
    return db


def put(pk: str, n: int = 0) -> dict[str, Any]:
    return {"TableName": "table", "Item": {"pk": {"S": pk}, "kind": {"S": "k"}, "n": {"N": str(n)}}}


def refusal(db: Database, operation: str, request: dict[str, Any]) -> dict[str, Any] | None:
    try:
        db.execute(operation, request)
    except ApiError as error:
        return error.body()
    return None


def there(db: Database) -> set[str]:
    return {item["pk"]["S"] for item in db.execute("Scan", {"TableName": "table"})["Items"]}


def test_exactly_the_named_call_fails() -> None:
    with opened(on={"PutItem": {2: "error", 3: "error-after"}}) as db:
        found = [refusal(db, "PutItem", put(pk)) for pk in "abcd"]
        error = {
            "__type": "com.amazonaws.dynamodb.v20120810#InternalServerError",
            "message": "Internal server error",
        }
        assert found == [None, error, error, None]
        assert there(db) == {"a", "c", "d"}


def test_a_throttling_error_has_the_form_of_the_billing_mode() -> None:
    with opened(on={"PutItem": {1: "throttle", 2: "throttle"}}) as db:
        refused = refusal(db, "PutItem", put("a"))
        assert refused is not None
        assert refused["__type"] == "com.amazon.coral.availability#ThrottlingException"
        assert refused["throttlingReasons"][0]["reason"] == "TableWriteKeyRangeThroughputExceeded"
        index = {"IndexName": "by-kind", "ProvisionedThroughput": units(1, 1)}
        change = {
            "TableName": "table",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": units(1, 1),
            "GlobalSecondaryIndexUpdates": [{"Update": index}],
        }
        db.execute("UpdateTable", change)
        db.execute("DescribeTable", {"TableName": "table"})
        refused = refusal(db, "PutItem", put("a"))
        assert refused is not None
        assert (
            refused["ThrottlingReasons"][0]["reason"] == "TableWriteProvisionedThroughputExceeded"
        )


def test_some_members_of_a_batch_are_unprocessed() -> None:
    with opened(rates={"unprocessed": 1.0}) as db:
        puts = [{"PutRequest": {"Item": put(str(n))["Item"]}} for n in range(10)]
        left = db.execute("BatchWriteItem", {"RequestItems": {"table": puts}})["UnprocessedItems"]
        assert 1 <= len(left["table"]) <= 9
        assert len(there(db)) == 10 - len(left["table"])
        while left:
            left = db.execute("BatchWriteItem", {"RequestItems": left})["UnprocessedItems"]
        assert len(there(db)) == 10
        wanted: Any = {"table": {"Keys": [{"pk": {"S": str(n)}} for n in range(10)]}}
        found = []
        while wanted:
            answer = db.execute("BatchGetItem", {"RequestItems": wanted})
            found += answer["Responses"].get("table", [])
            wanted = answer["UnprocessedKeys"]
        assert len(found) == 10


def test_a_batch_that_is_refused_as_a_whole_is_not_divided() -> None:
    with opened(rates={"unprocessed": 1.0}) as db:
        puts = [{"PutRequest": {"Item": put(str(n))["Item"]}} for n in range(26)]
        twice = [puts[0], {"DeleteRequest": {"Key": {"pk": {"S": "0"}}}}, puts[1], puts[2]]
        for batch, told in ((puts, "less than or equal to 25"), (twice, "duplicates")):
            for _ in range(10):
                refused = refusal(db, "BatchWriteItem", {"RequestItems": {"table": batch}})
                assert refused is not None
                assert told in refused["message"]
        assert there(db) == set()


def test_conflicts() -> None:
    on = {"PutItem": {1: "conflict"}, "TransactWriteItems": {1: "conflict", 2: "in-progress"}}
    with opened(on=on) as db:
        assert refusal(db, "PutItem", put("a")) == {
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
            "message": "Transaction is ongoing for the item",
        }
        request = {"TransactItems": [{"Put": put("a")}, {"Put": put("b")}]}
        refused = refusal(db, "TransactWriteItems", request)
        assert refused is not None
        assert [reason["Code"] for reason in refused["CancellationReasons"]] == [
            "TransactionConflict",
            "None",
        ]
        refused = refusal(db, "TransactWriteItems", {**request, "ClientRequestToken": "once"})
        assert refused is not None
        assert refused["__type"].endswith("#TransactionInProgressException")
        assert there(db) == set()


def test_rates_hold_for_the_operations_and_tables_that_are_named() -> None:
    faults: dict[str, Any] = {"rates": {"error": 0.3}, "operations": ("PutItem",)}
    with opened(**faults, tables=("table",), seed=1) as db:
        db.execute("CreateTable", {**TABLE, "TableName": "other"})
        failed = [refusal(db, "PutItem", put("a")) is not None for _ in range(300)]
        assert 60 < sum(failed) < 120
        assert not any(refusal(db, "Scan", {"TableName": "table"}) for _ in range(50))
        other = {**put("a"), "TableName": "other"}
        assert not any(refusal(db, "PutItem", other) for _ in range(50))
    with opened(**faults, seed=1) as db:
        db.execute("CreateTable", {**TABLE, "TableName": "other"})
        assert [refusal(db, "PutItem", put("a")) is not None for _ in range(300)] == failed


def test_a_disconnect_is_seen_by_clients() -> None:
    with opened(on={"PutItem": {1: "disconnect"}}) as db:
        once = Config(retries={"mode": "standard", "total_max_attempts": 1})
        client = db.boto3_session().client("dynamodb", config=once)
        with pytest.raises(ConnectionClosedError):
            client.put_item(**put("a"))
        assert there(db) == {"a"}


def test_a_client_over_http_retries() -> None:
    on: Any = {"PutItem": {1: "disconnect", 2: "throttle", 3: "error"}, "GetItem": {1: "latency"}}
    faulty = hashrange.connect(settings=Settings(faults=Faults(on=on)))
    with faulty, hashrange.serve(faulty) as server:
        client = boto3.client(
            "dynamodb",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"mode": "standard", "total_max_attempts": 5}),
        )
        client.create_table(**TABLE)
        answer = client.put_item(**put("a"))
        assert answer["ResponseMetadata"]["RetryAttempts"] == 3
        assert "Item" in client.get_item(TableName="table", Key={"pk": {"S": "a"}})


def test_nothing_is_corrupted_with_all_switches_on() -> None:
    """Retried as SDKs do, every write is there once; the stream and the index agree with it."""
    rates = {"throttle": 0.1, "unprocessed": 0.1, "conflict": 0.1, "error": 0.1, "error-after": 0.1}
    settings = Settings(
        faults=Faults(rates=rates | {"disconnect": 0.05}),
        consistency=Eventual(worst=True),
        throughput="enforced",
        partition_bytes=3000,
    )
    random, expected = Random(1), Counter[str]()
    with hashrange.connect(settings=settings) as db:
        while True:
            try:
                db.execute("CreateTable", TABLE)
                break
            except (ApiError, ConnectionError) as error:
                if "already exists" in str(error):
                    break
        for n in range(300):
            pk = str(random.randrange(30))
            while True:
                try:
                    db.execute("PutItem", put(pk, n))
                    break
                except (ApiError, ConnectionError):
                    pass
            expected[pk] = n
        assert list(db.check()) == []
        while True:
            try:
                request = {"TableName": "table", "ConsistentRead": True}
                items = db.execute("Scan", request)["Items"]
                break
            except (ApiError, ConnectionError):
                pass
        assert {item["pk"]["S"]: int(item["n"]["N"]) for item in items} == dict(expected)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"rates": {"fire": 0.1}}, "no fault 'fire'; the faults are throttle, "),
        ({"on": {"PutItem": {1: "fire"}}}, "no fault 'fire'"),
        (
            {"rates": {"error": 2}},
            "the rate of error must be a number of at least 0 and at most 1, not 2",
        ),
        ({"rates": {"error": 0.6, "throttle": 0.6}}, "must add up to at most 1"),
        ({"on": {"PutItem": {0: "error"}}}, "calls of PutItem are counted from 1"),
        ({"on": {"Put": {1: "error"}}}, "set for 'Put', which is not an operation"),
        ({"operations": ("GetItems",)}, "set for 'GetItems', which is not an operation"),
        (
            {"on": {"GetItem": {1: "unprocessed"}}},
            "GetItem cannot have the fault unprocessed; operations that can: "
            "BatchGetItem, BatchWriteItem",
        ),
        ({"latency_seconds": -1}, "latency_seconds must be a number of at least 0"),
    ],
)
def test_faults_that_make_no_sense_are_refused(members: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        hashrange.connect(settings=Settings(faults=Faults(**members)))


def test_faults_are_wanted() -> None:
    wrong: Any = {"throttle": 0.1}
    with pytest.raises(ValueError, match=r"faults must be a Faults, not {'throttle': 0.1}"):
        hashrange.connect(settings=Settings(faults=wrong))


@pytest.mark.parametrize(("given", "rate"), [("throttle", "''"), ("throttle=often", "'often'")])
def test_a_rate_on_the_command_line_is_a_number(given: str, rate: str) -> None:
    command = [sys.executable, "-m", "hashrange", "serve", "--port", "0", "--fault", given]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        "hashrange: --fault: the rate of throttle must be a number of at least 0 and at most 1, "
        f"not {rate}; an example is throttle=0.1\n"
    )
