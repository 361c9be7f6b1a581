"""`check` reports every row and counter that does not follow from the items."""

from collections.abc import Callable

import pytest
from tracing import TracedStore

from hashrange import Database, kv
from hashrange.engine.keyspace import system
from hashrange.storage.memory import MemoryStore
from hashrange.upkeep.integrity import problems
from hashrange.upkeep.upkeep import Upkeep

TABLE = {
    "TableName": "readings",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "owner")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_owner",
            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "owner", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
SPACES = {1: "items", 2: "local", 3: "by_owner", 5: "time to live"}
COLLECTIONS = 4
FAR = "4102444800"


@pytest.fixture
def store() -> MemoryStore:
    """A table with two indexes and time to live, whose rows are in spaces 1 to 5."""
    store = MemoryStore()
    with Database(store) as db:
        db.execute("CreateTable", TABLE)
        for number in range(3):
            item = {"pk": {"S": "p"}, "sk": {"S": str(number)}, "owner": {"S": "x"}}
            db.execute("PutItem", {"TableName": "readings", "Item": {**item, "t": {"N": FAR}}})
        ttl = {"AttributeName": "t", "Enabled": True}
        db.execute("UpdateTimeToLive", {"TableName": "readings", "TimeToLiveSpecification": ttl})
        while Upkeep(db.runtime).run_once():
            pass
        assert not list(db.check())
    return store


def rows(store: MemoryStore, space: int) -> list[tuple[bytes, bytes]]:
    snapshot = store.snapshot()
    page = snapshot.read(kv.Range(space, b"", None))
    snapshot.close()
    assert isinstance(page, kv.Page)
    return page.rows


def write(store: MemoryStore, *writes: kv.Write) -> None:
    transaction = store.begin()
    transaction.write(writes)
    transaction.commit()


@pytest.mark.parametrize("space", SPACES)
def test_an_extra_row_is_found(store: MemoryStore, space: int) -> None:
    (key, value), *_ = rows(store, space)
    write(store, kv.Put(space, key + b"\x00", value))
    found = "\n".join(problems(store))
    expected = "the row has an item with another key"
    assert (expected if space == 1 else f"{SPACES[space]}: 4 rows instead of 3") in found


@pytest.mark.parametrize("space", SPACES)
def test_a_missing_row_is_found(store: MemoryStore, space: int) -> None:
    (key, _), *_ = rows(store, space)
    write(store, kv.Delete(space, key))
    first, *_ = problems(store)
    if space > 1:
        assert f"{SPACES[space]}: " in first
        assert first.endswith("is missing")


@pytest.mark.parametrize("space", SPACES)
def test_a_damaged_row_is_found(store: MemoryStore, space: int) -> None:
    (key, value), *_ = rows(store, space)
    write(store, kv.Put(space, key, value[:-1] + b"?"))
    assert list(problems(store))


@pytest.mark.parametrize("counter", [system.item_count, system.size_bytes])
@pytest.mark.parametrize("space", [1, 2, 3])
def test_a_wrong_counter_is_found(
    store: MemoryStore, counter: Callable[[int, int], bytes], space: int
) -> None:
    write(store, kv.Add(counter(space, 0), 1))
    [problem] = problems(store)
    assert f"counter {counter(space, 0).decode()} is " in problem


def test_a_wrong_size_of_an_item_collection_is_found(store: MemoryStore) -> None:
    (key, _), *_ = rows(store, 1)
    for size in (1, 0):
        write(store, kv.Put(COLLECTIONS, key[:16], system.encode_number(size)))
        [problem] = problems(store)
        assert f"collection {key[:16].hex()}: the size in bytes is {size}, " in problem


def test_a_size_without_a_collection_is_found(store: MemoryStore) -> None:
    write(store, kv.Put(COLLECTIONS, b"p" * 16, system.encode_number(5)))
    [problem] = problems(store)
    assert problem.endswith("the size in bytes is 5, but should be 0")
    write(store, kv.Put(COLLECTIONS, b"p" * 16, bytes(16)))
    [problem] = problems(store)
    assert problem.endswith("checksum is wrong")


def test_the_rows_of_a_page_are_read_together(store: MemoryStore) -> None:
    """A read may be a round trip to another machine."""
    traced = TracedStore(store)
    assert not list(problems(traced))
    few = len(traced.trace)
    with Database(store) as db:
        for number in range(300):
            item = {"pk": {"S": "p"}, "sk": {"S": f"more{number}"}, "owner": {"S": "y"}}
            db.execute("PutItem", {"TableName": "readings", "Item": {**item, "t": {"N": FAR}}})
        traced.trace.clear()
        assert not list(problems(traced))
    assert len(traced.trace) == few
