# ruff: noqa: RUF012 (pydantic copies such defaults)
"""Every storable type is stored and read back, in process and through boto3."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal, Protocol
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import BaseModel, Field, SecretStr

import hashrange
from hashrange import design as st


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Part(BaseModel):
    name: str
    price: Decimal
    made: datetime | None = None
    inner: "Part | None" = None


class Everything(st.Item):
    key = st.key(st.attr("blob"), st.attr("number"))
    by_when = st.index("GSI1", ("colour", "level"), ("when", "uid"))

    blob: bytes
    number: int
    price: Decimal = Field(default=Decimal("1.50"), alias="p")
    when: datetime
    day: date
    clock: time
    uid: UUID
    colour: Colour
    level: Level
    kind: Literal["a", "b"] = "a"
    yes: bool = False
    secret: SecretStr = SecretStr("s")
    words: list[str] = []
    pair: tuple[int, str] = (1, "x")
    tags: set[str] = set()
    sizes: frozenset[int] = frozenset()
    blobs: set[bytes] = set()
    notes: dict[str, int | None] = {}
    part: Part | None = None
    parts: list[Part] = []
    expires: st.TTL | None = None


class Store(st.Store, Protocol):
    def one(self, blob: bytes, number: int) -> Everything | None: ...
    def of_blob(self, blob: bytes, number: st.After[int]) -> st.Query[Everything]: ...
    def found(
        self, colour: Colour, level: Level, when: st.AtLeast[datetime]
    ) -> st.Query[Everything]: ...


table = st.Table("everything", Store)


def thing(number: int = 1, **more: Any) -> Everything:
    values: dict[str, Any] = {
        "blob": b"\x00\xff",
        "number": number,
        "when": datetime(2024, 5, 6, 7, 8, 9, 10, UTC),
        "day": date(2024, 5, 6),
        "clock": time(7, 8, 9),
        "uid": UUID(int=7),
        "colour": Colour.RED,
        "level": Level.HIGH,
    }
    return Everything(**(values | more))


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> Store:
    table.create(database)
    boto = request.param == "boto3"
    return table.open(Store, database.boto3_session().client("dynamodb") if boto else database)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"p": Decimal("-12345678901234567890.123456789")},
        {"words": ["a", ""], "tags": {"x", "y"}, "sizes": frozenset({3, 20}), "blobs": {b"\0"}},
        {"notes": {"a": 1, "b": None}, "pair": (5, "z"), "yes": True, "kind": "b"},
        {
            "part": Part(name="p", price=Decimal("0.1"), made=datetime(2020, 1, 1, tzinfo=UTC)),
            "parts": [Part(name="q", price=Decimal(2), inner=Part(name="r", price=Decimal(3)))],
        },
        {"expires": datetime(2100, 1, 1, tzinfo=UTC)},
        {"when": datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))},
    ],
)
def test_values_are_stored_and_read_back(db: Store, more: dict[str, Any]) -> None:
    item = thing(**more)
    db.put(item)
    back = db.one(b"\x00\xff", 1)
    assert back == item
    assert back is not None
    assert db.save(back.replace(yes=not item.yes)).yes is not item.yes
    assert [x.number for x in db.found(Colour.RED, Level.HIGH, item.when)] == [1]


def test_binary_keys_in_cursors(db: Store) -> None:
    for number in range(5):
        db.put(thing(number))
    query = db.of_blob(b"\x00\xff", 0)
    page = query.page(2)
    assert [x.number for x in page] == [1, 2]
    assert [x.number for x in query.page(5, page.cursor)] == [3, 4]


def test_stored_forms_of_values() -> None:
    stored = table.dump(thing(expires=datetime(2100, 1, 1, tzinfo=UTC)))
    assert stored["when"] == {"S": "2024-05-06T07:08:09.000010Z"}
    assert stored["p"] == {"N": "1.5"}
    assert stored["expires"] == {"N": "4102444800"}
    assert stored["level"] == {"N": "3"}
    assert stored["words"] == {"L": []}
    assert "tags" not in stored
    assert "part" not in stored
    assert table.load(stored) == thing(expires=datetime(2100, 1, 1, tzinfo=UTC))


class Ordered(st.Item):
    key = st.key("o", "{when}#{price:012.2f}#{number:08d}")

    when: datetime
    price: Decimal
    number: int


ORDERED = st.Table("ordered", Ordered)
ORDERS = some.builds(
    Ordered,
    when=some.datetimes(timezones=some.just(UTC)),
    price=some.decimals(0, 10**8, places=2),
    number=some.integers(0, 10**8 - 1),
)


@given(ORDERS, ORDERS)
def test_keys_sort_as_their_values_do(a: Ordered, b: Ordered) -> None:
    texts = [ORDERED.dump(item)["sk"]["S"] for item in (a, b)]
    values = [(item.when, item.price, item.number) for item in (a, b)]
    assert (texts[0] < texts[1]) == (values[0] < values[1])


@given(some.text(alphabet="a#@1", min_size=1), some.text(alphabet="a#@1", min_size=1))
def test_two_different_items_never_share_a_key(one: str, other: str) -> None:
    """If two items have the same key because of delimiters, one of them is refused."""
    keys: dict[str, Any] = {}
    for item in (Floor(b="b", f=one), Room(b="b", f=one, r=other), Room(b="b", f=other, r=one)):
        try:
            raw = PLACES.dump(item)
        except st.BadValue:
            assert "#" in one + other
            continue
        assert keys.setdefault(raw["sk"]["S"], item) == item
        assert PLACES.load({n: v for n, v in raw.items() if n != "entityType"}) == item


class Floor(st.Item):
    key = st.key("b#{b}", "f#{f}")

    b: st.Slug
    f: str


class Room(st.Item):
    key = st.key("b#{b}", "f#{f}#r#{r}")

    b: st.Slug
    f: str
    r: str


PLACES = st.Table("places", Floor, Room)
