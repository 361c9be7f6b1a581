"""The predicted units are those that a database reports, for every pattern and every write."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.tools.cost.report import Cost
from hashrange.model.values import item_size

from .metered import Metered

pytestmark = pytest.mark.slow

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


class Owner(st.Item):
    key = st.key("owner#{owner_id}", "info")
    one_email = st.unique("{email}")

    owner_id: st.Slug
    email: str
    name: str
    about: str = ""


class Shop(st.Item):
    """Its name is copied to its products, in one transaction."""

    key = st.key("shop#{shop_id}", "info")
    of_owner = st.index("GSI1", "owner#{owner_id}", "shop#{shop_id}")

    shop_id: st.Slug
    owner_id: Annotated[st.Slug, st.ref(Owner)]
    name: str
    city: str
    about: str = ""


class Product(st.Item):
    key = st.key("shop#{shop_id}", "product#{number:04d}")
    by_state = st.index(
        "GSI2",
        "state#{state}",
        "{number:04d}",
        project=["number"],
        when="state = :open",
        open="open",
    )
    by_price = st.local("by_price", st.attr("price"), project="KEYS_ONLY")
    by_added = st.local("by_added", "{added:%Y-%m-%d}", project="ALL")

    shop_id: Annotated[st.Slug, st.ref(Shop)]
    number: int
    state: Literal["open", "sold"] = "open"
    price: int
    added: date
    shop_name: str = st.copy(Shop, "name", sync="transaction")
    text: str = ""


class ProductRef(st.View[Product]):
    shop_id: str
    number: int


class Sale(st.Item):
    """Copies, written after their owner, in several transactions."""

    key = st.key("sale#{shop_id}#{sale_id}", "info")
    of_shop = st.index("GSI3", "sold#{shop_id}", "{sale_id}", project="KEYS_ONLY")

    shop_id: Annotated[st.Slug, st.ref(Shop)]
    sale_id: st.Slug
    city: str = st.copy(Shop, "city", sync="batch")
    note: str = ""


class Event(st.Item):
    key = st.key("event#{event_id|shard:4}", "{at}#{event_id}")

    event_id: st.Slug
    at: datetime
    body: str


OWNERS, SHOPS, PRODUCTS, SALES, EVENTS = 2, 3, 30, 150, 40


class Market(st.Store, Protocol):
    @st.rate(10)
    def owner(self, owner_id: str) -> Owner | None: ...

    @st.consistent
    @st.rate(10)
    def owner_now(self, owner_id: str) -> Owner | None: ...

    @st.rate(10)
    def shop(self, shop_id: str) -> Shop | None: ...

    @st.rate(5, items=SHOPS)
    def shops(self, owner_id: str) -> st.Query[Shop]: ...

    @st.rate(20, items=PRODUCTS)
    def products(self, shop_id: str) -> st.Query[Product]: ...

    @st.consistent
    @st.rate(1, items=PRODUCTS)
    def products_now(self, shop_id: str) -> st.Query[Product]: ...

    @st.rate(1)
    def everything(self, shop_id: str) -> st.Query[Shop | Product]: ...

    @st.counts(Product)
    @st.rate(1, items=PRODUCTS)
    def product_count(self, shop_id: str) -> int: ...

    @st.where("price > :least")
    @st.rate(1, items=5)
    def dear(self, shop_id: str, least: int) -> st.Query[Product]: ...

    @st.using(Product.by_state)
    @st.rate(1, items=PRODUCTS * SHOPS)
    def open(self, state: Literal["open"]) -> st.Query[ProductRef]: ...

    @st.using(Product.by_price)
    @st.rate(1, items=PRODUCTS)
    def by_price(self, shop_id: str, price: st.AtLeast[int]) -> st.Query[Product]: ...

    @st.using(Product.by_added)
    @st.rate(1, items=PRODUCTS)
    def by_added(self, shop_id: str, added: st.AtLeast[date]) -> st.Query[Product]: ...

    @st.latest
    @st.rate(1)
    def newest(self, shop_id: str) -> Product | None: ...

    @st.through(Product)
    @st.rate(1, items=PRODUCTS)
    def shop_of_each(self, shop_id: str) -> st.Query[Shop]: ...

    @st.rate(1, items=EVENTS)
    def events(self, at: st.AtLeast[datetime]) -> st.Query[Event]: ...


OWNER = [Owner(owner_id=f"o{n}", email=f"o{n}@example", name="a name", about="x" * 900)
         for n in range(OWNERS)]  # fmt: skip
SHOP = [
    Shop(shop_id=f"s{n}", owner_id="o0", name=f"shop {n}", city=f"city {n}", about="x" * 1500)
    for n in range(SHOPS)
]
PRODUCT = [
    Product(
        shop_id=f"s{s}", number=n, price=10 + n, added=date(2026, 1, 10 + n % 15),
        shop_name=f"shop {s}", text="x" * 2100,
    )
    for s in range(SHOPS)
    for n in range(PRODUCTS)
]  # fmt: skip
SALE = [Sale(shop_id="s0", sale_id=f"n{n:04d}", city="city 0", note="x" * 40)
        for n in range(SALES)]  # fmt: skip
EVENT = [Event(event_id=f"e{n:03d}", at=MOMENT + timedelta(seconds=n), body="x" * 100)
         for n in range(EVENTS)]  # fmt: skip
ITEMS: list[st.Item] = [*OWNER, *SHOP, *PRODUCT, *SALE, *EVENT]


def volumes() -> Any:
    bare = st.Table("market", Market, Sale)
    sizes = {type(item).__name__: item_size(bare.dump(item)) for item in ITEMS}
    return st.volumes(
        Owner=st.total(OWNERS, size=sizes["Owner"]),
        Shop=st.total(SHOPS, size=sizes["Shop"]) & st.each(Owner, mean=SHOPS, max=SHOPS),
        Product=st.each(Shop, mean=PRODUCTS, max=PRODUCTS, size=sizes["Product"]),
        Sale=st.total(SALES, size=sizes["Sale"]) & st.each(Shop, mean=SALES, max=SALES),
        Event=st.total(EVENTS, size=sizes["Event"]),
    )


WRITES = [
    st.writes(Owner, create=1, delete=0.1, edit=("name",), rate=1),
    st.writes(Owner, edit=("email",), rate=1),
    st.writes(Shop, create=1, edit=("about",), rate=1),
    st.writes(Shop, edit=("owner_id",), rate=1),
    st.writes(Shop, edit=("name",), rate=1),
    st.writes(Shop, edit=("city",), rate=1),
    st.writes(Product, create=3, delete=1, edit=("text",), rate=2),
    st.writes(Product, edit=("state",), rate=2),
    st.writes(Product, edit=("price",), rate=2),
    st.writes(Event, create=9, delete=9),
]
table = st.Table("market", Market, Sale, volumes=volumes(), writes=WRITES)
EXAMPLES: list[st.Item] = [
    OWNER[0], SHOP[0], PRODUCT[0], SALE[0], EVENT[0],
    OWNER[1].replace(name="b name"), SHOP[1].replace(owner_id="o1", about="y" * 1500),
    PRODUCT[31].replace(state="sold", price=99, text="y" * 2100), EVENT[1],
]  # fmt: skip


@pytest.fixture(scope="module")
def filled() -> hashrange.Database:
    database = hashrange.connect()
    table.create(database)
    db = table.open(Market, database)
    with db.batch(copies=False) as batch:
        for item in ITEMS:
            if not isinstance(item, Owner):
                batch.put(item)
    for owner in OWNER:
        db.create(owner)
    return database


@pytest.fixture
def metered(filled: hashrange.Database) -> Metered:
    return Metered(filled)


@pytest.fixture(scope="module")
def predicted() -> Cost:
    return st.cost(table, examples=EXAMPLES)


READS: dict[str, Callable[[Market], object]] = {
    "owner": lambda db: db.owner("o0"),
    "owner_now": lambda db: db.owner_now("o0"),
    "shop": lambda db: db.shop("s0"),
    "shops": lambda db: list(db.shops("o0")),
    "products": lambda db: list(db.products("s0")),
    "products_now": lambda db: list(db.products_now("s0")),
    "everything": lambda db: list(db.everything("s0")),
    "product_count": lambda db: db.product_count("s0"),
    "dear": lambda db: list(db.dear("s0", 30)),
    "open": lambda db: list(db.open("open")),
    "by_price": lambda db: list(db.by_price("s0", 0)),
    "by_added": lambda db: list(db.by_added("s0", date(2026, 1, 1))),
    "newest": lambda db: db.newest("s0"),
    "shop_of_each": lambda db: list(db.shop_of_each("s0")),
    "events": lambda db: list(db.events(MOMENT)),
}


def test_every_pattern_is_measured(predicted: Cost) -> None:
    assert {f"Market.{name}" for name in READS} == {
        line.name for line in predicted.lines if line.kind == "pattern"
    }


@pytest.mark.parametrize("name", READS)
def test_reads(name: str, metered: Metered, predicted: Cost) -> None:
    READS[name](table.open(Market, metered))
    line = predicted.line(f"Market.{name}")
    assert dict(line.reads) == metered.reads
    assert line.requests == metered.requests


def edited(get: str, key: tuple[Any, ...], field: str, value: Any) -> Callable[[Any], None]:
    def edit(db: Any) -> None:
        with db.edit(getattr(db, get), *key) as item:
            setattr(item, field, value)

    return edit


MARKED = Owner(owner_id="o9", email="o9@example", name="a name", about="x" * 900)
ADDED = PRODUCT[0].replace(number=99)


CHANGES: dict[str, Callable[[Any], object]] = {
    "create Owner": lambda db: db.create(MARKED),
    "delete Owner": lambda db: db.delete(MARKED),
    "edit Owner: name": edited("owner", ("o0",), "name", "c name"),
    "edit Owner: email": edited("owner", ("o0",), "email", "oX@example"),
    "create Product": lambda db: db.create(ADDED),
    "delete Product": lambda db: db.delete(ADDED),
    "create Shop": lambda db: db.create(SHOP[0].replace(shop_id="s9")),
    "edit Shop: about": edited("shop", ("s1",), "about", "z" * 1500),
    "edit Shop: owner_id": edited("shop", ("s1",), "owner_id", "o1"),
    "edit Shop: name": edited("shop", ("s0",), "name", "shop Z"),
    "edit Shop: city": edited("shop", ("s0",), "city", "city Z"),
    "create Event": lambda db: db.create(EVENT[0].replace(event_id="e999")),
    "delete Event": lambda db: db.delete(EVENT[0].replace(event_id="e999")),
}
"""In an order in which each finds what it needs."""
EDITED = {"text": "z" * 2100, "state": "sold", "price": 98}


@pytest.fixture(scope="module")
def consumed(filled: hashrange.Database) -> dict[str, Metered]:
    found = {}
    for name, change in CHANGES.items():
        found[name] = Metered(filled)
        change(table.open(Market, found[name]))
    for field, value in EDITED.items():
        item = next(p for p in table.open(Market, filled).products("s1") if p.number == 7)
        meter = found[f"edit Product: {field}"] = Metered(filled)
        db = table.open(Market, meter)
        key = {name: table.dump(item)[name] for name in ("pk", "sk")}
        meter.execute("GetItem", {"TableName": "market", "Key": key, "ConsistentRead": True})
        db.save(item.replace(**{field: value}))
    return found


def test_every_write_is_measured(predicted: Cost, consumed: dict[str, Metered]) -> None:
    assert set(consumed) == {line.name for line in predicted.lines if line.kind != "pattern"}


@pytest.mark.parametrize("name", [*CHANGES, *(f"edit Product: {field}" for field in EDITED)])
def test_writes(name: str, predicted: Cost, consumed: dict[str, Metered]) -> None:
    line, meter = predicted.line(name), consumed[name]
    assert not any("not known" in note for note in line.notes), line.notes
    assert dict(line.writes) == meter.writes
    assert dict(line.reads) == meter.reads
    assert line.requests == meter.requests


class Scanned(st.Store, Protocol):
    @st.scan_ok("a test")
    @st.rate(0.01)
    def events(self) -> st.Query[Event]: ...


def test_a_scan() -> None:
    """A new table has four partitions, and a Scan is rounded for each."""
    small = st.Table("small", Scanned, volumes=st.volumes(Event=st.total(4, size=200)))
    database = hashrange.connect()
    small.create(database)
    metered = Metered(database)
    db = small.open(Scanned, metered)
    for event in EVENT[:4]:
        db.put(event)
    assert len(list(db.events())) == 4
    assert dict(st.cost(small).line("Scanned.events").reads) == metered.reads
