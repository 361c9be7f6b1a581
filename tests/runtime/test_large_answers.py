"""Requests for large items take turns, and small requests do not wait for them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from running import TABLE, create_table, get, put
from waiting import SECONDS_MAX

from hashrange import Database, kv
from hashrange.runtime.awaited.threads import open_in_thread
from hashrange.storage import MemoryStore, SqliteStore
from hashrange.testing.async_memory import AsyncMemoryStore

LARGE_READS = 20


@pytest.fixture(params=["memory", "file", "asynchronous"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    store: kv.Store
    if request.param == "memory":
        store = MemoryStore()
    elif request.param == "file":
        store = SqliteStore(str(tmp_path / "a.db"))
    else:
        store = open_in_thread(opened_asynchronous_store())
    with Database(store) as database:
        create_table(database.execute)
        yield database


async def opened_asynchronous_store() -> kv.AsyncStore:
    return AsyncMemoryStore(turns_max=0)


def test_a_small_read_is_answered_before_large_ones(db: Database) -> None:
    db.execute("PutItem", put("large", text="x" * 350_000))
    db.execute("PutItem", put("small"))
    answered: list[str] = []

    async def ask() -> None:
        all_answered = asyncio.Event()

        def submit(name: str) -> None:
            def done(outcome: object) -> None:
                assert isinstance(outcome, bytes)
                assert name in str(outcome[:200])
                answered.append(name)
                if len(answered) > LARGE_READS:
                    all_answered.set()

            db.runtime.submit("GetItem", msgspec.json.encode(get(name)), done, turn=turn)

        turn: Any = db.runtime.turn()
        for name in ["large"] * LARGE_READS + ["small"]:
            submit(name)
        turn.close()
        await asyncio.wait_for(all_answered.wait(), SECONDS_MAX)

    asyncio.run(ask())
    assert answered.index("small") < LARGE_READS / 2


def test_a_batch_of_tiny_values_has_a_bounded_response() -> None:
    """DynamoDB counts a byte or two for each of them, and JSON has fourteen."""
    db = Database(MemoryStore())
    create_table(db.execute)
    keys = [{"pk": {"S": str(number)}, "sk": {"S": "1"}} for number in range(15)]
    nulls = [{"NULL": True}] * 180_000
    for key in keys:
        db.execute("PutItem", {"TableName": TABLE, "Item": {**key, "nulls": {"L": nulls}}})
    asked, found = keys, 0
    while asked:
        body = {"RequestItems": {TABLE: {"Keys": asked}}}
        response = db.runtime.call("BatchGetItem", msgspec.json.encode(body))
        assert len(response) < 34 * 1024 * 1024
        answer = msgspec.json.decode(response)
        found += len(answer["Responses"][TABLE])
        asked = answer["UnprocessedKeys"].get(TABLE, {"Keys": []})["Keys"]
    assert found == len(keys)
    db.close()
