"""The source of a database's time: an object with `now`, or the current wall clock."""

import time

import pytest
from running import create_table

import hashrange
from hashrange import Database
from hashrange.testing import TestClock

HOUR = 3600.0


def created_at(database: Database, table: str) -> float:
    create_table(database.execute, table)
    described = database.execute("DescribeTable", {"TableName": table})["Table"]
    seconds: float = described["CreationDateTime"]
    return seconds


def test_a_settable_clock_is_given_as_it_is() -> None:
    clock = TestClock(1_800_000_000.0)
    with hashrange.connect(clock=clock) as database:
        before = created_at(database, "before")
        clock.advance(HOUR)
        assert created_at(database, "after") == before + HOUR


def test_the_wall_clock_is_looked_up_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools such as freezegun replace `time.time`, also after a database was opened."""
    with hashrange.connect() as database:
        ahead = TestClock(time.time() + HOUR)
        monkeypatch.setattr(time, "time", ahead.now)
        before = created_at(database, "before")
        ahead.advance(HOUR)
        assert created_at(database, "after") == pytest.approx(before + HOUR)


def test_the_package_lists_its_names() -> None:
    assert set(dir(hashrange)) >= {"Database", "Settings", "StoreError", "connect"}
