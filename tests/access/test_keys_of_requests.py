"""The condition keys of requests for items, all of them and nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from access_files import USER, access_file, create_things

import hashrange

T = {"TableName": "things"}
A, B = {"pk": {"S": "a"}}, {"pk": {"S": "b"}}
CAPACITY = {"ReturnConsumedCapacity": "TOTAL"}
NAMES = {"ExpressionAttributeNames": {"#x": "x", "#y": "y"}}
WHERE = {**NAMES, "ConditionExpression": "#x <> #y"}
VALUE = {"ExpressionAttributeValues": {":v": {"S": "a"}}}
QUERY = {**T, "KeyConditionExpression": "pk = :v", **VALUE}
BY_OWNER = {
    **T,
    "IndexName": "by_owner",
    "KeyConditionExpression": "#o = :v",
    "ExpressionAttributeNames": {"#o": "owner"},
    **VALUE,
}
MULTI = {
    "TableName": "multi",
    "IndexName": "by_two",
    "KeyConditionExpression": "one = :v AND two = :v",
    **VALUE,
}


def keys(leading: str | None = None, **more: str) -> dict[str, tuple[str, ...]]:
    """Values are separated by blanks."""
    found = {f"dynamodb:{name}": tuple(values.split()) for name, values in more.items()}
    if leading is not None:
        for name in ("leadingkeys", "firstpartitionkeyvalues"):
            found[f"dynamodb:{name}"] = tuple(leading.split())
    return found


ALL, SOME = "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES"
PROJECTED = "ALL_PROJECTED_ATTRIBUTES"
GET = {**T, "Key": A}
WRITTEN = keys("a", attributes="pk x y")
ENCLOSED = {"enclosingoperation": "TransactWriteItems"}
IN_TEXT = {"enclosingoperation": "ExecuteTransaction"}


def text(statement: str) -> dict[str, Any]:
    return {"Statement": statement}


def texts(*statements: str) -> list[dict[str, Any]]:
    return [text(each) for each in statements]


ROWS: list[tuple[str, dict[str, Any], list[dict[str, tuple[str, ...]]]]] = [
    ("GetItem", {**GET, **CAPACITY}, [keys("a", select=ALL, returnconsumedcapacity="TOTAL")]),
    (
        "GetItem",
        {**GET, **NAMES, "ProjectionExpression": "#x.#y"},
        [keys("a", select=SOME, attributes="pk x")],
    ),
    ("GetItem", {"TableName": "numbers", "Key": {"n": {"N": "1.0"}}}, [keys("1", select=ALL)]),
    ("GetItem", {"TableName": "binaries", "Key": {"b": {"B": "YQ=="}}}, [keys("YQ==", select=ALL)]),
    ("PutItem", {**T, "Item": {**A, "z": {"S": "z"}}, **WHERE}, [keys("a", attributes="pk x y z")]),
    (
        "UpdateItem",
        {**GET, **NAMES, "UpdateExpression": "SET #x = #y", "ReturnValues": "ALL_OLD"},
        [keys("a", attributes="pk x y", returnvalues="ALL_OLD")],
    ),
    ("DeleteItem", {**GET, **WHERE}, [WRITTEN]),
    ("Query", QUERY, [keys("a", select=ALL, attributes="pk")]),
    ("Query", {**QUERY, "Select": "COUNT"}, [keys("a", select="COUNT", attributes="pk")]),
    (
        "Query",
        {**QUERY, **NAMES, "FilterExpression": "#x = :v", "ProjectionExpression": "#y"},
        [keys("a", select=SOME, attributes="pk x y")],
    ),
    ("Query", BY_OWNER, [keys("a", select=PROJECTED, attributes="owner")]),
    (
        "Query",
        MULTI,
        [keys("a", select=PROJECTED, attributes="one two", secondpartitionkeyvalues="a")],
    ),
    ("Scan", T, [keys(select=ALL)]),
    (
        "BatchGetItem",
        {"RequestItems": {"things": {"Keys": [A, B], "ProjectionExpression": "x"}}, **CAPACITY},
        [keys("a b", select=SOME, attributes="pk x", returnconsumedcapacity="TOTAL")],
    ),
    (
        "BatchWriteItem",
        {
            "RequestItems": {
                "things": [
                    {"PutRequest": {"Item": {**A, "x": {"S": "x"}}}},
                    {"DeleteRequest": {"Key": B}},
                ]
            }
        },
        [keys("a b", attributes="pk x")],
    ),
    (
        "TransactGetItems",
        {"TransactItems": [{"Get": GET}, {"Get": {**T, "Key": B, "ProjectionExpression": "x"}}]},
        [
            keys("a", select=ALL, enclosingoperation="TransactGetItems"),
            keys("b", select=SOME, attributes="pk x", enclosingoperation="TransactGetItems"),
        ],
    ),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"ConditionCheck": {**GET, **WHERE}},
                {"Delete": {**T, "Key": B}},
            ]
        },
        [WRITTEN | keys(**ENCLOSED), keys("b", attributes="pk", **ENCLOSED)],
    ),
    (
        "ExecuteStatement",
        text("SELECT x FROM things WHERE pk IN ['a', 'b'] AND y = 1 ORDER BY z"),
        [keys("a b", select=SOME, attributes="pk x y z", fulltablescan="false")],
    ),
    ("ExecuteStatement", text("SELECT * FROM things"), [keys(select=ALL, fulltablescan="true")]),
    (
        "ExecuteStatement",
        text("SELECT * FROM things.by_owner WHERE \"owner\" = 'a'"),
        [keys("a", select=PROJECTED, attributes="owner", fulltablescan="false")],
    ),
    (
        "ExecuteStatement",
        text("INSERT INTO things VALUE {'pk': 'a', 'x': 1}"),
        [keys("a", attributes="pk x")],
    ),
    (
        "ExecuteStatement",
        text("UPDATE things SET x = 1 WHERE pk = 'a' AND y = 1 RETURNING MODIFIED OLD *"),
        [WRITTEN | keys(returnvalues="UPDATED_OLD")],
    ),
    (
        "ExecuteStatement",
        text("DELETE FROM things WHERE pk = 'a' AND x = 1 RETURNING ALL OLD *"),
        [keys("a", attributes="pk x", returnvalues="ALL_OLD")],
    ),
    (
        "BatchExecuteStatement",
        {
            "Statements": texts(
                "SELECT * FROM things WHERE pk = 'a'", "SELECT * FROM things WHERE pk = 'b'"
            )
        },
        [keys(each, select=ALL, attributes="pk", fulltablescan="false") for each in "ab"],
    ),
    (
        "ExecuteTransaction",
        {
            "TransactStatements": texts(
                "EXISTS(SELECT * FROM things WHERE pk = 'a' AND x = 1)",
                "DELETE FROM things WHERE pk = 'b'",
            )
        },
        [
            keys("a", select=ALL, attributes="pk x", fulltablescan="false", **IN_TEXT),
            keys("b", attributes="pk", **IN_TEXT),
        ],
    ),
]


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[hashrange.Database]:
    settings = hashrange.Settings(access=access_file(folder, {"ann": ""}))
    with hashrange.connect(settings=settings) as opened:
        create_things(opened)
        create(opened, "numbers", {"n": "N"}, "n")
        create(opened, "binaries", {"b": "B"}, "b")
        two = [{"AttributeName": each, "KeyType": "HASH"} for each in ("one", "two")]
        index = {
            "IndexName": "by_two",
            "KeySchema": two,
            "Projection": {"ProjectionType": "ALL"},
        }
        types = {"pk": "S", "one": "S", "two": "S"}
        create(opened, "multi", types, "pk", GlobalSecondaryIndexes=[index])
        yield opened


def create(
    database: hashrange.Database, name: str, types: dict[str, str], key: str, **more: Any
) -> None:
    request = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": each, "AttributeType": kind} for each, kind in types.items()
        ],
        "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        **more,
    }
    database.execute("CreateTable", request)


@pytest.mark.parametrize(("operation", "request_", "expected"), ROWS)
def test_condition_keys(
    database: hashrange.Database,
    operation: str,
    request_: dict[str, Any],
    expected: list[dict[str, tuple[str, ...]]],
) -> None:
    asked = database.explain(operation, request_, principal=f"{USER}ann")["access"]
    found = [
        {
            key: values
            for key, values in each["condition_keys"].items()
            if key.startswith("dynamodb:")
        }
        for each in asked
    ]
    assert found == expected
