"""Writes that are refused for a condition consume the units of the items as they are.

Captured on the service in 2026, by CloudWatch's ConsumedWriteCapacityUnits: what the items would
have become does not matter, and each member of a cancelled transaction consumes twice that.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange import Database, Settings
from hashrange.model.errors import ApiError

TABLE = {
    "TableName": "table",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
SMALL, LARGE = {"S": "x" * 400}, {"S": "x" * 9000}
ON = {"TableName": "table"}
FAILS = {"ConditionExpression": "attribute_exists(absent)"}


@pytest.fixture(params=["measured", "enforced"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    with hashrange.connect(settings=Settings(throughput=request.param)) as db:
        db.execute("CreateTable", TABLE)
        for pk, size in (("small", SMALL), ("large", LARGE)):
            db.execute("PutItem", put(pk, size))
        yield db


def put(pk: str, size: Any, **more: Any) -> dict[str, Any]:
    return {**ON, "Item": {"pk": {"S": pk}, "size": size}, **more}


def update(pk: str, size: Any, **more: Any) -> dict[str, Any]:
    changed = {"UpdateExpression": "SET #s = :s", "ExpressionAttributeNames": {"#s": "size"}}
    return {**delete(pk), **changed, "ExpressionAttributeValues": {":s": size}, **more}


def delete(pk: str, **more: Any) -> dict[str, Any]:
    return {**ON, "Key": {"pk": {"S": pk}}, **more}


def insert(pk: str, size: Any) -> dict[str, Any]:
    parameters = [{"S": pk}, size]
    text = "INSERT INTO \"table\" VALUE {'pk': ?, 'size': ?}"
    return {"Statement": text, "Parameters": parameters}


def consumed(db: Database, operation: str, request: dict[str, Any]) -> float:
    """The write units of a request, which may be refused."""

    def units() -> float:
        return sum(report.write_units for report in db.runtime.usage())

    before = units()
    try:
        db.execute(operation, request)
    except ApiError:
        assert db.execute("Scan", ON)["Count"] == 2
    return units() - before


@pytest.mark.parametrize(
    ("operation", "request_", "units"),
    [
        ("PutItem", put("small", LARGE, **FAILS), 1),
        ("PutItem", put("large", SMALL, **FAILS), 9),
        ("PutItem", put("none", LARGE, **FAILS), 1),
        ("UpdateItem", update("small", LARGE, **FAILS), 1),
        ("UpdateItem", update("large", SMALL, **FAILS), 9),
        ("DeleteItem", delete("large", **FAILS), 9),
        ("ExecuteStatement", insert("small", LARGE), 1),
        ("ExecuteStatement", insert("large", SMALL), 9),
        ("PutItem", put("", LARGE, **FAILS), 0),
        ("UpdateItem", update("small", SMALL, UpdateExpression="SET size = pk + :s"), 0),
    ],
)
def test_a_single_write(
    db: Database, operation: str, request_: dict[str, Any], units: float
) -> None:
    assert consumed(db, operation, request_) == units


def test_a_batch_of_statements(db: Database) -> None:
    failing = [insert("small", LARGE), insert("large", SMALL)]
    assert consumed(db, "BatchExecuteStatement", {"Statements": failing}) == 10
    every = [*failing, insert("new", LARGE)]
    assert consumed(db, "BatchExecuteStatement", {"Statements": every}) == 19


@pytest.mark.parametrize("token", [{}, {"ClientRequestToken": "token"}])
@pytest.mark.parametrize(
    ("members", "units"),
    [
        ([{"Update": update("small", LARGE, **FAILS)}], 2),
        ([{"Put": put("small", SMALL, **FAILS)}, {"Update": update("large", SMALL)}], 20),
        ([{"Delete": delete("large")}, {"Put": put("small", LARGE, **FAILS)}], 20),
        ([{"ConditionCheck": delete("large", **FAILS)}], 18),
        ([{"Put": put("new", LARGE)}, {"Put": put("small", LARGE, **FAILS)}], 4),
    ],
)
def test_a_cancelled_transaction(
    db: Database, members: list[dict[str, Any]], units: float, token: dict[str, str]
) -> None:
    assert consumed(db, "TransactWriteItems", {"TransactItems": members, **token}) == units


def test_a_cancelled_transaction_of_statements(db: Database) -> None:
    request = {"TransactStatements": [insert("new", LARGE), insert("large", SMALL)]}
    assert consumed(db, "ExecuteTransaction", request) == 20
