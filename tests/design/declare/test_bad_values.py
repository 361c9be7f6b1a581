"""Mistakes at declaration, and values whose error says what is wrong."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st

from ..models import GET_A, A, item, model, patterns

# ---- at declaration ----


def upgraded(decorators: str, shape: int = 2, version: int = 1) -> str:
    return (
        f"class A(st.Item, shape={shape}):\n    key = st.key('a#{{id}}', 'info')\n    id: st.Slug\n"
        + "".join(f"    {line.format(version)}\n" for line in decorators.split(";"))
        + ("    def old(values):\n        return values\n" if decorators else "")
        + patterns(GET_A)
    )


BOTH = "@staticmethod;@st.upgrade(from_version={0})"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (upgraded("@st.upgrade(from_version={0});@staticmethod"), "below @staticmethod"),
        (upgraded("@st.upgrade(from_version={0});@classmethod"), "below @staticmethod"),
        (upgraded(""), "shape 2 needs an @st.upgrade from shape 1"),
        (upgraded(BOTH, 3, 2), "shape 3 needs an @st.upgrade from shape 1"),
        (upgraded(BOTH, 1, 1), "needs a class with a higher shape"),
        (A + patterns("@st.counts(A)\ndef a(self, id: str) -> st.Query[A]: ..."), "@st.counts"),
        (A + patterns("@st.counts(A)\n" + GET_A), "@st.counts"),
        (
            item("A", "'a#{id}'", "id: st.Slug; n: int = 0")
            + patterns(
                "@st.where('begins_with(n, :n)')\ndef a(self, id: str, n: int) -> st.Query[A]: ..."
            ),
            "n is stored as N, but begins_with takes only S or B",
        ),
        (
            item("A", "'a#{id}'", "id: st.Slug; x: str = ''")
            + patterns(
                "@st.where('begins_with(x, :n)')\ndef a(self, id: str, n: int) -> st.Query[A]: ..."
            ),
            "stored as S, but :n as N",
        ),
        (
            item("A", "'a#{id}'", "id: st.Slug; n: int = 0")
            + patterns(
                "@st.where('contains(n, :n)')\ndef a(self, id: str, n: int) -> st.Query[A]: ..."
            ),
            "n is stored as N, but contains takes",
        ),
    ],
)
def test_it_fails_when_it_is_declared(text: str, message: str) -> None:
    with pytest.raises(st.DeclarationError) as refused:
        model(text)
    assert message in str(refused.value)


def test_an_upgrade_below_staticmethod_works() -> None:
    table = model(upgraded(BOTH))
    assert table.load({"pk": {"S": "a#1"}, "sk": {"S": "info"}, "id": {"S": "1"}}) is not None


def test_a_subclass_keeps_the_shape() -> None:
    class Old(st.Item, shape=2):
        key = st.key("a#{id}", "info")
        id: st.Slug

        @staticmethod
        @st.upgrade(from_version=1)
        def old(values: dict[str, Any]) -> dict[str, Any]:
            return values

    class New(Old):
        more: str = ""

    assert New.entity_shape == 2


# ---- values ----


class Event(st.Item):
    key = st.key("event#{name}", "{at}")
    by_tag = st.index("GSI1", st.attr("tag"), "{name}")
    one_code = st.unique("{code}")

    name: str
    at: datetime
    tag: str | None = None
    code: str | None = None
    price: Decimal | None = None
    tags: set[Any] | None = None


class Events(st.Store, Protocol):
    def event(self, name: str, at: datetime) -> Event | None: ...
    def events(self, name: str, at: st.AtLeast[datetime]) -> st.Query[Event]: ...
    def tagged(self, tag: str) -> st.Query[Event]: ...
    @st.where("price >= :price")
    def dear(self, name: str, price: Decimal) -> st.Query[Event]: ...


table = st.Table("events", Events)
NOW = datetime(2024, 1, 1, tzinfo=UTC)
EARLY = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
LATE = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "\ud800"}, r"Event\.name='\\ud800': .*surrogate"),
        ({"code": "\ud800"}, r"Event\.code='\\ud800': .*surrogate"),
        ({"at": EARLY}, r"Event\.at=.*: .*year"),
        ({"at": LATE}, r"Event\.at=.*: .*year"),
        ({"at": datetime(2024, 1, 1)}, r"Event\.at=.*: it has no time zone"),
        ({"name": "x" * 2043}, r"Event\.name='x+\.\.\.: .* 2,049 bytes.* 2,048"),
        ({"name": "é" * 1022}, r"Event\.name='é+\.\.\.: .* 2,050 bytes"),
        ({"tag": "x" * 2049}, r"Event\.tag='x+\.\.\.: .* 2,049 bytes"),
        ({"tag": "t", "name": "x" * 1025}, r"Event\.name='x+\.\.\.: .* 1,025 bytes.* 1,024"),
        ({"code": "x" * 2048}, r"Event\.code='x+\.\.\.: .* 2,048"),
        ({"name": ""}, r"Event\.name='': .*empty"),
        ({"tag": ""}, r"Event\.tag='': .*empty"),
        ({"price": Decimal("1e200")}, r"Event\.price=Decimal\('1E\+200'\): "),
        ({"tags": {object}}, r"Event\.tags=\{<class 'object'>\}: "),
        ({"tags": {1, "a"}}, r"Event\.tags=\{.*\}: a set"),
    ],
)
def test_a_bad_value_is_named_with_entity_and_field(
    values: dict[str, Any], message: str, database: hashrange.Database
) -> None:
    table.create(database)
    db = table.open(Events, database)
    good: dict[str, Any] = {"name": "n", "at": NOW}
    with pytest.raises(st.BadValue, match=message):
        db.put(Event(**(good | values)))
    event = db.put(Event(**good))
    if not values.keys() & {"name", "at"}:
        with pytest.raises(st.BadValue, match=message):
            db.save(event.replace(**values))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda db: db.event("\ud800", NOW), r"Event\.name='\\ud800': .*surrogate"),
        (lambda db: db.event("n", EARLY), r"Event\.at=.*: .*year"),
        (lambda db: db.event("x" * 2043, NOW), r"Event\.name=.* 2,049 bytes"),
        (lambda db: list(db.events("x" * 2043, NOW)), r"Event\.name=.* 2,049 bytes"),
        (lambda db: list(db.events("", NOW)), r"Event\.name='': .*empty"),
        (lambda db: list(db.tagged("x" * 2049)), r"Event\.tag=.* 2,049 bytes"),
        (lambda db: list(db.tagged("")), r"Event\.tag='': .*empty"),
        (lambda db: list(db.dear("n", Decimal("1e200"))), r"Event\.price=.*: "),
        (lambda db: db.event("n", 5), r"Event\.at=5: "),
    ],
)
def test_a_bad_argument_is_named_with_entity_and_field(
    call: Callable[[Any], object], message: str, database: hashrange.Database
) -> None:
    table.create(database)
    with pytest.raises(st.BadValue, match=message):
        call(table.open(Events, database))


def test_a_longest_key_is_stored(database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Events, database)
    event = db.put(Event(name="x" * 2042, at=NOW))
    assert db.event("x" * 2042, NOW) == event


def test_not_unique_names_the_value(database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Events, database)
    db.create(Event(name="a", at=NOW, code="c"))
    with pytest.raises(st.NotUnique) as refused:
        db.create(Event(name="b", at=NOW, code="c"))
    assert str(refused.value) == "Event.one_code (code): another item has 'c'"
    assert (refused.value.field, refused.value.value) == ("one_code", "c")


# ---- puts and deletes of versioned items ----


class Counter(st.Item):
    key = st.key("counter#{name}", "info")

    name: st.Slug
    total: int = 0
    on: date | None = None
    version: st.Version = 0


class Counters(st.Store, Protocol):
    def counter(self, name: str) -> Counter | None: ...


def test_put_and_delete_of_versioned_items(database: hashrange.Database) -> None:
    counters = st.Table("counters", Counters)
    counters.create(database)
    db = counters.open(Counters, database)
    first = db.put(Counter(name="c"))
    assert first.version == 1
    with pytest.raises(st.Conflict):
        db.put(Counter(name="c"))  # a new item replaces none with a version
    second = db.put(first.replace(total=1))
    assert second.version == 2
    with pytest.raises(st.Conflict):
        db.put(first.replace(total=2))  # the version that it has is not the stored one
    with pytest.raises(st.Conflict):
        db.delete(first)
    db.delete(second)
    assert db.counter("c") is None
    db.delete(second)  # it is gone already
    db.put(Counter(name="c"))
    db.delete(Counter(name="c"))  # it was not read, so its version is not compared
    assert db.counter("c") is None
    db.put(Counter(name="c"))
    db.delete(db.counter, "c")
    assert db.counter("c") is None
