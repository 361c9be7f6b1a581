"""Connections that are lost, at any moment, and a server that goes away and comes back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import pytest
from locks import wait_until_somebody_waits
from waiting import SECONDS_MAX

from hashrange.kv import (
    Add,
    Answer,
    Conflict,
    Counters,
    CreateSpace,
    Get,
    OutcomeUnknown,
    Put,
    StoreError,
)
from hashrange.storage.postgres import PostgresStore, settle
from hashrange.storage.postgres.pool import Pool
from hashrange.storage.postgres.problems import ERRORS
from hashrange.storage.postgres.script import Script
from hashrange.storage.postgres.writes import PLAIN_SLOT
from hashrange.testing.postgres_server import PostgresServer
from hashrange.testing.store_model import value_of

from .stores import SPACE, read, run, write

KEY, ELSEWHERE = (SPACE, b"key"), (SPACE, b"\x00\x00")
"""In two slots."""


class Cut:
    """A connection that is lost at its last message: before the server has seen that, or before it
    answers."""

    def __init__(self, connection: Any, landed: bool) -> None:
        self._connection = connection
        self._landed = landed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def executemany(self, statement: str, arguments: Any) -> Any:
        if self._landed:
            await self._connection.executemany(statement, arguments)
        else:
            self._connection.terminate()
        raise ConnectionResetError("the connection is lost")


async def commit_is_cut(store: PostgresStore, landed: bool) -> None:
    """A write whose connection is lost at COMMIT."""
    take = store.pool.take

    async def cut() -> Any:
        store.pool.take = take  # type: ignore[method-assign]
        return Cut(await take(), landed)

    transaction = await store.begin()
    await transaction.read([Get((KEY,))])
    store.pool.take = cut  # type: ignore[method-assign]
    await transaction.commit([Put(*KEY, value_of(2)), Add(b"n", 1)])


@pytest.mark.parametrize("landed", [True, False])
def test_a_commit_that_is_cut_off_is_settled(postgres_dsn: str, landed: bool) -> None:
    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*KEY, value_of(1)))
        if landed:
            await commit_is_cut(store, landed)
        else:
            with pytest.raises(Conflict):
                await commit_is_cut(store, landed)
        assert await read(store, Get((KEY,))) == [value_of(2 if landed else 1)]
        assert await read(store, Counters((b"n",))) == [int(landed)]
        assert store.figures()["database_connections"] == 0

    run(postgres_dsn, scenario)


def test_a_backend_that_is_still_at_work_is_waited_for(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction is open when the outcome is asked for, and then commits."""

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*KEY, value_of(1)))
        commit = settle.commit
        late: list[asyncio.Task[Any]] = []
        sent = asyncio.Event()

        async def cut(connection: Any, script: Script, *arguments: Any) -> bool:
            async def land() -> None:
                async with store.pool.connection() as other:
                    await wait_until_somebody_waits(other)
                sent.set()
                await connection.execute("COMMIT")

            class Lost:
                async def execute(self, _: str) -> None:
                    late.append(asyncio.create_task(land()))
                    raise TimeoutError

                def terminate(self, *_: object) -> None:
                    """The server does not know yet that the connection is lost."""

                add_log_listener = remove_log_listener = terminate

            await connection.execute("BEGIN")
            await script.run(connection)
            script.begun = True
            await commit(Lost(), script, *arguments)
            return True

        monkeypatch.setattr(settle, "commit", cut)
        await write(store, Put(*KEY, value_of(2)), reads=[Get((KEY,))])
        assert sent.is_set()
        await late[0]
        assert await read(store, Get((KEY,))) == [value_of(2)]

    run(postgres_dsn, scenario)


@pytest.mark.usefixtures("little_patience")
def test_an_outcome_that_cannot_be_found_is_unknown(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    name = dsn.split("/")[3].split("?")[0]

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*KEY, value_of(1)))
        nobody_else = f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"
        await asyncio.to_thread(postgres_server.run, nobody_else)
        with pytest.raises(OutcomeUnknown):
            await commit_is_cut(store, True)

    run(dsn, scenario)


def test_idle_connections_that_were_ended_are_replaced(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    name = dsn.split("/")[3].split("?")[0]

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*KEY, value_of(1)))
        for _ in range(3):
            await asyncio.gather(*(read(store, Get((KEY,))) for _ in range(8)))
            await asyncio.to_thread(
                postgres_server.run,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{name}' AND pid <> pg_backend_pid()",
            )
            assert await read(store, Get((KEY,))) == [value_of(1)]
            snapshot = await store.snapshot()
            await snapshot.close()
        assert store.figures()["database_connections"] == 0

    run(dsn, scenario)


def number_in(answers: list[Answer]) -> int:
    [[value]] = cast(list[list[bytes]], answers)
    return int.from_bytes(value[4:8], "big")


def test_a_lost_question_about_an_outcome_does_not_answer_the_next_one(postgres_dsn: str) -> None:
    """The question leaves the id of the commit behind, as the commit would have done."""

    async def scenario(store: PostgresStore) -> None:
        await store.open()
        fresh = store.pool.fresh
        lost = 0

        @asynccontextmanager
        async def lost_once() -> AsyncIterator[Any]:
            nonlocal lost
            async with fresh() as connection:
                yield connection
            lost += 1
            if lost == 1:
                raise ConnectionResetError

        store.pool.fresh = lost_once  # type: ignore[method-assign]
        asked = PLAIN_SLOT, settle.new_id(store.milliseconds()), store.pool, store.name
        assert not await settle._was_committed(*asked)
        assert lost == 2

    run(postgres_dsn, scenario)


def test_a_server_that_is_killed_under_load_loses_nothing(
    mortal_postgres_server: PostgresServer,
) -> None:
    """Every answered increment is there once it is back, and no other."""
    server = mortal_postgres_server

    async def scenario(*stores: PostgresStore) -> None:
        await write(stores[0], CreateSpace(SPACE), Put(*KEY, value_of(0)))
        unknown = 0
        answered = 0
        over = False

        async def increment(store: PostgresStore) -> None:
            nonlocal answered, unknown
            while not over:
                transaction = await store.begin()
                try:
                    number = number_in(await transaction.read([Get((KEY,))]))
                    await transaction.commit([Put(*KEY, value_of(number + 1)), Add(b"n", 1)])
                    answered += 1
                except OutcomeUnknown:
                    unknown += 1
                except StoreError:
                    pass

        async def kill() -> None:
            nonlocal over
            for _ in range(2):
                before = answered
                while answered < before + 30:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(server.kill)
                await asyncio.sleep(0.1)
                await asyncio.to_thread(server.start)
            over = True

        await asyncio.gather(kill(), *(increment(store) for store in stores * 2))
        landed = number_in(await stores[0].read([Get((KEY,))]))
        assert answered <= landed <= answered + unknown
        assert await read(stores[0], Counters((b"n",))) == [landed]

    run(server.dsn(), scenario, stores=2)


@pytest.mark.usefixtures("little_patience")
def test_a_pool_that_is_used_up_refuses(postgres_dsn: str) -> None:
    async def scenario(store: PostgresStore) -> None:
        snapshots = [await store.snapshot() for _ in range(2)]
        with pytest.raises(StoreError, match="in use"):
            await store.snapshot()
        for snapshot in snapshots:
            await snapshot.close()
        await (await store.snapshot()).close()

    run(postgres_dsn, scenario, pool=2)


def test_a_task_that_is_cancelled_leaves_nothing_behind(postgres_dsn: str) -> None:
    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*KEY, value_of(1)))
        for turns in range(40):
            task = asyncio.create_task(write(store, Put(*KEY, value_of(2)), reads=[Get((KEY,))]))
            await asyncio.sleep(turns * 0.0001)
            task.cancel()
            await asyncio.wait([task])
        assert store.figures()["database_connections"] == 0
        await write(store, Put(*KEY, value_of(3)), reads=[Get((KEY,))])
        assert await read(store, Get((KEY,))) == [value_of(3)]

    run(postgres_dsn, scenario)


def test_a_commit_that_another_node_may_lack_is_not_acknowledged(postgres_dsn: str) -> None:
    """Citus warns, and says COMMIT, if a node is lost before it has committed its part."""

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE))
        async with store.pool.connection() as connection:
            await connection.execute(
                """CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE WARNING 'failed to commit transaction on db3:5432';
                RETURN NEW; END $$;
                CREATE CONSTRAINT TRIGGER warns AFTER INSERT ON rows DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION warn()"""
            )
        with pytest.raises(OutcomeUnknown, match="failed to commit transaction on db3:5432"):
            await write(store, Put(*KEY, value_of(1)), Put(*ELSEWHERE, value_of(1)))
        assert await read(store, Get((KEY,))) == [value_of(1)]

    run(postgres_dsn + "&dialect=citus", scenario)


def test_a_node_that_is_away_is_refused_at_once_and_tried_in_the_background(
    mortal_postgres_server: PostgresServer,
) -> None:
    server = mortal_postgres_server
    address = str(server.folder), int(server.settings["port"])
    node = Pool(server.dsn(), "app", 2, {}, False, address, near=True)

    async def answers() -> bool:
        with suppress(StoreError):
            async with node.connection() as connection:
                return bool(await connection.fetchval("SELECT 1"))
        return False

    async def scenario() -> None:
        assert await answers()
        server.kill()
        with pytest.raises(ERRORS):  # the idle connection
            await answers()
        assert not await answers()
        opened = node.opened
        with pytest.raises(StoreError, match="this node cannot be reached"):
            await node.take()
        server.start()
        async with asyncio.timeout(SECONDS_MAX):
            while not await answers():
                await asyncio.sleep(0.02)
        assert node.opened == opened + 2  # the one that was tried, and the one that is used
        await node.close()

    asyncio.run(scenario())
