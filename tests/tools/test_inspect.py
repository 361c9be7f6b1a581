"""`hashrange inspect` and `Database.inspect` show what is stored and how it is used."""

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

import hashrange
from hashrange import Database, Settings
from hashrange.engine.keyspace.keys import partition

TABLE: dict[str, Any] = {
    "TableName": "table",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "kind")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "kind", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-kind",
            "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def filled(db: Database) -> Counter[str]:
    """Write items; return how many each partition key has."""
    random, counts = Random(1), Counter[str]()
    db.execute("CreateTable", TABLE)
    for number in range(200):
        pk = str(min(random.randrange(20), random.randrange(20)))
        item = {"pk": {"S": pk}, "sk": {"S": str(number)}, "kind": {"S": str(number % 3)}}
        db.execute("PutItem", {"TableName": "table", "Item": item})
        counts[pk] += 1
    return counts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


def test_the_counts_equal_their_recomputation(path: Path) -> None:
    with hashrange.connect(path) as db:
        counts = filled(db)
        [found] = db.inspect("table")
    [index, local] = found["indexes"]
    assert (found["items"], index["items"], local["items"]) == (200, 200, 200)
    assert found["collections"]["complete"]
    largest = found["collections"]["largest"]
    most = [(each["key"]["pk"]["S"], each["items"]) for each in largest]
    assert sorted(largest, key=lambda each: -each["bytes"]) == largest
    assert dict(most) == {pk: counts[pk] for pk, _ in most}
    assert max(number for _, number in most) == max(counts.values())
    for part in found["partitions"]:
        expected = sum(
            number
            for pk, number in counts.items()
            if part["from"] <= partition([{"S": pk}]).hex() < (part["to"] or "g")
        )
        assert part["items"] == expected
    kinds = {each["key"]["kind"]["S"]: each["items"] for each in index["collections"]["largest"]}
    assert kinds == {"0": 67, "1": 67, "2": 66}


def test_the_load_and_the_hottest_keys() -> None:
    with hashrange.connect(settings=Settings(throughput="measured")) as db:
        counts = filled(db)
        for number in range(30):
            key = {"pk": {"S": "7"}, "sk": {"S": str(number)}}
            db.execute("GetItem", {"TableName": "table", "Key": key, "ConsistentRead": True})
        [found] = db.inspect()
    load = found["load"]
    assert load["write_units"] == 200 + 200, "the local index uses the units of its table"
    assert load["read_units"] == 30
    assert sum(part["write_units"] for part in found["partitions"]) == 400
    accessed = {
        each["key"]["pk"]["S"]: each["count"] for each in load["accessed"]["partition_keys"]
    }
    # Three read units for each write unit: of the item, and of its entry in the local index.
    assert accessed == {pk: 6 * number + 30 * (pk == "7") for pk, number in counts.items()}
    assert len(load["accessed"]["sort_keys"]) == 25
    [index, _] = found["indexes"]
    assert index["load"]["write_units"] == 200
    assert len(index["load"]["accessed"]["partition_keys"]) == 3


def test_contributor_insights_are_shown_while_they_are_enabled() -> None:
    with hashrange.connect(settings=Settings(throughput="measured")) as db:
        filled(db)
        assert "contributor_insights" not in db.inspect()[0]
        enable = {"TableName": "table", "ContributorInsightsAction": "ENABLE"}
        by_kind, throttled = {"IndexName": "by-kind"}, {"ContributorInsightsMode": "THROTTLED_KEYS"}
        db.execute("UpdateContributorInsights", enable)
        db.execute("UpdateContributorInsights", {**enable, **by_kind, **throttled})
        [found] = db.inspect()
        described = db.execute("DescribeContributorInsights", {"TableName": "table"})
        shown, load = found["contributor_insights"], found["load"]
        assert shown["mode"] == "ACCESSED_AND_THROTTLED_KEYS"
        assert [each["rule"] for each in shown["reports"]] == described[
            "ContributorInsightsRuleList"
        ]
        partition_keys, sort_keys, *never = shown["reports"]
        assert partition_keys["contributors"] == load["accessed"]["partition_keys"]
        assert len(sort_keys["contributors"]) == 25
        assert sort_keys["contributors"] == load["accessed"]["sort_keys"]
        assert [each["contributors"] for each in never] == [[], []]
        [index, _] = found["indexes"]
        [report] = index["contributor_insights"]["reports"]
        assert report["rule"].startswith("DynamoDBContributorInsights-PKT-table-by-kind-")
        assert report["contributors"] == []
        disable = {"TableName": "table", "ContributorInsightsAction": "DISABLE"}
        db.execute("UpdateContributorInsights", disable)
        assert "contributor_insights" not in db.inspect()[0]


def test_without_measuring_the_reports_are_empty(path: Path) -> None:
    with hashrange.connect(path) as db:
        filled(db)
        enable = {"TableName": "table", "ContributorInsightsAction": "ENABLE"}
        db.execute("UpdateContributorInsights", enable)
        reports = db.inspect()[0]["contributor_insights"]["reports"]
        assert [each["contributors"] for each in reports] == [[], [], [], []]
    assert "  DynamoDBContributorInsights-SKT-table-" in run(str(path)).stdout


def test_the_figures_of_the_file(path: Path) -> None:
    with hashrange.connect(path) as db:
        filled(db)
        padding = {"S": "x" * 3000}
        for number in range(300):
            item = {"pk": {"S": "large"}, "sk": {"S": str(number)}, "padding": padding}
            db.execute("PutItem", {"TableName": "table", "Item": item})
        full = db.figures()["free_pages"]
        db.execute("DeleteTable", {"TableName": "table"})
        db.run_upkeep()
        figures = db.figures()
    assert figures["free_pages"] > full + 200
    with closing(sqlite3.connect(path)) as file:
        for name, pragma in (
            ("free_pages", "freelist_count"),
            ("page_bytes", "page_size"),
            ("format", "user_version"),
        ):
            assert figures[name] == file.execute(f"PRAGMA {pragma}").fetchone()[0]
    content = json.loads(run(str(path), "--json").stdout)
    assert {**content["file"], "free_pages": 0}.keys() == figures.keys()
    assert f"format {figures['format']}, " in run(str(path)).stdout


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hashrange", "inspect", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command(path: Path) -> None:
    with hashrange.connect(path) as db:
        filled(db)
        item = {"pk": {"S": "\x1b[31m\n"}, "sk": {"S": "x" * 9000}}
        db.execute("PutItem", {"TableName": "table", "Item": item | {"sk": {"S": "1"}}})
    found = run(str(path))
    assert "table (PAY_PER_REQUEST): 201 items" in found.stdout
    assert "  index by-kind: 200 items" in found.stdout
    assert "  local index local: 200 items" in found.stdout
    assert "\x1b" not in found.stdout
    content = json.loads(run(str(path), "table", "--json").stdout)
    assert content["tables"][0]["items"] == 201
    assert content["file"]["database_bytes"] > 0
    picture = path.with_suffix(".svg")
    assert run(str(path), "--picture", str(picture)).returncode == 0
    assert "index by-kind" in picture.read_text()
    refused = run(str(path), "absent")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
