"""The order and the number of a query's items."""

import asyncio
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st


class Event(st.Item):
    key = st.key("event#{source}", "{number:04d}")
    spread = st.index("GSI1", "all#{number|shard:3}", "{number:04d}")

    source: st.Slug
    number: int
    kind: str = "a"


class Other(st.Item):
    key = st.key("other#{other_id}", "info")

    other_id: st.Slug


class Events(st.Store, Protocol):
    def events(self, source: str) -> st.Query[Event]: ...
    @st.latest
    def newest(self, source: str) -> st.Query[Event]: ...
    def spread(self) -> st.Query[Event]: ...
    @st.where("kind = :kind")
    def of_kind(self, source: str, kind: str) -> st.Query[Event]: ...
    @st.scan_ok("a test")
    def everything(self) -> st.Query[Event | Other]: ...


table = st.Table("events", Events)


class Counting:
    def __init__(self, database: hashrange.Database) -> None:
        self.database = database
        self.sent: list[dict[str, Any]] = []

    def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(payload)
        answer: dict[str, Any] = self.database.execute(operation, payload)
        return answer


@pytest.fixture
def connection(database: hashrange.Database) -> Counting:
    table.create(database)
    db = table.open(Events, database)
    for number in range(10):
        db.put(Event(source="s", number=number, kind="ab"[number % 2]))
    return Counting(database)


@pytest.fixture
def db(connection: Counting) -> Events:
    return table.open(Events, connection)


def numbers(found: Any) -> list[int]:
    return [event.number for event in found]


def test_reverse(db: Events) -> None:
    assert numbers(db.events("s").reverse()) == [*range(9, -1, -1)]
    assert numbers(db.newest("s").reverse()) == [*range(10)]
    assert numbers(db.events("s").reverse().reverse()) == [*range(10)]
    assert numbers(db.spread()) == [*range(10)]
    assert numbers(db.spread().reverse()) == [*range(9, -1, -1)]
    with pytest.raises(st.BadValue, match="a Scan has no order"):
        db.everything().reverse()


def test_limit(db: Events, connection: Counting) -> None:
    assert numbers(db.events("s").limit(3)) == [0, 1, 2]
    assert connection.sent[-1]["Limit"] == 3
    assert numbers(db.events("s").reverse().limit(2)) == [9, 8]
    assert numbers(db.events("s").limit(2).reverse()) == [9, 8]
    assert numbers(db.events("s").limit(99)) == [*range(10)]
    assert numbers(db.spread().limit(4)) == [0, 1, 2, 3]
    assert numbers(db.of_kind("s", "b").limit(2)) == [1, 3]
    assert numbers(db.events("s").limit(3).of(Event)) == [0, 1, 2]
    assert numbers(db.events("s").limit(3).of(st.Item)) == [0, 1, 2]
    sent = len(connection.sent)
    with pytest.raises(st.BadValue, match=r"returns Event, not Other"):
        db.events("s").of(Other)
    assert len(connection.sent) == sent
    for wrong in (0, -1):
        with pytest.raises(st.BadValue, match="at least 1"):
            db.events("s").limit(wrong)
    with pytest.raises(st.BadValue, match="a page has a size already"):
        db.events("s").limit(3).page(2)


def test_first(db: Events, connection: Counting) -> None:
    first = db.events("s").first()
    assert first
    assert first.number == 0
    assert [request.get("Limit") for request in connection.sent[-1:]] == [1]
    last = db.events("s").reverse().first()
    assert last
    assert last.number == 9
    odd = db.of_kind("s", "b").first()
    assert odd
    assert odd.number == 1
    assert db.events("x").first() is None


def test_pages_of_a_reversed_query(db: Events) -> None:
    query = db.events("s").reverse()
    page = query.page(4)
    assert numbers(page) == [9, 8, 7, 6]
    assert numbers(query.page(4, page.cursor)) == [5, 4, 3, 2]
    with pytest.raises(st.InvalidCursor):
        db.events("s").page(4, page.cursor)
    shown = db.events("s").reverse().explain()
    assert shown.requests[0][1]["ScanIndexForward"] is False


def test_an_asynchronous_query_does_the_same(database: hashrange.Database) -> None:
    class AsyncEvents(st.AsyncStore, Protocol):
        def events(self, source: str) -> st.AsyncQuery[Event]: ...

    async def use() -> None:
        async_table = st.Table("events", AsyncEvents)
        async_table.create(database)
        db = async_table.open(AsyncEvents, database)
        for number in range(5):
            await db.put(Event(source="s", number=number))
        assert [e.number async for e in db.events("s").reverse().limit(2)] == [4, 3]
        last = await db.events("s").reverse().first()
        assert last
        assert last.number == 4

    asyncio.run(use())
