"""Changes of definitions in the `citus` dialect, and those that are lost on the way."""

import asyncio

import pytest

from hashrange.kv import CATALOG, CLOCK, Conflict, CreateSpace, Get, Head, Put
from hashrange.storage.postgres import PostgresStore
from hashrange.storage.postgres.cluster import fences
from hashrange.storage.postgres.writes import Plan
from hashrange.testing.store_model import value_of

from .stores import SPACE, read, run, write

HEAD = Head(CATALOG, CLOCK)
KEY = (SPACE, b"key")


@pytest.fixture
def dsn(postgres_dsn: str) -> str:
    return postgres_dsn + "&dialect=citus"


async def define(store: PostgresStore, number: int) -> None:
    await write(store, Put(*CATALOG, value_of(number)), reads=[HEAD])


def a_lost_change_is_opened_by_whoever_meets_it(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And cannot commit any more if it was only slow."""
    monkeypatch.setattr(fences, "RESCUE_SECONDS", 0.0)

    async def scenario(one: PostgresStore, other: PostgresStore) -> None:
        await write(one, CreateSpace(SPACE), Put(*KEY, value_of(1)))
        await define(one, 1)
        slow = await one.begin()
        await slow.read([HEAD])
        closed = await one.fences.close()
        head, rows = await other.read([HEAD, Get((KEY,))])  # by the definitions from before
        assert isinstance(head, tuple)
        assert (head[0], rows) == (value_of(1), [value_of(1)])
        while True:
            try:
                await write(other, Put(*KEY, value_of(2)), reads=[HEAD, Get((KEY,))])
            except Conflict:
                await asyncio.sleep(0.01)
            else:
                break
        with pytest.raises(Conflict):
            await slow.commit([Put(*CATALOG, value_of(2))])
        await one.fences.open(closed, 5, value_of(5))  # nothing has this number any more
        head = await read(other, HEAD)
        assert isinstance(head, tuple)
        assert head[0] == value_of(1)
        assert await read(other, Get((KEY,))) == [value_of(2)]

    run(dsn, scenario, stores=2)


def a_writer_with_old_definitions_cannot_commit(dsn: str, _: pytest.MonkeyPatch) -> None:
    async def scenario(one: PostgresStore, other: PostgresStore) -> None:
        await write(one, CreateSpace(SPACE))
        await define(one, 1)
        late = await other.begin()
        await late.read([HEAD, Get((KEY,))])
        await define(one, 2)
        with pytest.raises(Conflict):
            await late.commit([Put(*KEY, value_of(1))])
        assert await read(one, Get((KEY,))) == [None]

    run(dsn, scenario, stores=2)


def test_a_lost_change(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a_lost_change_is_opened_by_whoever_meets_it(dsn, monkeypatch)


def test_a_late_writer(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a_writer_with_old_definitions_cannot_commit(dsn, monkeypatch)


def test_fences_that_nobody_looks_at_are_found_out(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plan, "_add_fence", lambda *_: None)
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        a_writer_with_old_definitions_cannot_commit(dsn, monkeypatch)
