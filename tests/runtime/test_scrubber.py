"""The search for damage in the background finds it, stops all writes, and finds nothing else."""

import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from running import create_table, get, increment, put, scanned
from waiting import wait_until

import hashrange
from hashrange import Database, kv
from hashrange.model.errors import InternalServerError
from hashrange.storage.memory import MemoryStore
from hashrange.upkeep import scrubber
from hashrange.upkeep.scrubber import scrub

ITEMS = 200
SPACES = {1: "items", 2: "local", 3: "by-color", 5: "time to live"}
DEFINITIONS = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color")]
INDEXES: dict[str, Any] = {
    "AttributeDefinitions": DEFINITIONS,
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "color", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-color",
            "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
EXPIRES = {
    "TableName": "items",
    "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True},
}


def fill(database: Database) -> None:
    """A table whose items are in spaces 1 to 5, in indexes of each kind."""
    create_table(database.execute, **INDEXES)
    for number in range(ITEMS):
        request = put(str(number % 20), str(number), color="red" if number % 2 else "blue")
        request["Item"]["t"] = {"N": "4102444800"}
        database.execute("PutItem", request)
    database.execute("UpdateTimeToLive", EXPIRES)
    database.run_upkeep()


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    with Database(store) as database:
        fill(database)
    return store


def found(store: kv.Store) -> str:
    return "\n".join(problem for part in scrub(store, 0.0001) for problem in part)


def first_row(store: MemoryStore, space: int) -> tuple[bytes, bytes]:
    snapshot = store.snapshot()
    page = snapshot.read(kv.Range(space, b"", None, rows_max=1))
    snapshot.close()
    assert isinstance(page, kv.Page)
    return page.rows[0]


def write(store: MemoryStore, write: kv.Write) -> None:
    transaction = store.begin()
    transaction.write([write])
    transaction.commit()


def test_nothing_is_found_in_a_sound_store(store: MemoryStore) -> None:
    assert found(store) == ""
    assert sum(1 for _ in scrub(store, 0.0001)) > 20, "in many parts"


@pytest.mark.parametrize("space", SPACES)
def test_an_extra_row_is_found(store: MemoryStore, space: int) -> None:
    key, value = first_row(store, space)
    write(store, kv.Put(space, key + b"\x00", value))
    told = "another key" if space == 1 else f"{SPACES[space]}: row {key.hex()}00: it differs"
    assert told in found(store)


@pytest.mark.parametrize("space", SPACES)
def test_a_missing_row_is_found(store: MemoryStore, space: int) -> None:
    key, _ = first_row(store, space)
    write(store, kv.Delete(space, key))
    told = ": its item is missing" if space == 1 else f"{SPACES[space]}: "
    assert told in found(store)


@pytest.mark.parametrize("space", SPACES)
def test_a_changed_row_is_found(store: MemoryStore, space: int) -> None:
    key, value = first_row(store, space)
    write(store, kv.Put(space, key, value[:-1] + b"?"))
    assert found(store)


@pytest.mark.usefixtures("eager_search")
def test_a_damaged_database_can_only_be_read(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    key, _ = first_row(store, 3)
    write(store, kv.Delete(3, key))
    caplog.set_level(logging.CRITICAL)
    with Database(store) as database:
        database.execute("PutItem", put("before"))
        database.start_scrubber()
        wait_until(lambda: bool(caplog.messages))
        [line] = caplog.messages
        assert "damage was found: table items, index by-color" in line
        assert "restore a backup" in line
        with pytest.raises(InternalServerError):
            database.execute("PutItem", put("after"))
        with pytest.raises(kv.Damaged, match="damage was found"):
            database.runtime.probe()
        assert database.execute("GetItem", get("before"))
        assert database.execute("GetItem", get("after")) == {}


@pytest.mark.usefixtures("eager_search", "small_steps")
def test_nothing_is_found_while_everything_changes(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Writes, deletions, an index that is built and deleted, tables that come and go."""
    with hashrange.connect(path, durability="memory") as database:
        fill(database)
        database.start_scrubber()
        for number in range(600):
            pk, sk = str(number * 7 % 20), str(number * 11 % ITEMS)
            match number % 4:
                case 0:
                    database.execute("DeleteItem", get(pk, sk))
                case 1:
                    database.execute("PutItem", put(pk, sk, color="green"))
                case _:
                    database.execute("UpdateItem", increment(pk, sk))
            if number % 50 == 0:
                create_table(database.execute, f"other{number}")
            if number % 50 == 25:
                database.execute("DeleteTable", {"TableName": f"other{number - 25}"})
        passes = database._scrubber.passes
        wait_until(lambda: database._scrubber.passes > passes + 1)
        assert not caplog.messages
        assert scanned(database.execute)


def test_it_rests_most_of_the_time(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubber, "PASS_SECONDS_MIN", 0.0)
    with hashrange.connect(path, durability="memory") as database:
        fill(database)
        database.start_scrubber()
        [thread] = [one for one in threading.enumerate() if one.name == "hashrange-scrubber"]
        assert thread.ident is not None
        clock = time.pthread_getcpuclockid(thread.ident)
        begun, used = time.monotonic(), time.clock_gettime(clock)
        time.sleep(1.0)
        assert time.clock_gettime(clock) - used < 0.25 * (time.monotonic() - begun)


def test_it_ends_with_the_database(tmp_path: Path) -> None:
    database = hashrange.connect(tmp_path / "a.db")
    database.start_scrubber()
    database.start_scrubber()
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("hashrange-scrubber") == 1
    database.close()
    assert "hashrange-scrubber" not in [thread.name for thread in threading.enumerate()]
