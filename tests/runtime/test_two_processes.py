"""Two processes on one file: each sees the other's commits, including tables and indexes."""

import time

import pytest
from other_process import COLORS, colored, other_process
from running import (
    TABLE,
    add_index,
    count,
    create_table,
    get,
    increment,
    index_status,
    put,
    scanned,
)
from waiting import wait_until

import hashrange
from hashrange import Database
from hashrange.model.errors import ResourceNotFoundException

pytestmark = pytest.mark.slow


def check_index(database: Database) -> None:
    """The index shows exactly the items that have a color, and `check` finds nothing wrong."""
    items = scanned(database.execute)
    expected = sorted(item["pk"]["S"] for item in items if "color" in item)
    found = scanned(database.execute, IndexName="by-color")
    assert sorted(item["pk"]["S"] for item in found) == expected
    for color in COLORS:
        response = database.execute(
            "Query",
            {
                "TableName": TABLE,
                "IndexName": "by-color",
                "KeyConditionExpression": "color = :color",
                "ExpressionAttributeValues": {":color": {"S": color}},
            },
        )
        assert response["Count"] == sum(item.get("color") == {"S": color} for item in items)
    table = database.execute("DescribeTable", {"TableName": TABLE})["Table"]
    assert table["ItemCount"] == len(items)
    assert table["GlobalSecondaryIndexes"][0]["ItemCount"] == len(expected)
    assert not list(database.check())


def test_each_process_sees_the_commits_of_the_other(path: str) -> None:
    with hashrange.connect(path) as one, other_process(path) as other:
        create_table(one.execute)
        one.execute("PutItem", put("a"))
        assert other.execute("GetItem", get("a"))["Item"] == put("a")["Item"]
        other.execute("PutItem", put("b", "1"))
        assert len(scanned(one.execute)) == 2

        create_table(other.execute, "second")
        one.execute("PutItem", put("c", table="second"))
        assert one.execute("ListTables", {})["TableNames"] == [TABLE, "second"]
        other.execute("DeleteTable", {"TableName": "second"})
        with pytest.raises(ResourceNotFoundException):
            one.execute("GetItem", get("c", table="second"))
        create_table(other.execute, "second")
        assert one.execute("GetItem", get("c", table="second")) == {}

        for _ in range(10):
            one.execute("UpdateItem", increment("n"))
            other.execute("UpdateItem", increment("n"))
        assert count(one.execute, "n") == count(other.execute, "n") == 20
        assert not list(one.check())


@pytest.mark.deep
@pytest.mark.usefixtures("small_steps")
def test_writes_throughout_the_build_of_an_index(path: str) -> None:
    """The other process has the table in its cache when the index is created, and does not ask."""
    with hashrange.connect(path, durability="relaxed") as one, other_process(path) as other:
        create_table(one.execute)
        for number in range(200):
            one.execute("UpdateItem", colored(number))
        other.ask(write=None)
        wait_until(lambda: count(one.execute, "7") > 1)
        for _ in range(2):
            add_index(one.execute)
            wait_until(lambda: index_status(one.execute) == "ACTIVE")
            time.sleep(0.1)  # the other goes on writing
            assert not list(one.check())
            delete = [{"Delete": {"IndexName": "by-color"}}]
            one.execute("UpdateTable", {"TableName": TABLE, "GlobalSecondaryIndexUpdates": delete})
        add_index(one.execute)
        wait_until(lambda: index_status(one.execute) == "ACTIVE")
        assert other.ask(stop=None) > 100
        check_index(one)


@pytest.mark.usefixtures("small_steps")
def test_both_build_the_same_index(path: str) -> None:
    """It does not matter which process does which step: here both do."""
    with hashrange.connect(path, durability="relaxed") as one, other_process(path) as other:
        create_table(one.execute)
        for number in range(200):
            one.execute("UpdateItem", colored(number))
        add_index(one.execute)
        for _ in range(10):
            other.upkeep("upkeep.BuildIndex", {"TableName": TABLE, "IndexName": "by-color"})
        wait_until(lambda: index_status(one.execute) == "ACTIVE")
        check_index(one)


@pytest.mark.usefixtures("small_steps")
def test_a_build_continues_after_a_kill(path: str) -> None:
    with other_process(path) as other:
        create_table(other.execute)
        for number in range(200):
            other.execute("UpdateItem", colored(number))
        other.ask(write=None)
        add_index(other.execute)
        for _ in range(3):
            other.upkeep("upkeep.BuildIndex", {"TableName": TABLE, "IndexName": "by-color"})
        other.kill()
    with hashrange.connect(path) as database:
        wait_until(lambda: index_status(database.execute) == "ACTIVE")
        check_index(database)
