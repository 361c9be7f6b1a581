"""The change log below a stream: how its views show it, and how much of it a page reads."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hashrange import Database, kv
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.model.streams import Stream
from hashrange.model.tables import Table
from hashrange.storage.memory import MemoryStore
from hashrange.testing import TestClock
from hashrange.upkeep.upkeep import Upkeep

START = 1_800_000_000.0
DAY = 24 * 60 * 60
KB = 1000
VIEWS = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
PAGE_BYTES = 1024 * 1024
RAW_PAGE_BYTES = 8 * PAGE_BYTES
ITEM_BYTES_MAX = 400 * 1024


class Log:
    """A table with a stream of this view; its log is in the second space."""

    def __init__(self, view: str) -> None:
        self.time = TestClock(START)
        self.store = MemoryStore()
        self.db = Database(self.store, clock=self.time)
        created = self.db.execute(
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "sk", "AttributeType": "N"},
                ],
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": view},
            },
        )
        self.arn = created["TableDescription"]["LatestStreamArn"]
        self.view = view
        self.space = 2

    def put(self, number: int, size: int = 0, **more: Any) -> None:
        """Write item 1 of the partition once more."""
        item = {"pk": {"S": "ké"}, "sk": {"N": "1.0"}, "n": {"N": str(number)}, **more}
        if size:
            item["text"] = {"S": "x" * size}
        self.db.execute("PutItem", {"TableName": "table", "Item": item})

    def delete(self) -> None:
        key = {"pk": {"S": "ké"}, "sk": {"N": "1"}}
        self.db.execute("DeleteItem", {"TableName": "table", "Key": key})

    def pages(self, limit: int = 1000) -> Iterator[list[dict[str, Any]]]:
        """Pages of all shards, up to the first empty one of each."""
        described = self.db.execute("DescribeStream", {"StreamArn": self.arn})
        for shard in described["StreamDescription"]["Shards"]:
            start = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            place = self.db.execute("GetShardIterator", {"StreamArn": self.arn, **start})
            following = place["ShardIterator"]
            while following:
                page = self.db.execute("GetRecords", {"ShardIterator": following, "Limit": limit})
                following = page.get("NextShardIterator") if page["Records"] else None
                if page["Records"]:
                    yield page["Records"]

    def records(self) -> list[dict[str, Any]]:
        return [record for page in self.pages() for record in page]

    def rows(self) -> list[tuple[bytes, bytes]]:
        snapshot = self.store.snapshot()
        page = snapshot.read(kv.Range(self.space, b"", None))
        snapshot.close()
        assert isinstance(page, kv.Page)
        return page.rows

    def write(self, *writes: kv.Write) -> None:
        transaction = self.store.begin()
        transaction.write(writes)
        transaction.commit()


@pytest.fixture(params=VIEWS)
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    log = Log(request.param)
    yield log
    log.db.close()


def expire(log: Log) -> None:
    """Let the service delete the item."""
    log.put(7, t={"N": str(int(START))})
    ttl = {"AttributeName": "t", "Enabled": True}
    log.db.execute("UpdateTimeToLive", {"TableName": "table", "TimeToLiveSpecification": ttl})
    log.time.advance(10)
    run_upkeep(log)


def test_a_view_shows_its_images_and_counts_their_bytes(log: Log) -> None:
    log.put(1)
    log.put(22)
    log.delete()
    keys = {"pk": {"S": "ké"}, "sk": {"N": "1"}}
    one, two = {**keys, "n": {"N": "1"}}, {**keys, "n": {"N": "22"}}
    key_bytes, item_bytes = 5 + 4, 5 + 4 + 3  # names and text; a number is 1 + its pairs of digits
    shown = [
        (
            record["eventName"],
            record["dynamodb"].get("OldImage"),
            record["dynamodb"].get("NewImage"),
        )
        for record in log.records()
    ]
    stream = log.db.execute("DescribeStream", {"StreamArn": log.arn})["StreamDescription"]
    view = stream["StreamViewType"]
    with_old, with_new = "OLD" in view, "NEW" in view
    images = [("INSERT", None, one), ("MODIFY", one, two), ("REMOVE", two, None)]
    assert shown == [
        (event, old if with_old else None, new if with_new else None) for event, old, new in images
    ]
    assert [record["dynamodb"]["SizeBytes"] for record in log.records()] == [
        key_bytes + item_bytes * (bool(old and with_old) + bool(new and with_new))
        for _, old, new in images
    ]
    for record in log.records():
        assert record["dynamodb"]["Keys"] == keys
        assert record["dynamodb"]["StreamViewType"] == view
        assert record["dynamodb"]["ApproximateCreationDateTime"] == START
        assert "userIdentity" not in record


@pytest.mark.parametrize("view", VIEWS)
def test_the_log_has_both_images_if_the_view_shows_one(view: str) -> None:
    log = Log(view)
    log.put(1)
    log.put(2)
    found = [msgspec.json.decode(Row(value).json) for _, value in log.rows()]
    log.db.close()
    images = [[each[name]["n"]["N"] for name in ("old", "new") if name in each] for each in found]
    assert images == ([[], []] if view == "KEYS_ONLY" else [["1"], ["1", "2"]])


def test_a_deletion_by_the_service_bears_its_identity(log: Log) -> None:
    expire(log)
    put, removed = log.records()
    assert "userIdentity" not in put
    assert removed["eventName"] == "REMOVE"
    assert removed["userIdentity"] == {
        "Type": "Service",
        "PrincipalId": "dynamodb.amazonaws.com",
    }


def test_a_page_is_bounded_by_what_is_shown_and_by_what_is_read(log: Log) -> None:
    for number in range(40):
        log.put(number, size=390 * KB)
    pages = list(log.pages())
    raw_sizes = [Row(value).size for _, value in log.rows()]
    for page in pages:
        shown = [record["dynamodb"]["SizeBytes"] for record in page]
        assert sum(shown[:-1]) < PAGE_BYTES
        assert sum(raw_sizes[: len(page)]) <= RAW_PAGE_BYTES + 2 * ITEM_BYTES_MAX
    numbers = [record["dynamodb"]["SequenceNumber"] for page in pages for record in page]
    assert len(numbers) == len(set(numbers)) == 40, "every record is in exactly one page"
    assert numbers == sorted(numbers, key=int)
    assert len(pages) > 3 or log.view == "KEYS_ONLY"


def test_the_end_of_a_closed_shard_is_not_lost_behind_a_full_page(log: Log) -> None:
    """The last chunk of the log has the record that fills the page, and one more record."""
    for number in range(4):
        log.put(number, size=300 * KB)
    log.delete()
    off: dict[str, Any] = {"StreamEnabled": False}
    log.db.execute("UpdateTable", {"TableName": "table", "StreamSpecification": off})
    assert [record["eventName"] for record in log.records()] == [
        "INSERT",
        *["MODIFY"] * 3,
        "REMOVE",
    ]


def test_a_page_has_no_more_records_than_asked_for(log: Log) -> None:
    for number in range(7):
        log.put(number, size=390 * KB if number % 2 else 0)
    pages = list(log.pages(limit=3))
    assert [len(page) for page in pages] == [3, 3, 1]


def test_small_records_fill_a_page_though_the_log_is_read_in_chunks() -> None:
    """Data that the view leaves out ends a page only if there is much of it."""
    log = Log("NEW_IMAGE")
    for number in range(18):
        log.put(number, size=0 if number % 2 else 100 * KB)
    assert [len(page) for page in log.pages()] == [18]
    log.db.close()


def test_large_items_do_not_shorten_a_page_of_keys() -> None:
    log = Log("KEYS_ONLY")
    for number in range(60):
        log.put(number, size=390 * KB)
    assert [len(page) for page in log.pages()] == [60]
    log.db.close()


def test_records_of_the_first_format_are_read_as_they_were_written(log: Log) -> None:
    """Such a record was rendered when it was written: no raw key, SizeBytes as its weight."""
    log.put(1)
    log.put(2, size=300)
    expire(log)
    log.put(3)
    expected = log.records()
    assert len(expected) == len(log.rows()) == 5
    for (key, _), record in list(zip(log.rows(), expected, strict=True))[:4]:
        content = {k: v for k, v in record["dynamodb"].items() if k != "SequenceNumber"}
        members = {k: record[k] for k in ("eventName", "userIdentity") if k in record}
        stored = msgspec.json.encode({**members, "dynamodb": content})
        log.write(kv.Put(log.space, key, encode_row(b"", stored, content["SizeBytes"])))
    assert log.records() == expected


def test_a_stream_enabled_in_the_moment_in_which_another_was_disabled_has_its_own_records(
    log: Log,
) -> None:
    log.put(1)
    off: dict[str, Any] = {"StreamEnabled": False}
    on = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    log.db.execute("UpdateTable", {"TableName": "table", "StreamSpecification": off})
    log.put(2)
    updated = log.db.execute("UpdateTable", {"TableName": "table", "StreamSpecification": on})
    log.put(3)
    before = log.records()
    log.arn = updated["TableDescription"]["LatestStreamArn"]
    assert [record["dynamodb"]["NewImage"]["n"] for record in log.records()] == [{"N": "3"}]
    assert len(before) == 1


def test_a_log_is_dropped_with_the_last_stream_that_reads_it(log: Log) -> None:
    log.put(1)
    off: dict[str, Any] = {"StreamEnabled": False}
    log.db.execute("UpdateTable", {"TableName": "table", "StreamSpecification": off})
    [stream] = streams(log)
    noon = int(START + DAY / 2) * 1000
    other = replace(stream, enabled_at=stream.enabled_at + 1, disabled_at=noon)
    row = system.stream_row(other.table_name, other.label)
    log.write(kv.Put(kv.SYSTEM_SPACE, row, system.encode(other)))
    log.time.advance(DAY + 10)
    run_upkeep(log)
    assert streams(log) == [other]
    log.write(kv.Put(log.space, b"no slot is trimmed here", b"12345678"))
    assert len(log.rows()) == 1, "the log is there, without its old record"
    log.time.advance(DAY)
    run_upkeep(log)
    assert streams(log) == []
    assert log.rows() == []


def stored_table(log: Log) -> Table:
    snapshot = log.store.snapshot()
    [value] = snapshot.read(kv.Get(((kv.SYSTEM_SPACE, system.table_row("table")),)))  # type: ignore
    snapshot.close()
    assert isinstance(value, bytes)
    return system.decode(value, Table)


def run_upkeep(log: Log) -> None:
    while Upkeep(log.db.runtime).run_once():
        pass


def streams(log: Log) -> list[Stream]:
    snapshot = log.store.snapshot()
    page = snapshot.read(kv.Range(kv.SYSTEM_SPACE, b"S", b"T"))
    snapshot.close()
    assert isinstance(page, kv.Page)
    return [system.decode(value, Stream) for _, value in page.rows]
