"""Writes that are refused for a condition consume the units of the items as they are.

Captured on the service in 2026, by CloudWatch's ConsumedWriteCapacityUnits: what the items would
have become does not matter, and each member of a cancelled transaction consumes twice that.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random
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


# ---- explained ----


@pytest.mark.parametrize("seed", range(3))
def test_what_is_explained_is_what_is_charged(db: Database, seed: int) -> None:
    """Requests of each kind, most of which fail: `explain` tells the same units and error."""
    random = Random(seed)
    outcomes = Counter[tuple[str, bool]]()
    for number in range(150):
        operation, request = _any_request(random, f"token {number}")
        explained = db.explain(operation, request)
        for repeated in range(2 if "ClientRequestToken" in request else 1):
            before = _units(db)
            try:
                db.execute(operation, request)
                error = None
            except ApiError as refusal:
                error = refusal.body()
            if not repeated:  # repeating a transaction consumes reads, or nothing if it failed
                assert explained["error"] == error, request
                assert (explained["read_units"], explained["write_units"]) == tuple(
                    after - old for after, old in zip(_units(db), before, strict=True)
                ), request
                outcomes[operation, error is None] += 1
            elif error is not None:
                assert explained["error"] == error == db.explain(operation, request)["error"]
    assert {operation for operation, succeeded in outcomes if not succeeded} >= {
        *("PutItem", "UpdateItem", "DeleteItem", "ExecuteStatement"),
        *("TransactWriteItems", "ExecuteTransaction"),
    }


def _any_request(random: Random, token: str) -> tuple[str, dict[str, Any]]:
    operation = random.choice(
        [
            *("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"),
            *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
        ]
    )
    request: dict[str, Any]
    if operation == "ExecuteStatement":
        return operation, _any_statement(random)
    if operation in ("BatchExecuteStatement", "ExecuteTransaction"):
        member = "Statements" if operation == "BatchExecuteStatement" else "TransactStatements"
        keys = random.sample(KEYS, random.randrange(1, 4))
        request = {member: [_any_statement(random, key) for key in keys]}
    elif operation == "TransactWriteItems":
        keys = random.sample(KEYS, random.randrange(1, 4))
        request = {"TransactItems": [_any_action(random, key) for key in keys]}
    else:
        [(_, request)] = _any_action(random, random.choice(KEYS), operation[:-4]).items()
        return operation, request
    if operation != "BatchExecuteStatement" and random.random() < 0.5:
        request["ClientRequestToken"] = token
    return operation, request


KEYS = ["small", "large", *map(str, range(6))]


def _any_action(random: Random, key: str, kind: str | None = None) -> dict[str, Any]:
    kind = kind or random.choice(["Put", "Update", "Delete", "ConditionCheck"])
    fails = random.choice([FAILS, {"ConditionExpression": "attribute_exists(pk)"}])
    condition = fails if kind == "ConditionCheck" or random.random() < 0.7 else {}
    size = {"S": "x" * random.choice([1, 2000, 9000])}
    if kind == "Put":
        return {kind: put(key, size, **condition)}
    return {kind: (update(key, size) if kind == "Update" else delete(key)) | condition}


def _any_statement(random: Random, key: str | None = None) -> dict[str, Any]:
    key = key or random.choice(KEYS)
    size = {"S": "x" * random.choice([1, 2000, 9000])}
    if random.random() < 0.5:
        return insert(key, size)
    text = 'UPDATE "table" SET "size" = ? WHERE pk = ? AND attribute_exists(absent)'
    return {"Statement": text, "Parameters": [size, {"S": key}]}


def _units(db: Database) -> tuple[float, float]:
    [report] = db.runtime.usage()
    return report.read_units, report.write_units
