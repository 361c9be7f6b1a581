"""Pages and cursors, filters, foreign items, views, and observations."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.execute.observation import Observation

WHEN = datetime(2024, 1, 1, tzinfo=UTC)


class Event(st.Item):
    key = st.key("day#{day}#{event_id|shard:3}", "{number:03d}#{event_id}")
    by_kind = st.index("GSI1", "kind#{kind}", "{number:03d}#{event_id}", project="KEYS_ONLY")

    day: st.Slug
    event_id: st.Slug
    number: int
    kind: st.Slug = "a"
    note: str | None = None


class EventRef(st.View[Event]):
    event_id: str
    kind: str
    number: int


class Other(st.Item):
    key = st.key("other#{other_id}", "{number:03d}")

    other_id: st.Slug
    number: int


class Events(st.Store, Protocol):
    def of_day(self, day: str) -> st.Query[Event]: ...
    @st.latest
    def newest(self, day: str) -> st.Query[Event]: ...
    @st.where("kind = :kind")
    def of_kind(self, day: str, kind: str) -> st.Query[Event]: ...
    def refs(self, kind: str) -> st.Query[EventRef]: ...
    def others(self, other_id: str) -> st.Query[Other]: ...
    @st.scan_ok("it is a test")
    def everything(self) -> st.Query[Event | Other]: ...


table = st.Table("events", Events)


@pytest.fixture
def db(database: hashrange.Database) -> Events:
    table.create(database)
    db = table.open(Events, database)
    with db.batch() as batch:
        for n in range(20):
            kind = "b" if n % 5 == 0 else "a"
            batch.put(Event(day="d", event_id=f"e{n}", number=n, kind=kind))
        for n in range(7):
            batch.put(Other(other_id="o", number=n))
    return db


def pages(query: st.Query[Any], size: int, **more: Any) -> list[list[int]]:
    found, cursor = [], None
    while True:
        page = query.page(size, cursor, **more)
        found.append([item.number for item in page])
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("size", [1, 3, 5, 19, 20, 21])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_are_full_until_the_end_over_shards(db: Events, size: int, descending: bool) -> None:
    query = db.newest("d") if descending else db.of_day("d")
    expected = sorted(range(20), reverse=descending)
    assert [event.number for event in query] == expected
    got = pages(query, size)
    assert [n for page in got for n in page] == expected
    assert all(len(page) == size for page in got[:-1])
    assert got[-1]


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_pages_of_a_filter_are_full_too(db: Events, size: int) -> None:
    got = pages(db.of_kind("d", "b"), size)
    assert [n for page in got for n in page] == [0, 5, 10, 15]
    assert all(len(page) == size for page in got[:-1])


def test_max_read_bounds_the_work_of_a_page(db: Events) -> None:
    got = pages(db.others("o"), 5, max_read=2)
    assert [len(page) for page in got][:3] == [2, 2, 2]
    assert [n for page in got for n in page] == list(range(7))


def test_a_cursor_is_valid_only_for_its_query(db: Events, database: hashrange.Database) -> None:
    cursor = db.others("o").page(2).cursor
    assert cursor
    for query, bad in (
        (db.others("p"), cursor),
        (db.of_day("d"), cursor),
        (db.others("o"), cursor[:-4]),
        (db.others("o"), "nonsense!"),
        (db.others("o"), base64.urlsafe_b64encode(b"[1,2]").decode()),
    ):
        with pytest.raises(st.InvalidCursor):
            query.page(2, bad)
    text = base64.urlsafe_b64decode(cursor + "==").decode()
    moved = base64.urlsafe_b64encode(text.replace("other#o", "other#p").encode()).decode()
    with pytest.raises(st.InvalidCursor, match="outside"):
        db.others("o").page(2, moved)
    signed = table.open(Events, database, cursor_key=b"secret")
    theirs = signed.others("o").page(2).cursor
    assert theirs
    assert [o.number for o in signed.others("o").page(2, theirs)] == [2, 3]
    with pytest.raises(st.InvalidCursor, match="signature"):
        signed.others("o").page(2, cursor)


def test_a_view_reads_its_fields_back_from_keys(db: Events) -> None:
    refs = list(db.refs("b"))
    assert [(r.event_id, r.kind, r.number) for r in refs][:2] == [("e0", "b", 0), ("e5", "b", 5)]
    with pytest.raises(ValueError, match="frozen"):
        refs[0].number = 1


def test_unknown_entities_are_skipped_and_counted(db: Events, database: hashrange.Database) -> None:
    raw = table.dump(Other(other_id="o", number=3)) | {"entityType": {"S": "Stranger"}}
    database.execute("PutItem", {"TableName": "events", "Item": raw})
    page = db.others("o").page(50)
    assert [o.number for o in page] == [0, 1, 2, 4, 5, 6]
    assert page.skipped == 1


def test_an_invalid_item_is_raised_or_collected(db: Events, database: hashrange.Database) -> None:
    raw = table.dump(Other(other_id="o", number=3)) | {"number": {"S": "three"}}
    database.execute("PutItem", {"TableName": "events", "Item": raw})
    with pytest.raises(st.ItemError, match="number") as refused:
        list(db.others("o"))
    assert refused.value.key == {"pk": {"S": "other#o"}, "sk": {"S": "003"}}
    page = db.others("o").page(50, errors="collect")
    assert len(page) == 6
    assert [error.key["sk"] for error in page.errors] == [{"S": "003"}]


class Note(st.Item):
    key = st.key(st.attr("owner"), st.attr("number"))
    by_title = st.local("by_title", st.attr("title"), project="KEYS_ONLY")

    owner: str
    number: int
    title: str
    text: str = ""


class Title(st.View[Note]):
    number: int
    title: str


class Notes(st.Store, Protocol):
    def titles(self, owner: str, title: st.Prefix[str]) -> st.Query[Title]: ...

    @st.where("contains(text, :word)")
    def titles_about(self, owner: str, title: st.Prefix[str], word: str) -> st.Query[Title]: ...

    def notes(self, owner: str, title: st.Prefix[str]) -> st.Query[Note]: ...


def test_a_local_index_reads_the_table_only_for_missing_fields() -> None:
    notes = st.Table("notes", Notes)
    asked = {
        "titles": notes.request(Notes.titles, "a", "b"),
        "titles_about": notes.request(Notes.titles_about, "a", "b", "c"),
        "notes": notes.request(Notes.notes, "a", "b"),
    }
    selected = {name: found.requests[0][1].get("Select") for name, found in asked.items()}
    assert selected == {"titles": None, "titles_about": "ALL_ATTRIBUTES", "notes": "ALL_ATTRIBUTES"}


def test_explain_and_observe(db: Events, database: hashrange.Database) -> None:
    seen: list[Observation] = []
    watched = table.open(Events, database, observe=seen.append)
    query = watched.others("o")
    before = query.explain()
    assert (before.pages, len(before.requests)) == (0, 1)
    list(query)
    after = query.explain()
    assert (after.items, after.pages) == (7, 1)
    assert after.capacity > 0
    watched.others("o").page(3)
    assert [(o.items, o.pages) for o in seen if o.name == "Events.others"] == [(7, 1), (3, 1)]
    assert len(table.request(Events.of_day, "d").requests) == 3


def test_scans_and_types_of_one_of_several(db: Events) -> None:
    query = db.everything()
    assert len(query.of(Event)) == 20
    assert sum(len(page) for page in pages(query, 4)) == 27


class Old(st.Item, name="thing", shape=2):
    key = st.key("thing#{thing_id}", "info")

    thing_id: st.Slug
    price: Decimal

    @staticmethod
    @st.upgrade(from_version=1)
    def cents_to_price(raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "price": Decimal(raw.pop("cents")) / 100}


class Things(st.Store, Protocol):
    def thing(self, thing_id: str) -> Old | None: ...


things = st.Table("things", Things, keys=("PK", "SK"), type_attribute=None)


def test_old_items_are_upgraded_and_foreign_attributes_kept(
    database: hashrange.Database, stored: Callable[[st.Table], list[dict[str, Any]]]
) -> None:
    things.create(database)
    db = things.open(Things, database)
    raw = {
        "PK": {"S": "thing#1"},
        "SK": {"S": "info"},
        "thing_id": {"S": "1"},
        "cents": {"N": "250"},
        "legacy": {"BOOL": True},
    }
    database.execute("PutItem", {"TableName": "things", "Item": raw})
    thing = db.thing("1")
    assert thing == Old(thing_id="1", price=Decimal("2.5"))
    assert thing is not None
    db.save(thing.replace(price=Decimal(3)))
    [item] = stored(things)
    assert item["price"] == {"N": "3"}
    assert item["legacy"] == {"BOOL": True}
    assert item["entityShape"] == {"N": "2"}
    assert db.thing("1") == Old(thing_id="1", price=Decimal(3))


def test_bad_arguments_fail_before_anything_is_sent(db: Events) -> None:
    with pytest.raises(TypeError):
        db.others()  # type: ignore[call-arg]
    with pytest.raises(st.BadValue, match="other_id=5: it is not str"):
        db.others(5)  # type: ignore[arg-type]
    with pytest.raises(st.BadValue):
        db.others("o").page(0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            EventRef(event_id="e", kind="a", number=1),
            "EventRef is not an item of 'events': a view is",
        ),
        (Event, "<class '.*Event'> is not an item of 'events'$"),
        ({"day": "1"}, "dict is not an item of 'events'$"),
    ],
)
def test_objects_that_are_not_items_are_not_written(db: Events, given: Any, told: str) -> None:
    with pytest.raises(st.BadValue, match=told):
        db.put(given)
