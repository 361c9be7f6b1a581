"""Streams: every change once, in order per item, through shards that roll over."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange import Database, Settings
from hashrange.model.errors import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from hashrange.testing import TestClock

DAY = 24 * 60 * 60
SHARD_SECONDS = 100
START = 1_800_000_000.0


@pytest.fixture
def time() -> TestClock:
    return TestClock(START)


@pytest.fixture
def db(time: TestClock) -> Iterator[Database]:
    settings = Settings(shard_seconds=SHARD_SECONDS)
    with hashrange.connect(clock=time, settings=settings) as database:
        yield database


def create(db: Database, view: str = "NEW_AND_OLD_IMAGES") -> str:
    """A table with a stream; returns the stream's ARN."""
    description = db.execute(
        "CreateTable",
        {
            "TableName": "table",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": view},
        },
    )["TableDescription"]
    assert description["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": view}
    arn: str = description["LatestStreamArn"]
    assert arn == f"{description['TableArn']}/stream/{description['LatestStreamLabel']}"
    return arn


def put(db: Database, key: str, number: int) -> None:
    item = {"pk": {"S": key}, "n": {"N": str(number)}}
    db.execute("PutItem", {"TableName": "table", "Item": item})


def delete(db: Database, key: str) -> None:
    db.execute("DeleteItem", {"TableName": "table", "Key": {"pk": {"S": key}}})


def shards(db: Database, arn: str, **more: Any) -> list[dict[str, Any]]:
    """All shards of a stream, page by page."""
    found: list[dict[str, Any]] = []
    request: dict[str, Any] = {"StreamArn": arn, **more}
    while True:
        page = db.execute("DescribeStream", request)["StreamDescription"]
        found += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return found
        request["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]


def iterator(db: Database, arn: str, shard: str, kind: str, **more: Any) -> str:
    request = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind, **more}
    text: str = db.execute("GetShardIterator", request)["ShardIterator"]
    return text


def drain(db: Database, place: str | None, limit: int = 1000) -> tuple[list[Any], str | None]:
    """Records until there are none, and the next iterator (None: the shard is closed)."""
    found: list[Any] = []
    while place is not None:
        page = db.execute("GetRecords", {"ShardIterator": place, "Limit": limit})
        found += page["Records"]
        place = page.get("NextShardIterator")
        if not page["Records"]:
            break
    return found, place


def everything(db: Database, arn: str) -> list[Any]:
    """All records, parents before children."""
    return [
        record
        for shard in shards(db, arn)
        for record in drain(db, iterator(db, arn, shard["ShardId"], "TRIM_HORIZON"))[0]
    ]


def test_a_change_of_each_kind(db: Database) -> None:
    arn = create(db)
    put(db, "a", 1)
    put(db, "a", 1)
    put(db, "a", 2)
    delete(db, "a")
    delete(db, "a")
    insert, modify, remove = everything(db, arn)
    old, new = ({"pk": {"S": "a"}, "n": {"N": str(number)}} for number in (1, 2))
    assert [insert["eventName"], modify["eventName"], remove["eventName"]] == [
        "INSERT",
        "MODIFY",
        "REMOVE",
    ]
    assert modify["dynamodb"] | {"SequenceNumber": ""} == {
        "ApproximateCreationDateTime": int(START),
        "Keys": {"pk": {"S": "a"}},
        "NewImage": new,
        "OldImage": old,
        "SequenceNumber": "",
        "SizeBytes": 3 + 6 + 6,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    assert "OldImage" not in insert["dynamodb"]
    assert "NewImage" not in remove["dynamodb"]
    assert insert["eventSource"] == "aws:dynamodb"
    assert insert["eventVersion"] == "1.1"
    assert insert["awsRegion"] == "us-east-1"
    assert len({record["eventID"] for record in (insert, modify, remove)}) == 3
    numbers = [record["dynamodb"]["SequenceNumber"] for record in (insert, modify, remove)]
    assert numbers == sorted(numbers, key=int)
    assert all(21 <= len(number) <= 40 for number in numbers)


@pytest.mark.parametrize(
    ("view", "images"),
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_view_types(db: Database, view: str, images: set[str]) -> None:
    arn = create(db, view)
    put(db, "a", 1)
    put(db, "a", 2)
    modify = everything(db, arn)[1]["dynamodb"]
    assert {"NewImage", "OldImage"} & modify.keys() == images
    assert modify["StreamViewType"] == view


def test_a_set_in_another_order_is_no_change(db: Database) -> None:
    arn = create(db)
    for members in (["x", "y"], ["y", "x"]):
        item = {"pk": {"S": "a"}, "s": {"SS": members}}
        db.execute("PutItem", {"TableName": "table", "Item": item})
    assert [record["eventName"] for record in everything(db, arn)] == ["INSERT"]


def test_refused_writes_and_condition_checks_leave_no_record(db: Database) -> None:
    arn = create(db)
    check = {
        "TableName": "table",
        "Key": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    put_b = {"TableName": "table", "Item": {"pk": {"S": "b"}}}
    actions = [{"ConditionCheck": check}, {"Put": put_b}]
    db.execute("TransactWriteItems", {"TransactItems": actions})
    assert [record["dynamodb"]["Keys"] for record in everything(db, arn)] == [{"pk": {"S": "b"}}]


def test_a_reader_that_follows_the_lineage_sees_every_change_once(
    db: Database, time: TestClock
) -> None:
    """The reader takes children when their parent is drained, while writes go on."""
    arn = create(db)
    seen: defaultdict[str, list[int]] = defaultdict(list)
    places: dict[str, str | None] = {}
    for number in range(300):
        time.advance(3)
        put(db, f"key{number % 17}", number)
        if number % 10 == 0:
            read_on(db, arn, places, seen)
    read_on(db, arn, places, seen)
    read_on(db, arn, places, seen)
    assert seen == {f"key{key}": list(range(key, 300, 17)) for key in range(17)}
    assert len(places) > 2 * 300 * 3 / SHARD_SECONDS


def read_on(
    db: Database, arn: str, places: dict[str, str | None], seen: defaultdict[str, list[int]]
) -> None:
    for shard in shards(db, arn):
        name, parent = shard["ShardId"], shard.get("ParentShardId")
        if name not in places:
            if parent in places and places[parent] is not None:
                continue  # the parent first
            places[name] = iterator(db, arn, name, "TRIM_HORIZON")
        records, places[name] = drain(db, places[name], limit=7)
        for record in records:
            image = record["dynamodb"]["NewImage"]
            seen[image["pk"]["S"]].append(int(image["n"]["N"]))


def test_shards_divide_the_keys_roll_over_and_know_their_parents(
    db: Database, time: TestClock
) -> None:
    arn = create(db)
    first = shards(db, arn)
    assert len(first) > 1
    assert all("ParentShardId" not in shard for shard in first)
    assert all("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in first)
    time.advance(SHARD_SECONDS + 1)
    put(db, "a", 1)
    both = shards(db, arn)
    assert [shard.get("ParentShardId") for shard in both[len(first) :]] == [
        shard["ShardId"] for shard in first
    ]
    assert all("EndingSequenceNumber" in s["SequenceNumberRange"] for s in both[: len(first)])
    assert all(28 <= len(shard["ShardId"]) <= 65 for shard in both)
    child = {"Type": "CHILD_SHARDS", "ShardId": first[0]["ShardId"]}
    assert [s["ParentShardId"] for s in shards(db, arn, ShardFilter=child)] == [child["ShardId"]]
    assert shards(db, arn, Limit=3) == both
    assert drain(db, iterator(db, arn, first[0]["ShardId"], "LATEST")) == ([], None)


def test_a_closed_shard_ends_with_its_last_record(db: Database, time: TestClock) -> None:
    """One without records ends with the number with which it starts."""
    arn = create(db)
    count = len(shards(db, arn))
    for n in range(10):
        put(db, "abc"[n % 3], n)
    time.advance(SHARD_SECONDS + 1)
    put(db, "a", 10)
    closed = shards(db, arn)[:count]
    filled = 0
    for shard in closed:
        numbers = shard["SequenceNumberRange"]
        last = numbers["StartingSequenceNumber"]
        records, _ = drain(db, iterator(db, arn, shard["ShardId"], "TRIM_HORIZON"))
        for record in records:
            assert int(record["dynamodb"]["SequenceNumber"]) > int(last)
            last = record["dynamodb"]["SequenceNumber"]
        assert numbers["EndingSequenceNumber"] == last
        filled += bool(records)
        for kind, found in (("AT", records[-1:]), ("AFTER", [])):
            name = f"{kind}_SEQUENCE_NUMBER"
            place = iterator(db, arn, shard["ShardId"], name, SequenceNumber=last)
            assert drain(db, place) == (found, None)
    assert 0 < filled < count


def test_no_change_is_lost_between_shards(db: Database, time: TestClock) -> None:
    """Commits within the last millisecond of a shard, with a reader between each of them."""
    arn = create(db)
    seen: defaultdict[str, list[int]] = defaultdict(list)
    places: dict[str, str | None] = {}
    time.advance(SHARD_SECONDS - 0.001)
    for number in range(8):
        time.advance(0.0003)
        put(db, "a", number)
        read_on(db, arn, places, seen)
    read_on(db, arn, places, seen)
    assert seen == {"a": list(range(8))}


def test_every_kind_of_iterator(db: Database, time: TestClock) -> None:
    arn = create(db)
    for number in range(3):
        put(db, "a", number)
        time.advance(10)
    records = everything(db, arn)
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    [shard] = [
        shard["ShardId"]
        for shard in shards(db, arn)
        if drain(db, iterator(db, arn, shard["ShardId"], "TRIM_HORIZON"))[0]
    ]

    def read(kind: str, **more: Any) -> list[Any]:
        return drain(db, iterator(db, arn, shard, kind, **more))[0]

    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=numbers[1]) == records[1:]
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[1]) == records[2:]
    assert read("AT_TIMESTAMP", Timestamp=START + 5) == records[1:]
    assert read("AT_TIMESTAMP", Timestamp=START - 5) == records
    latest = iterator(db, arn, shard, "LATEST")
    assert drain(db, latest)[0] == []
    put(db, "a", 3)
    assert [r["dynamodb"]["NewImage"]["n"] for r in drain(db, latest)[0]] == [{"N": "3"}]
    with pytest.raises(ValidationException):
        read("AT_TIMESTAMP", Timestamp=time.now() + 1)
    with pytest.raises(ValidationException):
        read("AT_SEQUENCE_NUMBER")
    with pytest.raises(ValidationException):
        read("AT_SEQUENCE_NUMBER", SequenceNumber="9" * 30)


def test_an_iterator_is_good_for_fifteen_minutes(db: Database, time: TestClock) -> None:
    arn = create(db)
    place = iterator(db, arn, shards(db, arn)[0]["ShardId"], "TRIM_HORIZON")
    time.advance(15 * 60)
    db.execute("GetRecords", {"ShardIterator": place})
    time.advance(1)
    with pytest.raises(ExpiredIteratorException):
        db.execute("GetRecords", {"ShardIterator": place})


@pytest.mark.parametrize(
    "place", ["x", "|1|", "arn|1|e30=", "arn|1|", "arn|1|WyJhIiwgIiIsIDFd", "é|1|éé"]
)
def test_a_forged_iterator(db: Database, place: str) -> None:
    create(db)
    with pytest.raises((ValidationException, ExpiredIteratorException)):
        db.execute("GetRecords", {"ShardIterator": place})


def test_records_are_kept_for_a_day(db: Database, time: TestClock) -> None:
    arn = create(db)
    put(db, "a", 1)
    number = everything(db, arn)[0]["dynamodb"]["SequenceNumber"]
    [shard] = [
        shard["ShardId"]
        for shard in shards(db, arn)
        if drain(db, iterator(db, arn, shard["ShardId"], "TRIM_HORIZON"))[0]
    ]
    time.advance(DAY + 1)
    put(db, "a", 2)
    assert [r["dynamodb"]["NewImage"]["n"] for r in everything(db, arn)] == [{"N": "2"}]
    with pytest.raises(TrimmedDataAccessException):
        iterator(db, arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=number)


def test_a_disabled_stream_stays_readable_and_a_new_one_has_a_new_label(
    db: Database, time: TestClock
) -> None:
    arn = create(db)
    put(db, "a", 1)
    off = {"TableName": "table", "StreamSpecification": {"StreamEnabled": False}}
    time.advance(1)
    assert "StreamSpecification" not in db.execute("UpdateTable", off)["TableDescription"]
    put(db, "a", 2)
    assert len(everything(db, arn)) == 1
    assert all("EndingSequenceNumber" in s["SequenceNumberRange"] for s in shards(db, arn))
    status = db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    assert status["StreamStatus"] == "DISABLED"
    on = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    time.advance(1)
    again = db.execute("UpdateTable", {"TableName": "table", "StreamSpecification": on})
    new_arn = again["TableDescription"]["LatestStreamArn"]
    assert new_arn != arn
    listed = db.execute("ListStreams", {"TableName": "table"})["Streams"]
    assert [stream["StreamArn"] for stream in listed] == [new_arn, arn]
    with pytest.raises(ValidationException, match="already has an enabled stream"):
        db.execute("UpdateTable", {"TableName": "table", "StreamSpecification": on})


def test_a_stream_outlives_its_table(db: Database) -> None:
    arn = create(db)
    put(db, "a", 1)
    db.execute("DeleteTable", {"TableName": "table"})
    assert len(everything(db, arn)) == 1
    with pytest.raises(ResourceNotFoundException):
        db.execute("DescribeStream", {"StreamArn": f"{arn}x"})


def test_tables_of_one_name_have_streams_of_their_own(db: Database) -> None:
    """Labels differ even if a table is created again within a millisecond."""
    arns = []
    for _ in range(3):
        arns.append(create(db))
        put(db, "a", 1)
        db.execute("DeleteTable", {"TableName": "table"})
    assert [len(everything(db, arn)) for arn in arns] == [1, 1, 1]
