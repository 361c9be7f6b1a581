"""Batches of writes over several machines: one part for each machine, and one answer."""

import asyncio
from typing import Any

import msgspec
import pytest
from running import TABLE, create_table, get, key, put
from two_machines import AWAY, Failing
from waiting import run

from hashrange import kv
from hashrange.metering.metered import Metered
from hashrange.model.errors import ApiError, InternalServerError, ValidationException
from hashrange.model.settings import Settings
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore

OTHER = "others"
INDEX: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color")
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-color",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "color", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
MEASURED = Settings(throughput="measured")


def new_runtime() -> tuple[MemoryStore, Runtime]:
    """A runtime with two tables, one of which has a local index."""
    store = MemoryStore()
    runtime = Runtime(store, settings=MEASURED)

    def execute(name: str, body: Any) -> Any:
        return msgspec.json.decode(runtime.call(name, msgspec.json.encode(body)))

    create_table(execute, **INDEX)
    create_table(execute, OTHER)
    return store, runtime


def batch(*names: str, **members: Any) -> dict[str, Any]:
    puts = [{"PutRequest": {"Item": put(name, color="red")["Item"]}} for name in names]
    deletes = [{"DeleteRequest": {"Key": key(name)}} for name in names]
    return {"RequestItems": {TABLE: puts, OTHER: deletes}, **members}


def written(
    store: kv.AsyncStore, *bodies: dict[str, Any], operation: str = "BatchWriteItem"
) -> list[Any]:
    """The outcomes of batches, one after the other. They follow a request that makes the tables
    known."""
    outcomes: list[Any] = []

    async def scenario() -> None:
        runtime = AsyncRuntime(store, asyncio.get_running_loop(), settings=MEASURED)
        runtime.tell_units()
        requests = [("BatchWriteItem", batch("first")), *((operation, it) for it in bodies)]
        for name, body in requests:
            told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            runtime.submit(name, msgspec.json.encode(body), told.set_result)
            outcomes.append(await told)
        await runtime.aclose()

    run(scenario)
    return outcomes[1:]


NAMES = [f"{number}" for number in range(11)]
"""Surely some of them are on each of the two machines."""


@pytest.mark.parametrize("mode", ["TOTAL", "INDEXES", "NONE"])
def test_the_answer_is_that_of_one_machine(mode: str) -> None:
    wanted = {"ReturnConsumedCapacity": mode, "ReturnItemCollectionMetrics": "SIZE"}
    body = batch(*NAMES, **wanted)
    one = msgspec.json.decode(new_runtime()[1].call("BatchWriteItem", msgspec.json.encode(body)))
    inner, sync = new_runtime()
    [outcome] = written(Failing(inner, kv.StoreError("away")), body)
    several = msgspec.json.decode(outcome)
    for answer in one, several:
        answer["ItemCollectionMetrics"][TABLE].sort(
            key=lambda it: it["ItemCollectionKey"]["pk"]["S"]
        )
    assert several == one
    assert isinstance(outcome, Metered)
    assert (outcome.write_units, sorted(outcome.tables)) == (3 * len(NAMES), [TABLE, OTHER])
    for name in NAMES:
        assert b"Item" in sync.call("GetItem", msgspec.json.encode(get(name)))


def test_writes_of_a_machine_that_is_away_are_unprocessed() -> None:
    inner, sync = new_runtime()
    store = Failing(inner, kv.StoreError("away"))
    body = batch(*NAMES, AWAY)
    [outcome] = written(store, body)
    unprocessed = msgspec.json.decode(outcome)["UnprocessedItems"]
    left = {write["PutRequest"]["Item"]["pk"]["S"] for write in unprocessed[TABLE]}
    assert AWAY in left
    assert 1 < len(left) <= len(NAMES)
    assert {each["DeleteRequest"]["Key"]["pk"]["S"] for each in unprocessed[OTHER]} == left
    for name in NAMES:
        found = b"Item" in sync.call("GetItem", msgspec.json.encode(get(name)))
        assert found == (name not in left)
    [again] = written(Failing(inner, kv.StoreError("nobody is away")), batch(*NAMES))
    assert msgspec.json.decode(again) == {"UnprocessedItems": {}}


def assert_all_is_refused(item: dict[str, Any]) -> None:
    """A put of this item refuses the puts of its request on both machines."""
    inner, sync = new_runtime()
    puts = batch(*NAMES)["RequestItems"][TABLE] + [{"PutRequest": {"Item": item}}]
    body = {"RequestItems": {TABLE: puts}}
    [outcome] = written(Failing(inner, kv.StoreError("away")), body)
    assert type(outcome) is ValidationException
    for name in NAMES:
        assert b"Item" not in sync.call("GetItem", msgspec.json.encode(get(name)))


def test_an_invalid_item_refuses_the_whole_request() -> None:
    assert_all_is_refused({"pk": {"S": "no sort key"}})


def test_an_item_that_is_too_large_with_its_entry_refuses_the_whole_request() -> None:
    """Which is known only when the stored item has been read."""
    assert_all_is_refused(put("large", color="red", text="x" * 250_000)["Item"])


def test_an_unknown_outcome_is_not_told_as_unprocessed() -> None:
    inner, _ = new_runtime()
    [outcome] = written(Failing(inner, kv.OutcomeUnknown("lost")), batch(*NAMES[:10], AWAY))
    assert type(outcome) is InternalServerError


def test_if_no_machine_can_write_the_request_fails() -> None:
    inner, _ = new_runtime()
    store = Failing(inner, kv.StoreError("away"))
    [outcome] = written(store, batch(*(f"{AWAY} {name}" for name in NAMES)))
    assert isinstance(outcome, ApiError)
    assert type(outcome) is InternalServerError
    assert len(store.failed) >= 2


def statements(*names: str, **members: Any) -> dict[str, Any]:
    """Inserts of items with these names, and statements that fail."""
    texts = [f"""INSERT INTO "{TABLE}" VALUE {{'pk': '{name}', 'sk': '-'}}""" for name in names]
    update = f"""UPDATE "{TABLE}" SET a = 1 WHERE pk = 'absent' AND sk = '-'"""
    no_key = f"""DELETE FROM "{TABLE}" WHERE sk = '-'"""
    texts[3:3] = [update, "SELEKT", no_key]
    return {"Statements": [{"Statement": text} for text in texts], **members}


@pytest.mark.parametrize("mode", ["TOTAL", "NONE"])
def test_statements_have_the_answers_of_one_machine(mode: str) -> None:
    body = statements(*NAMES, ReturnConsumedCapacity=mode)
    name = "BatchExecuteStatement"
    one = msgspec.json.decode(new_runtime()[1].call(name, msgspec.json.encode(body)))
    inner, sync = new_runtime()
    [outcome] = written(Failing(inner, kv.StoreError("away")), body, operation=name)
    assert msgspec.json.decode(outcome) == one
    assert isinstance(outcome, Metered)
    assert outcome.write_units == len(NAMES) + 1
    for name in NAMES:
        assert b"Item" in sync.call("GetItem", msgspec.json.encode(get(name)))


def test_statements_for_a_machine_that_is_away_fail_alone() -> None:
    inner, sync = new_runtime()
    store = Failing(inner, kv.StoreError("away"))
    body = statements(AWAY, *NAMES)  # the statements without a key are in the part that fails
    [outcome] = written(store, body, operation="BatchExecuteStatement")
    responses = msgspec.json.decode(outcome)["Responses"]
    codes = [each["Error"]["Code"] if "Error" in each else None for each in responses]
    assert codes[4:6] == ["ValidationError", "InternalServerError"]
    assert codes[0] == "InternalServerError"
    del codes[3:6], codes[0]
    assert {*codes} == {None, "InternalServerError"}
    for name, code in zip(NAMES, codes, strict=True):
        found = b"Item" in sync.call("GetItem", msgspec.json.encode(get(name)))
        assert found == (code is None)


def test_parts_of_an_admitted_request_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.runtime.awaited.backlog.REQUESTS_MAX", 1)
    inner, _ = new_runtime()
    [outcome] = written(Failing(inner, kv.StoreError("nobody is away")), batch(*NAMES))
    assert msgspec.json.decode(outcome) == {"UnprocessedItems": {}}
