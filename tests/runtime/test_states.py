"""A database in memory goes back to an earlier state, and its numbers go on."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange import Database
from hashrange.kv import CATALOG, SYSTEM_SPACE, Get, Range
from hashrange.storage import MemoryStore

TABLE: dict[str, Any] = {
    "TableName": "visits",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
NAMED = {"TableName": "visits"}


@pytest.fixture
def db() -> Iterator[Database]:
    with hashrange.connect() as db:
        yield db


def put(db: Database, key: str, **more: Any) -> None:
    db.execute("PutItem", {**NAMED, "Item": {"pk": {"S": key}}, **more})


def keys(db: Database) -> list[str]:
    return sorted(item["pk"]["S"] for item in db.execute("Scan", NAMED)["Items"])


def stream(db: Database) -> list[str]:
    """The sequence numbers in the stream of the table."""
    arn = db.execute("DescribeTable", NAMED)["Table"]["LatestStreamArn"]
    described = db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    numbers = []
    for shard in described["Shards"]:
        asked = {"StreamArn": arn, "ShardId": shard["ShardId"]}
        asked["ShardIteratorType"] = "TRIM_HORIZON"
        at = db.execute("GetShardIterator", asked)["ShardIterator"]
        records = db.execute("GetRecords", {"ShardIterator": at})["Records"]
        numbers += [record["dynamodb"]["SequenceNumber"] for record in records]
    return numbers


def test_a_reset_goes_back_to_the_start(db: Database) -> None:
    states = db.states()
    db.execute("CreateTable", TABLE)
    put(db, "a")
    states.go_back()
    assert db.execute("ListTables", {}) == {"TableNames": []}
    assert db.execute("ListStreams", {})["Streams"] == []
    db.execute("CreateTable", TABLE)
    assert keys(db) == []


def test_a_snapshot_can_be_loaded_many_times(db: Database) -> None:
    states = db.states()
    db.execute("CreateTable", TABLE)
    put(db, "a")
    states.keep("one")
    for key in "bcd":
        put(db, key)
        assert keys(db) == ["a", key]
        assert db.execute("DescribeTable", NAMED)["Table"]["ItemCount"] == 2
        states.go_back("one")
        assert keys(db) == ["a"]
    db.execute("DeleteTable", NAMED)
    db.execute("CreateTable", TABLE | {"TableName": "others"})
    states.go_back("one")
    assert db.execute("ListTables", {})["TableNames"] == ["visits"]
    assert (keys(db), states.names) == (["a"], ["one"])
    with pytest.raises(KeyError):
        states.go_back("two")


def test_sequence_numbers_never_come_again(db: Database) -> None:
    states = db.states()
    db.execute("CreateTable", TABLE)
    states.keep("empty")
    seen: set[str] = set()
    for _ in range(3):
        put(db, "a")
        put(db, "b")
        numbers = stream(db)
        assert len(numbers) == 2
        assert seen.isdisjoint(numbers)
        assert not seen or min(map(int, numbers)) > max(map(int, seen))
        seen.update(numbers)
        states.go_back("empty")


def test_a_table_made_after_a_return_shares_nothing_with_one_before(db: Database) -> None:
    states = db.states()
    for key in ("a", "b"):
        db.execute("CreateTable", TABLE)
        put(db, key)
        assert keys(db) == [key]
        states.go_back()


def test_versions_and_ids_of_spaces_never_come_again() -> None:
    store = MemoryStore()
    with Database(store) as db:
        states = db.states()
        versions: list[bytes] = []
        spaces: set[int] = set()
        for _ in range(3):
            db.execute("CreateTable", TABLE)
            state = store.state()
            made = set(state.spaces) - {SYSTEM_SPACE}
            assert min(made) > max(spaces, default=0)
            spaces |= made
            states.go_back()
            versions += [state.spaces[CATALOG[0]][CATALOG[1]]]
            versions += [store.state().spaces[CATALOG[0]][CATALOG[1]]]
        assert len(set(versions)) == len(versions)


def test_tokens_of_transactions_are_forgotten_too(db: Database) -> None:
    db.execute("CreateTable", TABLE)
    states = db.states()
    for key in ("a", "b"):
        write = {"Put": {**NAMED, "Item": {"pk": {"S": key}}}}
        db.execute("TransactWriteItems", {"TransactItems": [write], "ClientRequestToken": "t"})
        assert keys(db) == [key]
        states.go_back()


def test_an_open_snapshot_keeps_what_it_sees() -> None:
    store = MemoryStore()
    with Database(store) as db:
        states = db.states()
        db.execute("CreateTable", TABLE)
        snapshot = store.snapshot()
        before = snapshot.read(Range(0, b"", None))
        states.go_back()
        db.execute("CreateTable", TABLE | {"TableName": "others"})
        assert snapshot.read(Range(0, b"", None)) == before
        assert snapshot.read(Get(((0, b"Tothers"),))) == [None]
        snapshot.close()
