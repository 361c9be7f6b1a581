"""Number sets are shown ascending by some operations, and in the order of a hash set by others.

Orders captured in October 2026; three regions of 33 show those of a Scan ascending, and two those
of transactions.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange.model import numbers
from hashrange.model.errors import (
    ConditionalCheckFailedException,
    TransactionCanceledException,
)
from hashrange.operations.common.number_sets import hash_order

Item = dict[str, Any]
Show = Callable[[hashrange.Database, Item], Item]

TABLE = "sets"
KEY = {"pk": {"S": "a"}}
SELECT = {"Statement": f"SELECT * FROM \"{TABLE}\" WHERE pk = 'a'"}
TINY = f"0.{'0' * 129}1"
NINES = "9" * 38
# fmt: off
CAPTURED = [
    (
        ["100", "-1", "10", "0.5", "9", "5", "-10", "-0.5", "0", "1000", "25", "2.5", "-0.00001",
         "10000000000", NINES, f"-{TINY}", TINY],
        ["0", TINY, f"-{TINY}", "25", NINES, "2.5", "10000000000", "9", "-0.5", "-0.00001", "5",
         "0.5", "1000", "100", "-1", "10", "-10"],
    ),
    (
        ["100", "-1", "10", "0.5", "9", "5", "-10", "-0.5", "0", "1000", "25", "2.5"],
        ["0", "9", "25", "2.5", "-0.5", "5", "0.5", "1000", "100", "-1", "10", "-10"],
    ),
    (["3", "1", "2"], ["3", "2", "1"]),
    (["20", "3", "100"], ["3", "20", "100"]),
]
# fmt: on


@pytest.mark.parametrize(("members", "expected"), CAPTURED)
def test_captured_orders(members: list[str], expected: list[str]) -> None:
    assert hash_order(sorted(members, key=Decimal)) == expected


@pytest.fixture(scope="module")
def database() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        database.execute(
            "CreateTable",
            {
                "TableName": TABLE,
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
                "StreamSpecification": {
                    "StreamEnabled": True,
                    "StreamViewType": "NEW_AND_OLD_IMAGES",
                },
            },
        )
        yield database


def _failed(database: hashrange.Database, operation: str, request: Any) -> Any:
    with pytest.raises((ConditionalCheckFailedException, TransactionCanceledException)) as caught:
        database.execute(operation, request)
    return caught.value.members


# ---- ascending ----


def get_item(database: hashrange.Database, item: Item) -> Item:
    found: Item = database.execute("GetItem", {"TableName": TABLE, "Key": KEY})["Item"]
    return found


def batch_get_item(database: hashrange.Database, item: Item) -> Item:
    request = {"RequestItems": {TABLE: {"Keys": [KEY]}}}
    found: Item = database.execute("BatchGetItem", request)["Responses"][TABLE][0]
    return found


def query(database: hashrange.Database, item: Item) -> Item:
    request = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": KEY["pk"]},
    }
    found: Item = database.execute("Query", request)["Items"][0]
    return found


def put_item(database: hashrange.Database, item: Item) -> Item:
    request = {"TableName": TABLE, "Item": item, "ReturnValues": "ALL_OLD"}
    found: Item = database.execute("PutItem", request)["Attributes"]
    return found


def update_item(database: hashrange.Database, item: Item) -> Item:
    request = {"TableName": TABLE, "Key": KEY, "ReturnValues": "ALL_NEW"}
    found: Item = database.execute("UpdateItem", request)["Attributes"]
    return found


def failed_put(database: hashrange.Database, item: Item) -> Item:
    request = {
        "TableName": TABLE,
        "Item": KEY,
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    found: Item = _failed(database, "PutItem", request)["Item"]
    return found


# ---- hashed ----


def scan(database: hashrange.Database, item: Item) -> Item:
    found: Item = database.execute("Scan", {"TableName": TABLE})["Items"][0]
    return found


def filtered_scan(database: hashrange.Database, item: Item) -> Item:
    request = {"TableName": TABLE, "FilterExpression": "attribute_exists(pk)"}
    found: Item = database.execute("Scan", request)["Items"][0]
    return found


def transact_get_items(database: hashrange.Database, item: Item) -> Item:
    request = {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}]}
    found: Item = database.execute("TransactGetItems", request)["Responses"][0]["Item"]
    return found


def cancelled_check(database: hashrange.Database, item: Item) -> Item:
    check = {
        "TableName": TABLE,
        "Key": KEY,
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    request = {"TransactItems": [{"ConditionCheck": check}]}
    found: Item = _failed(database, "TransactWriteItems", request)["CancellationReasons"][0]["Item"]
    return found


def execute_statement(database: hashrange.Database, item: Item) -> Item:
    found: Item = database.execute("ExecuteStatement", SELECT)["Items"][0]
    return found


def returning(database: hashrange.Database, item: Item) -> Item:
    text = f"UPDATE \"{TABLE}\" SET u = 1 WHERE pk = 'a' RETURNING ALL OLD *"
    found: Item = database.execute("ExecuteStatement", {"Statement": text})["Items"][0]
    return found


def failed_statement(database: hashrange.Database, item: Item) -> Item:
    request = {
        "Statement": f"UPDATE \"{TABLE}\" SET u = 1 WHERE pk = 'a' AND attribute_exists(nope)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    found: Item = _failed(database, "ExecuteStatement", request)["Item"]
    return found


def batch_execute_statement(database: hashrange.Database, item: Item) -> Item:
    answered = database.execute("BatchExecuteStatement", {"Statements": [SELECT]})
    found: Item = answered["Responses"][0]["Item"]
    return found


def failed_member(database: hashrange.Database, item: Item) -> Item:
    member = {
        "Statement": f"DELETE FROM \"{TABLE}\" WHERE pk = 'a' AND attribute_exists(nope)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    answered = database.execute("BatchExecuteStatement", {"Statements": [member]})
    found: Item = answered["Responses"][0]["Error"]["Item"]
    return found


def execute_transaction(database: hashrange.Database, item: Item) -> Item:
    answered = database.execute("ExecuteTransaction", {"TransactStatements": [SELECT]})
    found: Item = answered["Responses"][0]["Item"]
    return found


def get_records(database: hashrange.Database, item: Item) -> Item:
    """The image that the latest record of the table's only item has."""
    arn = database.execute("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    stream = database.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    records = []
    for shard in stream["Shards"]:
        request = {
            "StreamArn": arn,
            "ShardId": shard["ShardId"],
            "ShardIteratorType": "TRIM_HORIZON",
        }
        iterator = database.execute("GetShardIterator", request)["ShardIterator"]
        while True:
            page = database.execute("GetRecords", {"ShardIterator": iterator})
            if not page["Records"]:
                break
            records += page["Records"]
            iterator = page["NextShardIterator"]
    found: Item = records[-1]["dynamodb"]["NewImage"]
    return found


ASCENDING: list[Show] = [get_item, batch_get_item, query, put_item, update_item, failed_put]
HASHED: list[Show] = [
    scan,
    filtered_scan,
    transact_get_items,
    cancelled_check,
    execute_statement,
    returning,
    failed_statement,
    batch_execute_statement,
    failed_member,
    execute_transaction,
    get_records,
]

NUMBERS = st.one_of(
    st.integers(-200, 200).map(str),
    st.builds(
        "{}{}e{}".format, st.sampled_from(["", "-"]), st.integers(1, 9999), st.integers(-9, 9)
    ),
)
SETS = st.lists(NUMBERS, min_size=1, max_size=40, unique_by=numbers.canonical)
PLACES: list[Callable[[Item], Item]] = [
    lambda value: {"x": value},
    lambda value: {"NS": value},
    lambda value: {"m": {"M": {"NS": value, 'a"NS': value}}},
    lambda value: {"l": {"L": [{"S": '"NS":["1","2"]'}, {"L": [value]}, value]}},
]


def _number_sets(content: Any) -> Iterator[list[str]]:
    if isinstance(content, dict):
        for name, inner in content.items():
            if name == "NS" and isinstance(inner, list):
                yield inner
            else:
                yield from _number_sets(inner)
    if isinstance(content, list):
        for inner in content:
            yield from _number_sets(inner)


@given(SETS, st.sampled_from(PLACES))
@settings(max_examples=60)
def test_every_operation_and_place(
    database: hashrange.Database, members: list[str], place: Callable[[Item], Item]
) -> None:
    item = {**KEY, **place({"NS": members})}
    database.execute("PutItem", {"TableName": TABLE, "Item": item})
    ascending = sorted(map(numbers.canonical, members), key=Decimal)
    for shows, expected in ((ASCENDING, ascending), (HASHED, hash_order(ascending))):
        for show in shows:
            found = show(database, item)
            sets = list(_number_sets(found))
            assert sets, show.__name__
            assert all(each == expected for each in sets), show.__name__
            assert {**found, "u": 0}.keys() == {**item, "u": 0}.keys()
