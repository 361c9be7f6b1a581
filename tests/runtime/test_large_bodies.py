"""Over an asynchronous store too, a server parses large bodies in another process."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from running import TABLE, create_table, get, put

from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import LoopThread
from hashrange.runtime.base import LARGE_BODY_BYTES
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore
from hashrange.testing.async_memory import AsyncMemoryStore

Request = dict[str, Any]
LARGE = b" " * LARGE_BODY_BYTES
"""Space at the end of a body, which makes it large."""

REQUESTS: list[tuple[str, Request]] = [
    ("PutItem", put("b")),
    ("PutItem", {"TableName": TABLE, "Item": {}}),
    ("PutItem", {"TableName": "absent", "Item": {}}),
    ("GetItem", get("a")),
    ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [{}] * 101}}}),
    ("Scan", {"TableName": TABLE, "Limit": 0}),
    ("ExecuteStatement", {"Statement": f"SELECT * FROM {TABLE}"}),
    ("ExecuteStatement", {"Statement": f"DELETE FROM {TABLE} WHERE pk = 'none'"}),
    ("CreateTable", {"TableName": "t"}),
]


def encoded(request: Request) -> bytes:
    return msgspec.json.encode(request)


def store() -> MemoryStore:
    """A store with the table."""
    inner = MemoryStore()
    runtime = Runtime(inner)

    def call(name: str, request: Request) -> Request:
        return msgspec.json.decode(runtime.call(name, encoded(request)), type=Request)

    create_table(call)
    return inner


@pytest.fixture
def runtime() -> Iterator[AsyncRuntime]:
    own = LoopThread()
    runtime = AsyncRuntime(AsyncMemoryStore(store()), own.loop)
    runtime.evaluate_elsewhere()
    yield runtime
    runtime.close()
    own.close()


def outcome(runtime: AsyncRuntime | Runtime, name: str, body: bytes) -> Any:
    try:
        return runtime.call(name, body)
    except ApiError as error:
        return error.code, error.message


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations whose requests are parsed in this process."""
    names: list[str] = []

    def request(self: Operation, body: bytes) -> Any:
        names.append(self.name)
        return whole(self, body)

    whole = Operation.request
    monkeypatch.setattr(Operation, "request", request)
    return names


@pytest.mark.parametrize(("name", "request_"), REQUESTS)
def test_a_large_body_has_the_outcome_of_a_small_one(
    runtime: AsyncRuntime, parsed_here: list[str], name: str, request_: Request
) -> None:
    expected = outcome(Runtime(store()), name, encoded(request_))
    parsed_here.clear()
    assert outcome(runtime, name, encoded(request_) + LARGE) == expected
    assert name not in parsed_here  # (upkeep, which runs beside it, may be)


def test_a_large_write_is_seen_and_a_table_deleted(runtime: AsyncRuntime) -> None:
    runtime.call("PutItem", encoded(put("b")) + LARGE)
    assert b"Item" in runtime.call("GetItem", encoded(get("b")))
    runtime.call("DeleteTable", encoded({"TableName": TABLE}) + LARGE)
    assert outcome(runtime, "PutItem", encoded(put("b")))[0] == "ResourceNotFoundException"
