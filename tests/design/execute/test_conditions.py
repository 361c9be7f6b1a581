"""Conditions on writes, and bounds of fields that the database keeps."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import design as st

pytestmark = pytest.mark.slow


class Stock(st.Item):
    key = st.key("stock#{product_id}", "info")

    product_id: st.Slug
    available: Annotated[int, Field(ge=0)] = 0
    reserved: Annotated[int, Field(gt=-1, le=10)] = 0
    price: Annotated[Decimal, Field(lt=100)] = Decimal(1)
    state: str = "open"
    note: str | None = None


class Login(st.Item):
    key = st.key("login#{login_id}", "info")
    one_email = st.unique("{email}")

    login_id: st.Slug
    email: str
    state: str = "new"


class Shop(st.Store, Protocol):
    def stock(self, product_id: str) -> Stock | None: ...
    def login(self, login_id: str) -> Login | None: ...


table = st.Table("shop", Shop)


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> Shop:
    client = database.boto3_session().client("dynamodb")
    table.create(database)
    db = table.open(Shop, database if request.param == "in process" else client)
    db.create(Stock(product_id="1", available=5))
    db.create(Login(login_id="1", email="a"))
    return db


def stock(db: Shop) -> Stock:
    found = db.stock("1")
    assert found
    return found


Write = Callable[[Shop, dict[str, Any]], object]
WRITES: dict[str, Write] = {
    "put": lambda db, c: db.put(Stock(product_id="1", available=1), **c),
    "save": lambda db, c: db.save(stock(db).replace(note="x"), **c),
    "move": lambda db, c: db.move(stock(db).replace(product_id="2"), **c),
    "add": lambda db, c: db.add(Stock(product_id="1"), available=1, **c),
    "delete": lambda db, c: db.delete(stock(db), **c),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_under_a_condition(db: Shop, name: str) -> None:
    with pytest.raises(st.ConditionFailed, match=r"Stock: .* :n' is false") as no:
        WRITES[name](db, {"where": "available >= :n", "n": 6})
    assert type(no.value) is st.ConditionFailed
    assert stock(db) == Stock(product_id="1", available=5)
    WRITES[name](db, {"where": "available >= :n", "n": 5})
    assert db.stock("1") != Stock(product_id="1", available=5)


@pytest.mark.parametrize("name", WRITES)
def test_the_same_in_a_transaction(db: Shop, name: str) -> None:
    def write(t: Any, condition: dict[str, Any]) -> None:
        if name == "add":
            t.add(Stock(product_id="1"), available=1, **condition)
        elif name == "put":
            t.put(Stock(product_id="1", available=1), **condition)
        elif name == "delete":
            t.delete(stock(db), **condition)
        else:
            t.save(stock(db).replace(note="x"), **condition)

    with pytest.raises(st.ConditionFailed, match=" is false"), db.transaction() as t:
        write(t, {"where": "state = :s", "s": "closed"})
    assert stock(db) == Stock(product_id="1", available=5)
    with db.transaction() as t:
        write(t, {"where": "state = :s", "s": "open"})
    assert db.stock("1") != Stock(product_id="1", available=5)


def test_a_write_that_reads_first_takes_a_condition(db: Shop) -> None:
    with pytest.raises(st.ConditionFailed, match=" is false"):
        db.put(Login(login_id="1", email="b"), where="state = :s", s="confirmed")
    db.put(Login(login_id="1", email="b"), where="state = :s", s="new")
    with pytest.raises(st.ConditionFailed, match=" is false"):
        db.delete(Login(login_id="1", email="b"), where="state = :s", s="confirmed")
    db.delete(Login(login_id="1", email="b"), where="state = :s", s="new")
    assert db.login("1") is None


def test_the_condition_and_the_race_are_told_apart(db: Shop) -> None:
    old = stock(db)
    db.save(old.replace(note="first"))
    with pytest.raises(st.Conflict):
        db.save(old.replace(note="second"), where="available >= :n", n=5)
    with pytest.raises(st.NotFound):
        db.add(Stock(product_id="9"), available=1, where="state = :s", s="open")
    with pytest.raises(st.DeclarationError, match="did you mean 'available'"):
        db.put(old, where="avalable >= :n", n=5)
    with pytest.raises(st.DeclarationError, match="no value for :n"):
        db.put(old, where="available >= :n")
    with pytest.raises(TypeError, match="only if `where` is a text"):
        db.put(old, n=5)


def test_adding_stays_within_the_declared_bounds(db: Shop) -> None:
    assert db.add(Stock(product_id="1"), available=-5).available == 0
    with pytest.raises(st.ConditionFailed, match=r"Stock.available=-1: .*>= 0"):
        db.add(Stock(product_id="1"), available=-1)
    assert db.add(Stock(product_id="1"), reserved=10).reserved == 10
    with pytest.raises(st.ConditionFailed, match="<= 10"):
        db.add(Stock(product_id="1"), reserved=1)
    with pytest.raises(st.ConditionFailed, match="> -1"):
        db.add(Stock(product_id="1"), reserved=-11)
    with pytest.raises(st.ConditionFailed, match="< 100"):
        db.add(Stock(product_id="1"), price=Decimal(99))
    with pytest.raises(st.NotFound):
        db.add(Stock(product_id="9"), available=-1)
    assert db.add(Stock(product_id="1"), available=3, reserved=-10).reserved == 0


def test_bounds_hold_for_the_sum_of_a_transaction(db: Shop) -> None:
    transaction = db.transaction()
    t = transaction.__enter__()
    t.add(Stock(product_id="1"), available=-3)
    t.add(Stock(product_id="1"), available=-3)
    with pytest.raises(st.ConditionFailed, match=">= 0"):
        transaction.__exit__(None, None, None)
    with db.transaction() as t:
        t.add(Stock(product_id="1"), available=-3)
        t.add(Stock(product_id="1"), available=-2)
    assert stock(db).available == 0
    with db.transaction() as t:
        t.add(Stock(product_id="1"), available=-3)
        t.add(Stock(product_id="1"), available=4)
    assert stock(db).available == 1


def test_an_attribute_that_is_not_there_counts_as_zero(
    db: Shop, database: hashrange.Database
) -> None:
    key = {"pk": {"S": "stock#7"}, "sk": {"S": "info"}}
    raw = {**key, "entityType": {"S": "Stock"}, "product_id": {"S": "7"}}
    database.execute("PutItem", {"TableName": table.name, "Item": raw})
    with pytest.raises(st.ConditionFailed):
        db.add(Stock(product_id="7"), available=-1)
    with pytest.raises(st.ConditionFailed):
        db.add(Stock(product_id="7"), reserved=11)
    assert db.add(Stock(product_id="7"), reserved=10).reserved == 10


def test_a_batch_refuses_conditions(db: Shop) -> None:
    with pytest.raises(st.BadValue, match="conditions"), db.batch() as batch:
        batch.put(stock(db), where="available >= :n", n=1)  # type: ignore[call-arg]


def test_nothing_is_read_first(db: Shop) -> None:
    [(operation, _)] = table.request(Shop.add, Stock(product_id="1"), available=-1).requests
    assert operation == "UpdateItem"


# ---- conditions as classes ----


class InStock(st.Condition[Stock]):
    available: st.AtLeast[int]
    kind: Annotated[st.Prefix[str] | None, st.prefix("state")] = None
    price: st.Between[Decimal] | None = None


class NotNew(st.Condition[Login]):
    before: Annotated[str, st.before("state")]


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        (InStock(available=5), True),
        (InStock(available=6), False),
        (InStock(available=5, kind="op"), True),
        (InStock(available=5, kind="cl"), False),
        (InStock(available=5, price=(Decimal(1), Decimal(2))), True),
        (InStock(available=5, price=(Decimal(2), Decimal(3))), False),
    ],
)
def test_a_condition_as_a_class(db: Shop, where: InStock, holds: bool) -> None:
    writes: list[Callable[[], object]] = [
        lambda: db.put(stock(db).replace(note="a"), where=where),
        lambda: db.save(stock(db).replace(note="b"), where=where),
        lambda: db.add(stock(db), where=where, reserved=1),
        lambda: _check(db, where),
    ]
    for write in writes:
        if holds:
            write()
        else:
            with pytest.raises(st.ConditionFailed):
                write()
    assert stock(db).note == ("b" if holds else None)


def _check(db: Shop, where: InStock) -> None:
    with db.transaction() as t:
        t.check(Stock(product_id="1"), where)


def test_a_condition_of_another_entity(db: Shop) -> None:
    with pytest.raises(st.BadValue, match="NotNew is a condition of Login"):
        db.put(stock(db), where=NotNew(before="new"))  # type: ignore[misc]
    with pytest.raises(TypeError, match="only if `where` is a text"):
        db.put(stock(db), where=InStock(available=5), n=5)


def test_mistakes_in_a_condition_fail_at_declaration() -> None:
    with pytest.raises(st.DeclarationError, match=r"no field 'availble' \(did you mean"):
        type("C", (st.Condition[Stock],), {"__annotations__": {"availble": int}})
    with pytest.raises(st.DeclarationError, match="AtLeast"):
        type("C", (st.Condition[Stock],), {"__annotations__": {"state": st.Day}})
    with pytest.raises(st.DeclarationError, match="name its entity"):
        type("C", (st.Condition,), {"__annotations__": {"state": str}})
    with pytest.raises(st.BadValue, match="compares nothing"):
        Maybe().parts()


class Maybe(st.Condition[Stock]):
    state: str | None = None
