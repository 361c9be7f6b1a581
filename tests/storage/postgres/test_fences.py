"""Changes of definitions in the `citus` dialect, and those that are lost on the way."""

import asyncio

import pytest
from planting import bug_in, found_by_a_test

from hashrange.kv import CATALOG, CLOCK, Conflict, CreateSpace, Get, Head, Put
from hashrange.storage.postgres import PostgresStore
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


@pytest.mark.usefixtures("little_patience")
def test_a_lost_change_is_opened_by_whoever_meets_it(dsn: str) -> None:
    """And cannot commit any more if it was only slow."""

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


def test_a_writer_with_old_definitions_cannot_commit(dsn: str) -> None:
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


def test_fences_that_nobody_looks_at_are_found_out(dsn: str) -> None:
    with bug_in(Plan, "_add_fence", lambda *_: None), found_by_a_test():
        test_a_writer_with_old_definitions_cannot_commit(dsn)
