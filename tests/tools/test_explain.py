"""`hashrange explain` and `Database.explain`: what a request would consume, and why."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hashrange
from hashrange import Database
from hashrange.model.errors import ValidationException

INDEXES = [
    {
        "IndexName": "by-kind",
        "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
]
TABLE = {
    "TableName": "table",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "kind")
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": INDEXES,
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with hashrange.connect(tmp_path / "test.db") as database:
        database.execute("CreateTable", TABLE)
        for number in range(10):
            database.execute("PutItem", put(str(number), kind="k", padding="x" * 5000))
        yield database


def put(pk: str, **attributes: str) -> dict[str, Any]:
    item = {"pk": pk, **attributes}
    return {"TableName": "table", "Item": {name: {"S": text} for name, text in item.items()}}


@pytest.mark.parametrize(
    ("request_", "units", "note"),
    [
        (put("new"), 1, "the item has no entry, because it lacks a key attribute (kind): no write"),
        (put("new", kind="k"), 2, "the entry is added: one write"),
        (put("1"), 6, "the entry is deleted: one write"),
        (put("1", kind="l"), 7, "the entry moves to another key: two writes"),
        (put("1", kind="k"), 5, "no attribute in the entry changes: no write"),
    ],
)
def test_a_write_tells_what_each_index_costs(
    db: Database, request_: dict[str, Any], units: float, note: str
) -> None:
    found = db.explain("PutItem", request_)
    assert found["write_units"] == units
    assert found["notes"] == [f"table, index by-kind: {note}"]
    asked = {**request_, "ReturnConsumedCapacity": "TOTAL"}
    assert db.execute("PutItem", asked)["ConsumedCapacity"]["CapacityUnits"] == units


def test_a_read_tells_what_it_reads_and_what_it_returns(db: Database) -> None:
    request = {
        "TableName": "table",
        "FilterExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "1"}},
    }
    found = db.explain("Scan", request)
    assert (found["rows_read"], found["items_returned"]) == (10, 1)
    assert found["bytes_read"] > 50_000
    assert len(found["consumed"]) == 4, "one for each partition"
    consumed = db.execute("Scan", {**request, "ReturnConsumedCapacity": "TOTAL"})
    assert found["read_units"] == consumed["ConsumedCapacity"]["CapacityUnits"]


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("Scan", {"TableName": "table", "Limit": 3}),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "table"', "Limit": 3}),
    ],
)
def test_a_read_that_has_more_pages_says_so(
    db: Database, operation: str, request_: dict[str, Any]
) -> None:
    found = db.explain(operation, request_)
    assert found["rows_read"] == 3
    assert found["notes"] == ["this is one page of the result; more pages follow"]
    assert db.explain(operation, {**request_, "Limit": 100})["notes"] == []


def test_nothing_is_written(db: Database) -> None:
    before = db.execute("Scan", {"TableName": "table"})
    db.explain("DeleteItem", {"TableName": "table", "Key": {"pk": {"S": "1"}}})
    db.explain("DeleteTable", {"TableName": "table"})
    token = {"ClientRequestToken": "once", "TransactItems": [{"Put": put("t")}]}
    assert db.explain("TransactWriteItems", token)["write_units"] == 2
    assert db.execute("Scan", {"TableName": "table"}) == before
    assert db.execute("TransactWriteItems", token) == {}
    assert "Item" in db.execute("GetItem", {"TableName": "table", "Key": {"pk": {"S": "t"}}})


def test_a_refusal_by_the_state_is_part_of_the_explanation(db: Database) -> None:
    request = {**put("1"), "ConditionExpression": "attribute_not_exists(pk)"}
    error = db.explain("PutItem", request)["error"]
    assert error["message"] == "The conditional request failed"
    with pytest.raises(ValidationException):
        db.explain("PutItem", {"TableName": "table"})


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hashrange", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command(db: Database, tmp_path: Path) -> None:
    path = str(tmp_path / "test.db")
    found = run(path, "SELECT * FROM \"table\" WHERE pk = '1'")
    assert found.stdout.startswith("ExecuteStatement: 1 read unit\n  1 row read (5,0")
    found = run(path, json.dumps({"Scan": {"TableName": "table"}}), "--json")
    assert json.loads(found.stdout)["rows_read"] == 10
    assert "the request would be refused" in run(path, '{"Scan": {"TableName": "absent"}}').stdout


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ("SELECT", "hashrange: ValidationException: "),
        ('{"Scan"', "hashrange: the request is not JSON: "),
        ('{"TableName": "table"}', "hashrange: name the operation: "),
        ('{"Scam": {}}', "hashrange: UnknownOperationException"),
    ],
)
def test_a_mistake_gets_one_line(db: Database, tmp_path: Path, request_: str, told: str) -> None:
    found = run(str(tmp_path / "test.db"), request_)
    assert found.returncode == 1
    assert found.stderr.startswith(told)
    assert found.stderr.count("\n") == 1
