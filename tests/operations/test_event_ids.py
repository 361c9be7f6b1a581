"""Event ids are unique in a database, sequence numbers in a stream, over every store."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from subprocess import PIPE
from typing import Any

import pytest
from every_store import address

import hashrange
from hashrange import Database

__all__ = ["address"]  # a fixture
TABLES = ("one", "two")


@pytest.fixture
def db(address: str | None) -> Iterator[Database]:
    with hashrange.connect(address) as database:
        yield database


def create(db: Database, name: str) -> str:
    request = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    }
    arn: str = db.execute("CreateTable", request)["TableDescription"]["LatestStreamArn"]
    return arn


def put(db: Database, first: int) -> None:
    for number in range(first, first + 40):
        for name in TABLES:
            item = {"pk": {"S": f"p{number}"}}
            db.execute("PutItem", {"TableName": name, "Item": item})


def shards(db: Database, arn: str) -> dict[str, list[dict[str, Any]]]:
    """The records of each shard of a stream, by its id."""
    described = db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    found = {}
    for shard in described["Shards"]:
        at = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = db.execute("GetShardIterator", at)["ShardIterator"]
        records = db.execute("GetRecords", {"ShardIterator": iterator})["Records"]
        found[shard["ShardId"]] = records
    return found


def sequence_numbers(records: list[dict[str, Any]]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in records]


def repeated(values: list[Any]) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_ids_and_sequence_numbers_are_unique(db: Database) -> None:
    """Also after a split, which closes shards and opens others."""
    arns = [create(db, name) for name in TABLES]
    put(db, 0)
    warm = {"ReadUnitsPerSecond": 24_000, "WriteUnitsPerSecond": 8_000}
    db.execute("UpdateTable", {"TableName": "one", "WarmThroughput": warm})
    while any("EndingSequenceNumber" in each for each in _ranges(db, arns[0])) is False:
        put(db, 0)
    put(db, 40)
    streams = [shards(db, arn) for arn in arns]
    ids = [r["eventID"] for found in streams for records in found.values() for r in records]
    assert len(ids) >= 160
    assert not repeated(ids)
    for found in streams:
        assert not repeated([n for records in found.values() for n in sequence_numbers(records)])
        for records in found.values():
            assert all(one < other for one, other in pairwise(sequence_numbers(records)))


WRITER = """
import os
import sys
import hashrange

with hashrange.connect(sys.argv[1]) as db:
    for number in range(1_000_000):
        for name in "one", "two":
            item = {"pk": {"S": f"p{number % 50}"}, "v": {"S": f"{os.getpid()} {number}"}}
            db.execute("PutItem", {"TableName": name, "Item": item})
        print(flush=True)
"""


def test_ids_are_unique_after_kills(address: str | None) -> None:
    if address is None:
        pytest.skip("a database in memory ends with its process")
    with hashrange.connect(address) as db:
        arns = [create(db, name) for name in TABLES]
    acknowledged = 0
    for writes in 7, 30, 19:
        with subprocess.Popen([sys.executable, "-c", WRITER, address], stdout=PIPE) as writer:
            assert writer.stdout
            for _ in range(writes):
                assert writer.stdout.readline()
            writer.kill()
        acknowledged += writes
    with hashrange.connect(address) as db:
        put(db, 0)
        streams = [[r for records in shards(db, arn).values() for r in records] for arn in arns]
    for records in streams:
        assert len(records) >= acknowledged + 40
        assert not repeated(sequence_numbers(records))
    assert not repeated([record["eventID"] for records in streams for record in records])


def _ranges(db: Database, arn: str) -> list[dict[str, Any]]:
    described = db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    return [shard["SequenceNumberRange"] for shard in described["Shards"]]


def test_a_sequence_number_leads_to_its_record(db: Database) -> None:
    arn = create(db, "one")
    create(db, "two")
    put(db, 0)
    for shard, records in shards(db, arn).items():
        for place, record in enumerate(records):
            number = record["dynamodb"]["SequenceNumber"]
            for kind, first in (
                ("AT_SEQUENCE_NUMBER", place),
                ("AFTER_SEQUENCE_NUMBER", place + 1),
            ):
                at = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind}
                iterator = db.execute("GetShardIterator", {**at, "SequenceNumber": number})
                read = db.execute("GetRecords", {"ShardIterator": iterator["ShardIterator"]})
                assert read["Records"] == records[first:]


def test_a_sequence_number_of_an_earlier_version_skips_nothing(db: Database) -> None:
    """It had the number of the record where the slot is now."""
    arn = create(db, "one")
    create(db, "two")
    put(db, 0)
    for shard, records in shards(db, arn).items():
        for place, record in enumerate(records):
            milliseconds = int(record["dynamodb"]["SequenceNumber"]) >> 64
            number = int(record["eventID"][-16:], 16)
            at = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "AFTER_SEQUENCE_NUMBER"}
            old = {"SequenceNumber": str((milliseconds << 64) + number)}
            iterator = db.execute("GetShardIterator", {**at, **old})["ShardIterator"]
            read = db.execute("GetRecords", {"ShardIterator": iterator})["Records"]
            later = records[place + 1 :]
            assert read[len(read) - len(later) :] == later
