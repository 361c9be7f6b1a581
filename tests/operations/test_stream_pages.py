"""The size of one GetRecords response, and the sequence numbers of records."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange.database.database import Database


@pytest.fixture
def db() -> Iterator[Database]:
    with hashrange.connect() as database:
        yield database


def stream(db: Database) -> str:
    created = db.execute(
        "CreateTable",
        {
            "TableName": "table",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        },
    )
    arn: str = created["TableDescription"]["LatestStreamArn"]
    return arn


def write(db: Database, text: str, count: int) -> None:
    """Changes of one item, and so of one shard."""
    for number in range(count):
        item = {"pk": {"S": "a"}, "n": {"N": str(number)}, "text": {"S": text}}
        db.execute("PutItem", {"TableName": "table", "Item": item})


def pages(db: Database, arn: str) -> list[list[dict[str, Any]]]:
    """Pages of the one shard that has records."""
    found = []
    for shard in db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        kind = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        place = db.execute("GetShardIterator", {"StreamArn": arn, **kind})["ShardIterator"]
        while True:
            page = db.execute("GetRecords", {"ShardIterator": place})
            if not page["Records"]:
                break
            found.append(page["Records"])
            place = page["NextShardIterator"]
    return found


def test_at_most_1_000_records(db: Database) -> None:
    arn = stream(db)
    write(db, "", 1_001)
    assert [len(page) for page in pages(db, arn)] == [1_000, 1]


def test_at_most_1_mb(db: Database) -> None:
    arn = stream(db)
    write(db, "x" * 300_000, 8)
    found = pages(db, arn)
    sizes = [sum(record["dynamodb"]["SizeBytes"] for record in page) for page in found]
    assert sum(map(len, found)) == 8
    assert all(size <= 1_500_000 for size in sizes)
    assert len(found) > 1


def test_sequence_numbers_have_21_to_40_digits_and_rise(db: Database) -> None:
    arn = stream(db)
    write(db, "", 30)
    [page] = pages(db, arn)
    numbers = [record["dynamodb"]["SequenceNumber"] for record in page]
    assert all(number.isdecimal() and 21 <= len(number) <= 40 for number in numbers)
    assert numbers == sorted(numbers, key=int)
    assert len(set(numbers)) == 30
