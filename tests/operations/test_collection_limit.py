"""The limit of item collections, which a setting brings within reach: all items and local index
entries of one partition key together, in tables with local indexes."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange.database.database import Database
from hashrange.model.errors import (
    ApiError,
    ItemCollectionSizeLimitExceededException,
    TransactionCanceledException,
)

LIMIT = 10_000
TABLE = {"TableName": "local"}
REFUSAL = "^Collection size exceeded.$"


@pytest.fixture
def db() -> Iterator[Database]:
    settings = hashrange.Settings(collection_bytes_max=LIMIT)
    names = {"pk": "HASH", "sk": "RANGE"}
    table: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in (*names, "other")
        ],
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in names.items()],
        "BillingMode": "PAY_PER_REQUEST",
    }
    index = {
        "IndexName": "byOther",
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "other", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }
    with hashrange.connect(settings=settings) as database:
        database.execute("CreateTable", {**TABLE, **table, "LocalSecondaryIndexes": [index]})
        plain = {**table, "AttributeDefinitions": table["AttributeDefinitions"][:2]}
        database.execute("CreateTable", {**plain, "TableName": "plain"})
        yield database


def item(sk: str, bytes_: int, pk: str = "a", **more: str) -> dict[str, Any]:
    """Of about this size."""
    texts = {"pk": pk, "sk": sk, "text": "x" * bytes_, **more}
    return {name: {"S": text} for name, text in texts.items()}


def put(db: Database, new: dict[str, Any], table: str = "local") -> None:
    db.execute("PutItem", {"TableName": table, "Item": new})


def test_a_collection_does_not_grow_beyond_its_limit(db: Database) -> None:
    put(db, item("1", 6_000))
    with pytest.raises(ItemCollectionSizeLimitExceededException, match=REFUSAL):
        put(db, item("2", 6_000))
    put(db, item("2", 3_000))
    growth = {
        "UpdateExpression": "SET more = :v",
        "ExpressionAttributeValues": {":v": {"S": "x" * 2_000}},
    }
    key = {"pk": {"S": "a"}, "sk": {"S": "2"}}
    with pytest.raises(ItemCollectionSizeLimitExceededException, match=REFUSAL):
        db.execute("UpdateItem", {**TABLE, "Key": key, **growth})
    assert db.execute("Scan", {**TABLE, "Select": "COUNT"})["Count"] == 2


def test_entries_of_the_local_index_count(db: Database) -> None:
    with pytest.raises(ItemCollectionSizeLimitExceededException, match=REFUSAL):
        put(db, item("1", 6_000, other="x"))
    put(db, item("1", 4_000, other="x"))


def test_shrinking_and_deleting_are_allowed(db: Database) -> None:
    put(db, item("1", 9_000))
    put(db, item("1", 8_000))
    db.execute("DeleteItem", {**TABLE, "Key": {"pk": {"S": "a"}, "sk": {"S": "1"}}})
    put(db, item("2", 9_000))


def test_other_collections_are_not_affected(db: Database) -> None:
    put(db, item("1", 9_000))
    put(db, item("1", 9_000, pk="b"))
    for number in range(3):
        put(db, item(str(number), 9_000), "plain")


def test_a_batch_is_refused_and_a_transaction_cancelled(db: Database) -> None:
    put(db, item("1", 6_000))
    new = item("2", 6_000)
    with pytest.raises(ApiError, match=REFUSAL):
        db.execute("BatchWriteItem", {"RequestItems": {"local": [{"PutRequest": {"Item": new}}]}})
    with pytest.raises(TransactionCanceledException) as cancelled:
        db.execute("TransactWriteItems", {"TransactItems": [{"Put": {**TABLE, "Item": new}}]})
    [reason] = cancelled.value.body()["CancellationReasons"]
    assert reason["Code"] == "ItemCollectionSizeLimitExceeded"
    assert db.execute("Scan", {**TABLE, "Select": "COUNT"})["Count"] == 1
