"""Items of several shapes at once: nothing is missed, and nothing is lost while programs differ."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import hashrange
from hashrange import design as st

from ..models import model

OLD = """
class Book(st.Item):
    key = st.key("book#{id}", "info")
    id: st.Slug
    name: str
    cents: int = 0
    sold: int = 0
    kind: st.Slug = "x"

class P(st.Store, Protocol):
    def book(self, id: str) -> Book | None: ...

table = st.Table("books", P)
"""
NEW = """
def to_title(raw):
    return {"title": raw.pop("name"), **raw}

class Book(st.Item, shape=2):
    key = st.key("book#{id}", "info")
    by_kind = st.index("GSI1", "kind#{kind}", "{id}")
    by_title = st.index("GSI2", st.attr("title"))
    id: st.Slug
    title: str
    price: Decimal = Decimal(0)
    sold: int = 0
    kind: st.Slug = "x"

    @staticmethod
    @st.upgrade(from_version=1)
    def renamed(raw):
        raw = to_title(raw)
        return {**raw, "price": Decimal(raw.pop("cents")) / 100}

class P(st.Store, Protocol):
    def book(self, id: str) -> Book | None: ...
    @st.where("sold >= :least")
    def of_kind(self, kind: str, least: int) -> st.Query[Book]: ...
    #more

table = st.Table("books", P)
"""
READABLE = NEW.replace("shape=2", "shape=2, readable_by=1")
MORE = {
    "where": '@st.where("title = :title")\n'
    "    def by(self, kind: str, title: str) -> st.Query[Book]: ...",
    "a count": '@st.where("price > :price")\n    @st.counts(Book)\n'
    "    def by(self, kind: str, price: Decimal) -> int: ...",
    "an index": "def by(self, title: str) -> st.Query[Book]: ...",
    "a scan": '@st.scan_ok("rare")\n    @st.where("title = :title")\n'
    "    def by(self, title: str) -> st.Query[Book]: ...",
}  # fmt: skip
Opened = Callable[[str], Any]


@pytest.fixture
def opened(database: hashrange.Database) -> Opened:
    """Opens a store of a model's text; `store.Book` is its class."""

    def open_store(text: str) -> Any:
        table = model(text)
        if not database.execute("ListTables", {})["TableNames"]:
            model(NEW).create(database)
        db: Any = table.open(table.protocols[0], database)
        db.Book = table.model.entities[0].model
        return db

    return open_store


@pytest.mark.parametrize("asked", MORE)
def test_a_field_of_another_form_cannot_be_asked_for(asked: str, opened: Opened) -> None:
    text = NEW.replace("#more", MORE[asked])
    with pytest.raises(st.DeclarationError, match=r"items of older shapes have .* backfilled=2"):
        model(text)
    db = opened(text.replace("shape=2", "shape=2, backfilled=2"))
    db.put(db.Book(id="1", title="a", price=3))
    arguments: dict[str, dict[str, Any]] = {
        "where": {"kind": "x", "title": "a"},
        "a count": {"kind": "x", "price": Decimal(2)},
    }
    found = db.by(**arguments.get(asked, {"title": "a"}))
    assert found == 1 if asked == "a count" else len(list(found)) == 1


def test_a_condition_of_a_write_neither(opened: Opened) -> None:
    old, new = opened(OLD), opened(NEW)
    old.put(old.Book(id="1", name="a"))
    book = new.book("1")
    with pytest.raises(st.BadValue, match="items of older shapes have title"):
        new.save(book.replace(sold=1), where="title = :t", t="a")
    new.save(book.replace(sold=1), where="sold = :n", n=0)


def test_diff_asks_for_the_backfill() -> None:
    new = NEW.replace("shape=2", "shape=2, backfilled=2").replace("#more", MORE["where"])
    assert "backfill: Book: backfilled=2 says that no item has an older shape: write older" in str(
        st.diff(model(OLD), model(new))
    )
    assert not st.diff(model(NEW), model(new)).needs_work


def test_a_newer_shape_is_not_read_by_an_older_program(opened: Opened) -> None:
    old, new = opened(OLD), opened(NEW)
    new.put(new.Book(id="1", title="a"))
    with pytest.raises(
        st.ItemError, match=r"has shape 2, and this program reads shapes up to 1.*readable_by=1"
    ):
        old.book("1")


def test_nor_is_one_that_has_all_fields_of_the_older(opened: Opened) -> None:
    newer = OLD.replace("(st.Item)", "(st.Item, shape=2, backfilled=2)")
    db = opened(newer)
    db.put(db.Book(id="b", name="n"))
    with pytest.raises(st.ItemError, match="the item has shape 2"):
        opened(OLD).book("b")


def test_rolling_deploys_lose_nothing(opened: Opened, database: hashrange.Database) -> None:
    old, new = opened(OLD.replace("name: str", "name: str = ''")), opened(READABLE)
    new.put(new.Book(id="1", title="a", price=5))
    [before] = database.execute("Scan", {"TableName": "books"})["Items"]
    book = old.book("1")
    assert (book.name, book.sold) == ("", 0)
    for write in (old.save, old.put, old.create):
        with pytest.raises(
            st.BadValue, match="writing it back would lose what the newer program added"
        ):
            write(book.replace(sold=1))
    with pytest.raises(st.BadValue, match="writing it back"), old.edit(old.book, "1") as item:
        item.sold = 2
    for method in (old.add, old.assign):
        with pytest.raises(st.Conflict, match="has shape 2, not 1"):
            method(book, sold=1) if method == old.add else method(book, "sold", 1)
    assert database.execute("Scan", {"TableName": "books"})["Items"] == [before]


def test_an_update_without_reading_does_not_mix_shapes(opened: Opened) -> None:
    old, new = opened(OLD), opened(NEW)
    old.put(old.Book(id="1", name="a", cents=250))
    with (
        pytest.raises(st.Conflict, match=r"has shape 1, not 2.*use edit or update"),
        new.patch(new.book, "1") as item,
    ):
        item.price = 3
    new.update(new.book, lambda item: setattr(item, "title", "b"), "1")
    assert (new.book("1").title, new.book("1").price) == ("b", 2.5)
    assert new.add(new.book("1"), sold=2).sold == 2
    with pytest.raises(st.NotFound):
        new.add(new.Book(id="2", title=""), sold=2)


def test_an_upgrade_that_is_written_depends_on_all_that_was_read(opened: Opened) -> None:
    old, new = opened(OLD), opened(NEW)
    old.put(old.Book(id="1", name="a", cents=100))
    book = new.book("1")
    old.add(old.Book(id="1", name=""), cents=100)
    with pytest.raises(st.Conflict):
        new.save(book)
    new.save(new.book("1"))
    assert new.book("1").price == 2


def test_an_old_item_after_the_backfill_is_an_error(opened: Opened) -> None:
    old = opened(OLD)
    old.put(old.Book(id="1", name="a"))
    without = NEW.replace("@st.upgrade(from_version=1)", "").replace("=2", "=2, backfilled=2")
    with pytest.raises(st.ItemError, match="has shape 1, although `backfilled` says"):
        opened(without).book("1")


@pytest.mark.parametrize(
    "wrong", ["readable_by=3", "readable_by=0", "backfilled=3", "backfilled=0"]
)
def test_wrong_shapes(wrong: str) -> None:
    with pytest.raises(st.DeclarationError, match=f"{wrong} is not a shape from 1 to 2"):
        model(NEW.replace("shape=2", f"shape=2, {wrong}"))
