"""What two servers on one PostgreSQL database keep to; each promise is also broken on purpose."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import locks
import pytest
from locks import somebody_waits
from planting import Bug, bug_in, found_by_a_test
from waiting import run, wait_until_async

import hashrange
from hashrange import Database
from hashrange.kv import SYSTEM_SPACE, Put, Write
from hashrange.model.errors import ResourceInUseException, ThrottlingException
from hashrange.runtime.awaited import drive

from .test_databases import CREATE, TABLE, get, put

asyncpg = pytest.importorskip("asyncpg")

from hashrange.storage.postgres import landing, script, settle  # noqa: E402
from hashrange.storage.postgres.transaction import PostgresTransaction  # noqa: E402


class Meeting:
    """Holds a transaction up before COMMIT until another one has come as far, or waits for it."""

    async def of(self, servers: Sequence[Database], operation: str, request: Any) -> list[Any]:
        """The outcomes of the same request to servers at the same time."""
        commit, arrived = settle.commit, 0

        async def held(connection: Any, steps: script.Script, *arguments: Any) -> bool:
            nonlocal arrived
            if not steps.begun:
                await connection.execute("BEGIN")
                steps.begun = True
            await steps.run(connection)
            arrived += 1
            while arrived < len(servers) and not await somebody_waits(connection):
                await asyncio.sleep(locks.PAUSE_SECONDS)
            arrived = len(servers)
            return await commit(connection, steps, *arguments)

        with bug_in(settle, "commit", held):
            asking = [each.execute_async(operation, request) for each in servers]
            return list(await asyncio.gather(*asking, return_exceptions=True))


Promise = Callable[[Meeting, Database, Database], Awaitable[None]]


async def a_table_is_made_once(meeting: Meeting, one: Database, other: Database) -> None:
    """Two servers make tables of the same name at the same time, and tables of other names."""
    answers = await meeting.of((one, other), "CreateTable", CREATE)
    assert [type(answer) for answer in answers if not isinstance(answer, dict)] == [
        ResourceInUseException
    ]
    names = ["other0", "other1"]
    await asyncio.gather(
        *(
            each.execute_async("CreateTable", CREATE | {"TableName": name})
            for each, name in zip((one, other), names, strict=True)
        )
    )
    assert (await one.execute_async("ListTables", {}))["TableNames"] == [TABLE, *names]
    for name in names:
        await one.execute_async("PutItem", put(name) | {"TableName": name})
    for name in names:
        [item] = (await other.execute_async("Scan", {"TableName": name}))["Items"]
        assert item["pk"]["S"] == name


async def a_token_is_used_once(meeting: Meeting, one: Database, other: Database) -> None:
    """A client has sent a request again, to another server, before the first has answered."""
    await one.execute_async("CreateTable", CREATE)
    update = get("n") | {
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
    }
    request = {"TransactItems": [{"Update": update}], "ClientRequestToken": "once"}
    assert await meeting.of((one, other), "TransactWriteItems", request) == [{}, {}]
    assert (await one.execute_async("GetItem", get("n")))["Item"]["n"] == {"N": "1"}


def keep(dsn: str, promise: Promise) -> None:
    async def scenario() -> None:
        async with (
            await hashrange.connect_async(dsn) as one,
            await hashrange.connect_async(dsn) as other,
        ):
            for each in (one, other):
                await each.execute_async("ListTables", {})
            await promise(Meeting(), one, other)

    run(scenario)


# With upkeep in the background, one of its commits may meet that of a request.
@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(
    "promise", [a_table_is_made_once, a_token_is_used_once], ids=lambda it: it.__name__
)
def test_a_promise_is_kept(dsn: str, promise: Promise) -> None:
    keep(dsn, promise)


async def _increment_everywhere(dsn: str) -> None:
    """Tasks of three servers increment one number."""
    servers = [await hashrange.connect_async(dsn) for _ in range(3)]
    increment = get("n") | {
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
    }

    async def work(server: Database) -> None:
        for _ in range(15):
            await server.execute_async("UpdateItem", increment)

    try:
        await servers[0].execute_async("CreateTable", CREATE)
        await servers[0].execute_async("PutItem", put("n"))
        async with asyncio.TaskGroup() as tasks:
            for server in servers * 4:
                tasks.create_task(work(server))
        answer = await servers[0].execute_async("GetItem", get("n"))
        assert answer["Item"]["n"] == {"N": "180"}
    finally:
        for server in servers:
            await server.aclose()


@pytest.mark.parametrize("locking", [True, False])
def test_servers_that_change_one_item_take_turns(
    dsn: str, monkeypatch: pytest.MonkeyPatch, locking: bool
) -> None:
    """A batch that has lost twice locks the item, so that it cannot lose again."""
    attempts = drive.LOCKING_FROM + 1
    monkeypatch.setattr(drive, "CONFLICTS_MAX", attempts)
    late = bug_in(drive, "LOCKING_FROM", drive.LOCKING_FROM if locking else attempts)
    try:
        with late:
            run(partial(_increment_everywhere, dsn))
    except* ThrottlingException:
        assert not locking
    else:
        assert locking


# ---- bugs that are planted ----


@contextmanager
def tables_are_made_without_a_guard() -> Iterator[None]:
    text, parameters = script._PARTS[script.UPDATES]
    guard = "AND r.version = q.expected"
    assert guard in text

    async def create(connection: Any, write: Any) -> None:
        await connection.execute(
            "INSERT INTO spaces VALUES ($1) ON CONFLICT DO NOTHING", write.space
        )

    with (
        bug_in(script, "GUARDED", frozenset()),
        bug_in(script._PARTS, script.UPDATES, (text.replace(guard, ""), parameters)),
        bug_in(landing._ON_SPACES, hashrange.kv.CreateSpace, create),
    ):
        yield


def the_token_is_stored_a_moment_later() -> Bug:
    commit, updates = PostgresTransaction.commit, 0

    async def planted(self: PostgresTransaction, given: Sequence[Write], /) -> None:
        nonlocal updates
        tokens = [write for write in given if _is_of_token(write)]
        await commit(self, [write for write in given if not _is_of_token(write)])
        if tokens:
            updates += 1
            await wait_until_async(lambda: updates == 2)
            await commit(PostgresTransaction(self._store, False), tokens)

    return bug_in(PostgresTransaction, "commit", planted)


def _is_of_token(write: Write) -> bool:
    return isinstance(write, Put) and write.space == SYSTEM_SPACE and write.key[:1] == b"K"


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(
    ("plant", "promise"),
    [
        (tables_are_made_without_a_guard, a_table_is_made_once),
        (the_token_is_stored_a_moment_later, a_token_is_used_once),
    ],
    ids=lambda it: it.__name__,
)
def test_a_planted_bug_breaks_it(dsn: str, plant: Callable[[], Bug], promise: Promise) -> None:
    script._statement.cache_clear()
    try:
        with plant(), found_by_a_test():
            keep(dsn, promise)
    finally:
        script._statement.cache_clear()
