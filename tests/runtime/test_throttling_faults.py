"""The faults that throttle: each operation gets the error that it would get under load."""

from typing import Any

import pytest
from test_faults import TABLE, put

import hashrange
from hashrange import Database, Faults, Settings
from hashrange.model.errors import ApiError
from hashrange.testing import TestClock

KEY = {"pk": {"S": "a"}}
ON = {"TableName": "table"}
QUERY = {
    **ON,
    "IndexName": "by-kind",
    "KeyConditionExpression": "kind = :k",
    "ExpressionAttributeValues": {":k": {"S": "k"}},
}
SELECT, INSERT = "SELECT * FROM \"table\" WHERE pk = 'a'", "INSERT INTO \"table\" VALUE {'pk': 'b'}"
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("GetItem", {**ON, "Key": KEY}, "TableRead"),
    ("BatchGetItem", {"RequestItems": {"table": {"Keys": [KEY]}}}, "TableRead"),
    ("Query", QUERY, "IndexRead"),
    ("Scan", ON, "TableRead"),
    ("Scan", {**ON, "IndexName": "by-kind"}, "IndexRead"),
    ("TransactGetItems", {"TransactItems": [{"Get": {**ON, "Key": KEY}}]}, "TableRead"),
    ("ExecuteStatement", {"Statement": SELECT}, "TableRead"),
    ("ExecuteTransaction", {"TransactStatements": [{"Statement": SELECT}]}, "TableRead"),
    ("PutItem", put("a"), "TableWrite"),
    ("UpdateItem", {**ON, "Key": KEY}, "TableWrite"),
    ("DeleteItem", {**ON, "Key": KEY}, "TableWrite"),
    ("BatchWriteItem", {"RequestItems": {"table": [{"PutRequest": {"Item": KEY}}]}}, "TableWrite"),
    ("TransactWriteItems", {"TransactItems": [{"Put": put("a")}]}, "TableWrite"),
    ("ExecuteStatement", {"Statement": INSERT}, "TableWrite"),
    ("ExecuteTransaction", {"TransactStatements": [{"Statement": INSERT}]}, "TableWrite"),
]


def opened(fault: str, operation: str, throughput: Any = "measured") -> Database:
    faults = Faults(on={operation: {1: fault, 2: fault}})
    db = hashrange.connect(settings=Settings(faults=faults, throughput=throughput))
    db.execute("CreateTable", TABLE)
    return db


def reasons(error: dict[str, Any]) -> list[str]:
    found = error.get("ThrottlingReasons") or error["throttlingReasons"]
    return [each["reason"] for each in found]


@pytest.mark.parametrize(("operation", "request_", "direction"), CASES)
@pytest.mark.parametrize(
    ("fault", "limit", "type_"),
    [
        ("throttle", "KeyRangeThroughputExceeded", "ThrottlingException"),
        ("account-limit", "AccountLimitExceeded", "RequestLimitExceeded"),
    ],
)
def test_the_reason_names_what_was_read_or_written(
    fault: str, limit: str, type_: str, operation: str, request_: dict[str, Any], direction: str
) -> None:
    with opened(fault, operation) as db:
        with pytest.raises(ApiError) as caught:
            db.execute(operation, request_)
        body = caught.value.body()
        assert body["__type"].endswith(f"#{type_}")
        assert reasons(body) == [f"{direction}{limit}"]
        [report] = [report for report in db.runtime.usage() if report.throttled]
        assert report.throttled == {f"{direction}{limit}": 1}
        assert (report.index is not None) == direction.startswith("Index")
        assert (report.read_throttles, report.write_throttles) == (
            (1, 0) if "Read" in direction else (0, 1)
        )
        assert db.execute("DescribeTable", ON)["Table"]["ItemCount"] == 0


def test_members_of_a_batch_of_statements_are_refused_one_by_one() -> None:
    statements = {
        "Statements": [{"Statement": INSERT}, {"Statement": INSERT.replace("'b'", "'c'")}]
    }
    for fault, code in (("throttle", "ThrottlingError"), ("account-limit", "RequestLimitExceeded")):
        with opened(fault, "BatchExecuteStatement") as db:
            answers = db.execute("BatchExecuteStatement", statements)["Responses"]
            assert [each["Error"]["Code"] for each in answers] == [code, code]
            assert all("ThrottlingReasons" not in each["Error"] for each in answers)
            assert db.execute("Scan", ON)["Count"] == 0


def test_a_mistake_is_told_before_a_fault() -> None:
    with opened("throttle", "PutItem") as db:
        for request, told in (
            ({**ON, "Item": {}}, "Missing the key pk in the item"),
            ({**put("a"), "TableName": "other"}, "Requested resource not found"),
        ):
            with pytest.raises(ApiError, match=told):
                db.execute("PutItem", request)


def test_members_that_are_throttled_are_unprocessed_beside_those_of_the_fault() -> None:
    """Otherwise a client would take what it lacks as written, or as absent."""
    for seed in range(5):
        faults = Faults(seed=seed, rates={"unprocessed": 1.0}, operations=("BatchWriteItem",))
        settings = Settings(
            faults=faults, throughput="enforced", partition_write_units=3, partition_read_units=3
        )
        keys = [{"pk": {"S": str(number)}} for number in range(10)]
        with hashrange.connect(clock=TestClock(1_800_000_000), settings=settings) as db:
            db.execute("CreateTable", TABLE)
            puts = [{"PutRequest": {"Item": key}} for key in keys]
            answer = db.execute("BatchWriteItem", {"RequestItems": {"table": puts}})
            left = answer["UnprocessedItems"]["table"]
            stored = db.execute("Scan", {**ON, "ConsistentRead": True})["Items"]
        assert by_key([put["PutRequest"]["Item"] for put in left] + stored) == by_key(keys)


def test_keys_that_are_throttled_are_unprocessed_beside_those_of_the_fault() -> None:
    for seed in range(5):
        faults = Faults(seed=seed, rates={"unprocessed": 1.0}, operations=("BatchGetItem",))
        settings = Settings(faults=faults, throughput="enforced", partition_read_units=2)
        keys = [{"pk": {"S": str(number)}} for number in range(10)]
        with hashrange.connect(clock=TestClock(1_800_000_000), settings=settings) as db:
            db.execute("CreateTable", TABLE)
            for key in keys:
                db.execute("PutItem", {**ON, "Item": key})
            wanted = {"table": {"Keys": keys, "ConsistentRead": True}}
            answer = db.execute("BatchGetItem", {"RequestItems": wanted})
        left = answer["UnprocessedKeys"]["table"]
        assert left["ConsistentRead"]
        assert by_key(left["Keys"] + answer["Responses"]["table"]) == by_key(keys)


def by_key(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["pk"]["S"] for item in items)
