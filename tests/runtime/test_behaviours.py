"""What a database does whatever it is stored in: one table of behaviours, over every store."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from running import TABLE, Request, create_table, get, increment, key, put
from waiting import SECONDS_MAX

from hashrange import Database, kv
from hashrange.engine import cost
from hashrange.model.errors import (
    ApiError,
    ConditionalCheckFailedException,
    InternalServerError,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.model.settings import Settings
from hashrange.operations import OPERATIONS
from hashrange.runtime.awaited.threads import LoopThread, StoreOnLoop
from hashrange.runtime.base import LARGE_BODY_BYTES
from hashrange.runtime.mistaken_calls import Closed
from hashrange.storage import MemoryStore, SqliteStore
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.testing.postgres_server import PostgresServer

Open = Callable[..., Database]
Outcome = tuple[str, Any]

LONG = {"L": [{"N": "1"}] * (cost.UNITS_MAX // 2)}
"""A list that may be gone through once where others wait, but not three times."""

LARGE = b" " * LARGE_BODY_BYTES
"""Space at the end of a body, which makes it large."""


@pytest.fixture
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture(params=["memory", "file", "asynchronous", "postgresql"])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, loop_thread: LoopThread
) -> Iterator[Open]:
    """Opens the one database of a test, with the settings given, and makes its table."""
    databases: list[Database] = []
    stores = _stores(request, tmp_path, loop_thread)

    def open_(**settings: Any) -> Database:
        database = Database(next(stores), settings=Settings(**settings))
        if not databases:
            create_table(database.execute)
        databases.append(database)
        return database

    yield open_
    for database in databases:
        database.close()


def _stores(request: pytest.FixtureRequest, folder: Path, thread: LoopThread) -> Iterator[kv.Store]:
    """One after another, which all show the same rows; of a store in memory there is only one."""
    match request.param:
        case "memory":
            yield MemoryStore()
        case "file":
            while True:
                yield SqliteStore(str(folder / "test.db"), durability="relaxed")
        case "asynchronous":
            inner = MemoryStore()
            while True:
                yield StoreOnLoop(AsyncMemoryStore(inner), thread.loop)
    from hashrange.storage.postgres import PostgresStore

    server: PostgresServer = request.getfixturevalue("postgres_server")
    schema = server.new_schema()
    while True:
        store = PostgresStore(schema, durability="relaxed")
        asyncio.run_coroutine_threadsafe(store.open(), thread.loop).result(SECONDS_MAX)
        yield StoreOnLoop(store, thread.loop)


def in_thread(database: Database, name: str, body: bytes) -> Outcome:
    try:
        return "", _decoded(database.runtime.call(name, body))
    except ApiError as error:
        return error.code, error.message


def on_a_loop(database: Database, name: str, body: bytes) -> Outcome:
    async def ask() -> Outcome:
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        database.runtime.submit(name, body, told.set_result)
        outcome = await asyncio.wait_for(told, SECONDS_MAX)
        if isinstance(outcome, ApiError):
            return outcome.code, outcome.message
        if isinstance(outcome, Exception):
            raise outcome
        return "", _decoded(outcome)

    return asyncio.run(ask())


def _decoded(body: bytes) -> Request:
    return msgspec.json.decode(body or b"{}", type=Request)


# ---- requests that cost much ----

REQUESTS: list[tuple[str, Request]] = [
    ("PutItem", {"TableName": TABLE, "Item": key("b") | {"n": {"N": "1"}}}),
    ("PutItem", {"TableName": TABLE, "Item": {"n": {"N": "1"}}}),
    ("UpdateItem", get("b") | {"UpdateExpression": "SET n = :absent"}),
    ("GetItem", get("a")),
    ("Scan", {"TableName": TABLE, "Limit": 0}),
    ("ExecuteStatement", {"Statement": f"SELECT n FROM {TABLE} WHERE pk = 'none'"}),
    ("DescribeTable", {"TableName": "absent"}),
]


@pytest.mark.parametrize("ask", [in_thread, on_a_loop])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_large_body_has_the_outcome_of_a_small_one(
    opened: Open, ask: Callable[..., Outcome], elsewhere: bool
) -> None:
    database = opened()
    if elsewhere:
        database.runtime.evaluate_elsewhere()
    for name, request in REQUESTS:
        body = msgspec.json.encode(request)
        assert ask(database, name, body + LARGE) == ask(database, name, body)


def costly_increment(pk: str) -> Request:
    return get(pk) | {
        "UpdateExpression": "SET n = n + :one",
        "ConditionExpression": "NOT contains(l, :absent)",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":absent": {"S": "absent"}},
    }


@pytest.mark.parametrize("elsewhere", [False, True])
def test_no_costly_write_is_lost_and_none_is_charged_twice(opened: Open, elsewhere: bool) -> None:
    database = opened(throughput="measured")
    if elsewhere:
        database.runtime.evaluate_elsewhere()
    database.execute(
        "PutItem", {"TableName": TABLE, "Item": key("a") | {"l": LONG, "n": {"N": "0"}}}
    )
    explained = database.explain("UpdateItem", costly_increment("a"))
    before = units(database)
    with ThreadPoolExecutor(4) as pool:
        increments = [
            pool.submit(database.execute, "UpdateItem", costly_increment("a")) for _ in range(8)
        ]
        for each in increments:
            each.result(SECONDS_MAX)
    assert database.execute("GetItem", get("a"))["Item"]["n"] == {"N": "8"}
    assert units(database)[1] - before[1] == 8 * explained["write_units"]


# ---- units ----


def units(database: Database) -> tuple[float, float]:
    reports = database.runtime.usage()
    return sum(each.read_units for each in reports), sum(each.write_units for each in reports)


def test_writes_that_race_are_charged_once(opened: Open, request: pytest.FixtureRequest) -> None:
    """Each of two databases writes one item; over some stores, one of them loses and retries."""
    first = opened(throughput="measured")
    alone = request.node.callspec.params["opened"] == "memory"
    databases = [first, first if alone else opened(throughput="measured")]

    def write(database: Database) -> None:
        for _ in range(20):
            database.execute("UpdateItem", increment("a"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, databases * 2))
    assert first.execute("GetItem", get("a"))["Item"]["n"] == {"N": "80"}
    assert sum(units(database)[1] for database in {*databases}) == 80


REFUSED: list[tuple[str, Request, type[ApiError]]] = [
    ("PutItem", put("a") | {"ConditionExpression": "n = pk"}, ConditionalCheckFailedException),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": put("b")},
                {"Put": put("a") | {"ConditionExpression": "n = pk"}},
            ]
        },
        TransactionCanceledException,
    ),
]


@pytest.mark.parametrize(("name", "request_", "error"), REFUSED)
def test_a_refused_request_is_charged_as_explained(
    opened: Open, name: str, request_: Request, error: type[ApiError]
) -> None:
    database = opened(throughput="measured")
    database.execute("PutItem", put("a", s="s" * 3000))
    explained = database.explain(name, request_)
    before = units(database)
    with pytest.raises(error):
        database.execute(name, request_)
    after = units(database)
    assert explained["error"]
    assert after[0] - before[0] == explained["read_units"]
    assert after[1] - before[1] == explained["write_units"]


# ---- the end ----


def test_requests_under_way_are_answered_before_the_end(opened: Open) -> None:
    database = opened()
    outcomes: list[object] = []
    begun = threading.Semaphore(0)

    def write(number: int) -> None:
        for step in range(10_000):
            try:
                database.execute("PutItem", put(f"{number}-{step}"))
            except Exception as error:
                outcomes.append(error)
                return
            begun.release()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert begun.acquire(timeout=SECONDS_MAX)
    database.close()
    for thread in threads:
        thread.join(SECONDS_MAX)
        assert not thread.is_alive()
    assert {type(outcome) for outcome in outcomes} <= {Closed, InternalServerError}
    for ask in (in_thread, on_a_loop):
        with pytest.raises(Closed):
            ask(database, "GetItem", msgspec.json.encode(get("a")))


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("name", ["PutItem", "Scan"])
def test_a_loop_hears_of_all_its_requests_after_the_end(opened: Open, name: str) -> None:
    """Also where commits are made in a thread, and a read takes many slices of time."""
    database = opened()
    store: Any = database._store
    store.slow_commits = True
    for number in range(20):
        database.execute("PutItem", put(str(number)))
    body = msgspec.json.encode(put("a") if name == "PutItem" else {"TableName": TABLE})

    async def ask() -> Any:
        while True:
            told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            database.runtime.submit(name, body, told.set_result)
            outcome = await told
            if not isinstance(outcome, bytes):
                return outcome

    async def scenario() -> list[Any]:
        asking = [asyncio.create_task(ask()) for _ in range(40)]
        await asyncio.sleep(0.02)
        await asyncio.to_thread(database.runtime.close)
        return await asyncio.wait_for(asyncio.gather(*asking), SECONDS_MAX)

    assert {type(outcome) for outcome in asyncio.run(scenario())} <= {Closed, InternalServerError}


def test_what_is_parsed_elsewhere_is_refused_while_the_database_closes(opened: Open) -> None:
    database = opened()
    database.runtime.evaluate_elsewhere()
    database.runtime._jobs.close()
    for name, request in (("PutItem", put("a")), ("GetItem", get("a"))):
        with pytest.raises(Closed):
            in_thread(database, name, msgspec.json.encode(request) + LARGE)


# ---- what must not keep the event loop ----


def test_a_library_is_imported_in_a_thread(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile others are served, and those that need it wait."""
    database = opened()
    calls: list[threading.Thread] = []
    imported = threading.Event()

    def prepare() -> None:
        calls.append(threading.current_thread())
        assert imported.wait(SECONDS_MAX)

    changed = replace(OPERATIONS["SearchVectors"], prepare=prepare)
    monkeypatch.setitem(OPERATIONS, "SearchVectors", changed)
    search = {"TableName": TABLE, "IndexName": "none", "SearchVector": [{"N": "1"}], "TopK": 1}

    async def scenario() -> None:
        searches = [
            asyncio.create_task(database.execute_async("SearchVectors", search)) for _ in range(2)
        ]
        for _ in range(3):
            await database.execute_async("GetItem", get("a"))
        assert not any(each.done() for each in searches)
        imported.set()
        for each in searches:
            with pytest.raises(ValidationException, match="does not have the specified index"):
                await asyncio.wait_for(each, SECONDS_MAX)
        before = len(calls)
        with pytest.raises(ValidationException):
            await database.execute_async("SearchVectors", search)
        assert len(calls) == before

    asyncio.run(scenario())
    assert threading.current_thread() not in calls


def test_a_damaged_database_refuses_writes_and_answers_reads(opened: Open) -> None:
    database = opened()
    database.execute("PutItem", put("a"))
    database.runtime.refuse_writes("a page is damaged")
    for body in (msgspec.json.encode(put("b")), msgspec.json.encode(put("b")) + LARGE):
        for ask in (in_thread, on_a_loop):
            assert ask(database, "PutItem", body)[0] == "InternalServerError"
    assert database.execute("GetItem", get("a"))["Item"] == key("a")
    with pytest.raises(kv.Damaged, match="a page is damaged"):
        database.runtime.probe()
