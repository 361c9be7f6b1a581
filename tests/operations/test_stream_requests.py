"""Refusals of the four operations of streams, and the number of a stream's shards."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange import Database, Settings
from hashrange.model.errors import ApiError

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/table"
ABSENT = f"{TABLE}/stream/2000-01-01T00:00:00.000"
NO_ARN = "ValidationException: Invalid StreamArn"
NO_SHARD = "ResourceNotFoundException: Requested resource not found: Shard does not exist"
MOST = (
    "ValidationException: 1 validation error detected: Value '{}' at 'limit' failed to satisfy "
    "constraint: Member must have value less than or equal to {}"
)
LEAST = (
    "ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy "
    "constraint: Member must have value greater than or equal to 1"
)
NO_NUMBER = "ValidationException: SequenceNumber must be specified when ShardIteratorType is {}"
NUMBER = (
    "ValidationException: One or more parameter values were invalid: SequenceNumber should not be "
    "passed for this iterator type"
)
PROVISIONED = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


def create(db: Database, **parameters: Any) -> str:
    """A table with a stream; the stream's ARN."""
    request = {
        "TableName": "table",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        **(parameters or {"BillingMode": "PAY_PER_REQUEST"}),
    }
    arn: str = db.execute("CreateTable", request)["TableDescription"]["LatestStreamArn"]
    return arn


def shards(db: Database, arn: str) -> list[dict[str, Any]]:
    described = db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    found: list[dict[str, Any]] = described["Shards"]
    return found


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with hashrange.connect() as database:
        create(database)
        yield database


# (operation, its parameters, in which STREAM, SHARD and START stand for those there are; the
# refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ListStreams", {"Limit": 0}, LEAST),
    ("ListStreams", {"Limit": 101}, MOST.format(101, 100)),
    ("ListStreams", {"ExclusiveStartStreamArn": "fake"}, NO_ARN),
    ("ListStreams", {"ExclusiveStartStreamArn": TABLE}, NO_ARN),
    ("DescribeStream", {"StreamArn": "fake-stream"}, NO_ARN),
    ("DescribeStream", {"StreamArn": "f" * 50}, NO_ARN),
    ("DescribeStream", {"StreamArn": TABLE}, NO_ARN),
    (
        "DescribeStream",
        {"StreamArn": ABSENT},
        f"ResourceNotFoundException: Requested resource not found: Stream: {ABSENT} not found",
    ),
    ("DescribeStream", {"StreamArn": "STREAM", "Limit": 101}, MOST.format(101, 100)),
    (
        "GetShardIterator",
        {"StreamArn": "f" * 50, "ShardId": "SHARD", "ShardIteratorType": "LATEST"},
        NO_ARN,
    ),
    (
        "GetShardIterator",
        {"StreamArn": "STREAM", "ShardId": "s" * 40, "ShardIteratorType": "LATEST"},
        NO_SHARD,
    ),
    (
        "GetShardIterator",
        {"StreamArn": "STREAM", "ShardId": "SHARD", "ShardIteratorType": "bulle"},
        "ValidationException: 1 validation error detected: Value 'bulle' at 'shardIteratorType' "
        "failed to satisfy constraint: Member must satisfy enum value set: "
        "[TRIM_HORIZON, LATEST, AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER, AT_TIMESTAMP]",
    ),
    *(
        (
            "GetShardIterator",
            {"StreamArn": "STREAM", "ShardId": "SHARD", "ShardIteratorType": kind},
            NO_NUMBER.format(kind),
        )
        for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    ),
    *(
        (
            "GetShardIterator",
            {
                "StreamArn": "STREAM",
                "ShardId": "SHARD",
                "ShardIteratorType": kind,
                "SequenceNumber": "START",
            },
            NUMBER,
        )
        for kind in ("TRIM_HORIZON", "LATEST")
    ),
    ("GetRecords", {"ShardIterator": "any", "Limit": 1001}, MOST.format(1001, 1000)),
    ("GetRecords", {"ShardIterator": "fake"}, "ValidationException: Invalid ShardIterator"),
]


@pytest.mark.parametrize(("operation", "parameters", "refusal"), REFUSED)
def test_refused(db: Database, operation: str, parameters: dict[str, Any], refusal: str) -> None:
    [stream] = db.execute("ListStreams", {"TableName": "table"})["Streams"]
    shard = shards(db, stream["StreamArn"])[0]
    there = {
        "STREAM": stream["StreamArn"],
        "SHARD": shard["ShardId"],
        "START": shard["SequenceNumberRange"]["StartingSequenceNumber"],
    }
    with pytest.raises(ApiError) as caught:
        db.execute(operation, {key: there.get(it, it) for key, it in parameters.items()})
    assert f"{caught.value.code}: {caught.value.message}" == refusal


def test_the_first_sequence_number_is_a_place(db: Database) -> None:
    [stream] = db.execute("ListStreams", {"TableName": "table"})["Streams"]
    for shard in shards(db, stream["StreamArn"]):
        for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
            request = {
                "StreamArn": stream["StreamArn"],
                "ShardId": shard["ShardId"],
                "ShardIteratorType": kind,
                "SequenceNumber": shard["SequenceNumberRange"]["StartingSequenceNumber"],
            }
            place = db.execute("GetShardIterator", request)["ShardIterator"]
            assert db.execute("GetRecords", {"ShardIterator": place})["Records"] == []


def test_no_stream_is_listed_of_a_table_that_has_none(db: Database) -> None:
    assert db.execute("ListStreams", {"TableName": "absent"}) == {"Streams": []}


def streams_in_pages(db: Database, limit: int, **more: Any) -> list[str]:
    found: list[str] = []
    request: dict[str, Any] = {"Limit": limit, **more}
    while True:
        page = db.execute("ListStreams", request)
        assert len(page["Streams"]) <= limit
        found += [stream["StreamArn"] for stream in page["Streams"]]
        if "LastEvaluatedStreamArn" not in page:
            return found
        assert page["LastEvaluatedStreamArn"] == found[-1]
        request["ExclusiveStartStreamArn"] = found[-1]


def test_streams_are_listed_in_pages() -> None:
    """The latest of a table come first (captured in 2026).

    Labels differ even if a table is created again within a millisecond.
    """
    with hashrange.connect() as db:
        arns: dict[str, list[str]] = {name: [] for name in ("abc", "abc-d", "table")}
        for name in ["table", *arns, "abc", "table"]:
            arns[name].insert(0, create(db, TableName=name, BillingMode="PAY_PER_REQUEST"))
            db.execute("PutItem", {"TableName": name, "Item": {"pk": {"S": "a"}}})
            db.execute("DeleteTable", {"TableName": name})
        every = [*arns["abc-d"], *arns["abc"], *arns["table"]]
        for limit in range(1, len(every) + 2):
            assert streams_in_pages(db, limit) == every
            for name, found in arns.items():
                assert streams_in_pages(db, limit, TableName=name) == found


# (how the table is made, its open shards: as many as it would have partitions)
SHARDS: list[tuple[dict[str, Any], int]] = [
    ({"ProvisionedThroughput": PROVISIONED}, 1),
    ({"ProvisionedThroughput": {"ReadCapacityUnits": 3000, "WriteCapacityUnits": 1000}}, 2),
    ({"ProvisionedThroughput": {"ReadCapacityUnits": 3001, "WriteCapacityUnits": 1}}, 2),
    ({"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2500}}, 3),
    ({"BillingMode": "PAY_PER_REQUEST"}, 4),
]


@pytest.mark.parametrize(("parameters", "count"), SHARDS)
def test_shards_follow_from_throughput(parameters: dict[str, Any], count: int) -> None:
    """Each shard covers its part of the keys, and together they cover all keys."""
    with hashrange.connect(settings=Settings(shard_seconds=3600)) as db:
        arn = create(db, **parameters)
        for number in range(60):
            db.execute("PutItem", {"TableName": "table", "Item": {"pk": {"S": str(number)}}})
        found = []
        for shard in shards(db, arn):
            request = {"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON"}
            place = db.execute("GetShardIterator", {**request, "ShardId": shard["ShardId"]})
            found.append(db.execute("GetRecords", place)["Records"])
        assert len(found) == count
        assert all(found)
        keys = [int(r["dynamodb"]["Keys"]["pk"]["S"]) for records in found for r in records]
        assert sorted(keys) == list(range(60))
