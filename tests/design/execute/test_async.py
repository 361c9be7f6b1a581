"""The asynchronous store: the same steps, awaited."""

import asyncio
from typing import Protocol

import pytest

import hashrange
from hashrange import design as st


class Counter(st.Item):
    key = st.key("counter#{group}", "{name}")

    group: st.Slug
    name: st.Slug
    total: int = 0


class Counters(st.AsyncStore, Protocol):
    async def counter(self, group: str, name: str) -> Counter | None: ...
    def counters(self, group: str) -> st.AsyncQuery[Counter]: ...
    @st.counts(Counter)
    async def count(self, group: str) -> int: ...


table = st.Table("counters", Counters)


def test_everything_is_awaited(database: hashrange.Database) -> None:
    table.create(database)

    async def session() -> None:
        db = table.open(Counters, database)
        async with db.batch() as batch:
            for n in range(5):
                batch.put(Counter(group="g", name=f"n{n}"))
        assert [c.name async for c in db.counters("g")] == ["n0", "n1", "n2", "n3", "n4"]
        assert await db.count("g") == 5
        page = await db.counters("g").page(3)
        assert [c.name for c in await db.counters("g").page(3, page.cursor)] == ["n3", "n4"]
        async with db.edit(db.counter, "g", "n1") as counter:
            counter.total = 5
        async with db.patch(db.counter, group="g", name="n2") as blank:
            blank.total = 7
        assert [c.total for c in await db.counters("g").of(Counter)] == [0, 5, 7, 0, 0]

        def grow(counter: Counter) -> None:
            counter.total += 1

        assert (await db.update(db.counter, grow, "g", "n1")).total == 6
        assert (await db.add(Counter(group="g", name="n1"), total=4)).total == 10
        with pytest.raises(st.AlreadyExists):
            await db.create(Counter(group="g", name="n1"))
        async with db.transaction() as together:
            together.delete(Counter(group="g", name="n0"))
            together.check(Counter(group="g", name="n1"), "total = :t", t=10)
        found = await db.get_many(db.counter, [("g", "n0"), ("g", "n1")])
        assert [c and c.total for c in found] == [None, 10]
        await db.delete(db.counter, "g", "n1")
        assert await db.counter("g", "n1") is None

    asyncio.run(session())


def test_a_blocking_client_is_refused(database: hashrange.Database) -> None:
    client = database.boto3_session().client("dynamodb")
    with pytest.raises(TypeError, match="block the event loop"):
        table.open(Counters, client)


def test_an_asynchronous_store_needs_no_pattern(database: hashrange.Database) -> None:
    class Plain(st.AsyncStore, Protocol):
        pass

    plain = st.Table("plain", Plain, Counter)

    async def go() -> Counter:
        plain.create(database)
        return await plain.open(Plain, database).put(Counter(group="g", name="n", total=7))

    assert asyncio.run(go()).total == 7
    with pytest.raises(TypeError, match="would block the event loop"):
        plain.open(Plain, database.boto3_session().client("dynamodb"))
