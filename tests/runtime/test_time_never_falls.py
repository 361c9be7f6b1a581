"""`now` never falls: not when the wall clock is set back, across restarts, or between processes."""

from typing import Any

import pytest
from running import TABLE, create_table, get, put, scanned

import hashrange
from hashrange import Database, Settings
from hashrange.runtime.clock import Clock
from hashrange.storage import MemoryStore
from hashrange.testing import TestClock

NOON = 1_800_000_000.0005  # not a whole number of milliseconds
HOUR = 3600.0


def created_at(database: Database, table: str) -> float:
    described = database.execute("DescribeTable", {"TableName": table})["Table"]
    seconds: float = described["CreationDateTime"]
    return seconds


def test_a_clock_that_is_set_back_stands_still() -> None:
    wall = TestClock(NOON)
    clock = Clock(wall.now)
    assert clock.now() == NOON
    wall.advance(-HOUR)
    assert clock.now() == NOON
    wall.advance(HOUR + 1)
    assert clock.now() == NOON + 1


def test_a_stored_time_is_a_floor() -> None:
    clock = Clock(TestClock(NOON).now)
    stored = int((NOON + HOUR) * 1000) + 1
    assert clock.not_before(stored) == stored / 1000
    assert clock.now() == stored / 1000


def test_within_a_process() -> None:
    wall = TestClock(NOON)
    with Database(MemoryStore(), clock=Clock(wall.now)) as database:
        create_table(database.execute, "first")
        wall.advance(-HOUR)
        create_table(database.execute, "second")
        assert created_at(database, "second") >= created_at(database, "first")
        database.execute("PutItem", put("a", table="second"))


@pytest.mark.parametrize("operation", ["GetItem", "Query", "Scan", "PutItem", "BatchGetItem"])
def test_across_a_restart(path: str, operation: str) -> None:
    """A table that was created an hour ahead of the wall clock is there nevertheless."""
    with hashrange.connect(path, clock=Clock(TestClock(NOON).now)) as database:
        create_table(database.execute)
        database.execute("PutItem", put("a"))
        before = created_at(database, TABLE)
    requests: dict[str, Any] = {
        "GetItem": get("a"),
        "Query": {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :a",
            "ExpressionAttributeValues": {":a": {"S": "a"}},
        },
        "Scan": {"TableName": TABLE},
        "PutItem": put("a"),
        "BatchGetItem": {"RequestItems": {TABLE: {"Keys": [get("a")["Key"]]}}},
    }
    with hashrange.connect(path, clock=Clock(TestClock(NOON - HOUR).now)) as database:
        database.execute(operation, requests[operation])
        create_table(database.execute, "second")
        assert created_at(database, "second") >= before


def test_between_processes(path: str) -> None:
    """Two databases on one file, whose wall clocks differ by an hour."""
    ahead, behind = Clock(TestClock(NOON).now), Clock(TestClock(NOON - HOUR).now)
    with (
        hashrange.connect(path, clock=ahead) as one,
        hashrange.connect(path, clock=behind) as other,
    ):
        create_table(one.execute)
        one.execute("PutItem", put("a"))
        assert other.execute("GetItem", get("a"))["Item"] == put("a")["Item"]
        assert len(scanned(other.execute)) == 1
        create_table(other.execute, "second")
        assert created_at(other, "second") >= created_at(one, TABLE)


def test_a_table_is_active_when_its_time_has_come(path: str) -> None:
    """Its status follows from stored times: nothing needs to run meanwhile."""
    wall = TestClock(NOON)
    settings = Settings(table_delay=10.0)
    with hashrange.connect(path, clock=Clock(wall.now), settings=settings) as database:
        create_table(database.execute)
        with pytest.raises(Exception, match="not found"):
            database.execute("GetItem", get("a"))
    wall.advance(9)
    with hashrange.connect(path, clock=Clock(wall.now)) as database:
        described = database.execute("DescribeTable", {"TableName": TABLE})["Table"]
        assert described["TableStatus"] == "CREATING"
        wall.advance(2)
        described = database.execute("DescribeTable", {"TableName": TABLE})["Table"]
        assert described["TableStatus"] == "ACTIVE"
        assert database.execute("GetItem", get("a")) == {}
