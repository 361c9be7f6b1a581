"""Time to live: expired items are deleted with their index rows, and nothing is charged."""

from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest
from waiting import wait_until

import hashrange
from hashrange import Database, Settings
from hashrange.model.errors import ValidationException
from hashrange.testing import TestClock
from hashrange.upkeep.upkeep import Upkeep

START = 1_800_000_000
FIVE_YEARS = 5 * 365 * 24 * 60 * 60


@pytest.fixture
def time() -> TestClock:
    return TestClock(START)


@pytest.fixture
def db(time: TestClock) -> Iterator[Database]:
    with hashrange.connect(clock=time) as database:
        names = ("pk", "owner")
        database.execute(
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"} for name in names
                ],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "byOwner",
                        "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
                "BillingMode": "PAY_PER_REQUEST",
                "StreamSpecification": {
                    "StreamEnabled": True,
                    "StreamViewType": "NEW_AND_OLD_IMAGES",
                },
            },
        )
        yield database


def enable(db: Database, attribute: str = "expires", enabled: bool = True) -> dict[str, Any]:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    request = {"TableName": "table", "TimeToLiveSpecification": specification}
    assert db.execute("UpdateTimeToLive", request) == {"TimeToLiveSpecification": specification}
    described = db.execute("DescribeTimeToLive", {"TableName": "table"})
    description: dict[str, Any] = described["TimeToLiveDescription"]
    return description


def put(db: Database, key: str, expires: dict[str, str] | None) -> None:
    item: dict[str, Any] = {"pk": {"S": key}, "owner": {"S": "o"}}
    if expires is not None:
        item["expires"] = expires
    db.execute("PutItem", {"TableName": "table", "Item": item})


def keys(db: Database, **more: Any) -> list[str]:
    items = db.execute("Scan", {"TableName": "table", **more})["Items"]
    return sorted(item["pk"]["S"] for item in items)


def run_upkeep(db: Database) -> None:
    upkeep = Upkeep(db.runtime)
    while upkeep.run_once():
        pass


def at(offset: int) -> dict[str, str]:
    return {"N": str(START + offset)}


def test_only_items_whose_time_has_recently_passed_expire(db: Database, time: TestClock) -> None:
    enable(db)
    put(db, "past", at(-1))
    put(db, "now", at(0))
    put(db, "future", at(100))
    put(db, "long past", at(-FIVE_YEARS - 10))
    put(db, "fraction", {"N": f"{START - 2}.5"})
    put(db, "text", {"S": str(START - 10)})
    put(db, "none", None)
    assert len(keys(db)) == 7, "expired items stay readable until they are deleted"
    run_upkeep(db)
    assert keys(db) == ["future", "long past", "none", "now", "text"]
    time.advance(200)
    run_upkeep(db)
    assert keys(db) == ["long past", "none", "text"]
    assert keys(db, IndexName="byOwner") == keys(db)
    assert list(db.check()) == []


def test_items_that_were_there_before_expire_too(db: Database) -> None:
    for number in range(600):
        put(db, f"k{number:03}", at(-10) if number % 2 else at(1000))
    enable(db)
    run_upkeep(db)
    assert len(keys(db)) == 300
    assert list(db.check()) == []


def test_a_later_expiry_or_none_keeps_the_item(db: Database) -> None:
    enable(db)
    for key in ("later", "never", "past"):
        put(db, key, at(-10))
    put(db, "later", at(10))
    put(db, "never", None)
    run_upkeep(db)
    assert keys(db) == ["later", "never"]


def test_the_record_of_a_deletion_names_the_service(db: Database) -> None:
    enable(db)
    put(db, "past", at(-10))
    run_upkeep(db)
    [stream] = db.execute("ListStreams", {})["Streams"]
    arn = stream["StreamArn"]
    found = []
    for shard in db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
        place = db.execute(
            "GetShardIterator",
            {
                "StreamArn": arn,
                "ShardId": shard["ShardId"],
                "ShardIteratorType": "TRIM_HORIZON",
            },
        )["ShardIterator"]
        found += db.execute("GetRecords", {"ShardIterator": place})["Records"]
    insert, remove = found
    assert "userIdentity" not in insert
    assert remove["eventName"] == "REMOVE"
    assert remove["userIdentity"] == {
        "Type": "Service",
        "PrincipalId": "dynamodb.amazonaws.com",
    }


def test_states_and_refusals(db: Database, time: TestClock) -> None:
    describe = db.execute("DescribeTimeToLive", {"TableName": "table"})
    assert describe == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    with pytest.raises(ValidationException, match="already disabled"):
        enable(db, enabled=False)
    assert enable(db) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    with pytest.raises(ValidationException, match="already enabled"):
        enable(db)
    with pytest.raises(ValidationException, match="active on a different AttributeName"):
        enable(db, "other")
    with pytest.raises(ValidationException, match="modified multiple times"):
        enable(db, enabled=False)
    time.advance(30 * 60)
    with pytest.raises(ValidationException, match="modified multiple times"):
        enable(db, enabled=False)
    time.advance(60)
    with pytest.raises(ValidationException, match="active on a different AttributeName"):
        enable(db, "other", enabled=False)
    assert enable(db, enabled=False) == {"TimeToLiveStatus": "DISABLED"}
    put(db, "past", at(-10))
    run_upkeep(db)
    assert keys(db) == ["past"]


def test_a_change_may_take_time(time: TestClock) -> None:
    """With a delay of tables, the status says for as long that it is changing."""
    with hashrange.connect(clock=time, settings=Settings(table_delay=10)) as db:
        key = {"AttributeName": "pk"}
        db.execute(
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [{**key, "AttributeType": "S"}],
                "KeySchema": [{**key, "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        time.advance(10)
        for enabled, changing, changed in (
            (True, "ENABLING", {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}),
            (False, "DISABLING", {"TimeToLiveStatus": "DISABLED"}),
            (True, "ENABLING", {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}),
        ):
            described = enable(db, enabled=enabled)
            assert described == {"TimeToLiveStatus": changing, "AttributeName": "expires"}
            time.advance(10)
            describe = db.execute("DescribeTimeToLive", {"TableName": "table"})
            assert describe == {"TimeToLiveDescription": changed}
            time.advance(60 * 60)


def test_the_settings_limit_deletions_per_second() -> None:
    with hashrange.connect(settings=Settings(expirations_per_second=40)) as db:
        db.execute(
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for number in range(50):
            put(db, str(number), {"N": "1700000000"})
        left = {50}

        def none_is_left() -> bool:
            left.add(len(keys(db)))
            return 0 in left

        began = monotonic()
        enable(db)
        wait_until(none_is_left)
    assert left <= {50, 10, 0}
    assert monotonic() - began >= 1.0, "forty take a second"
