"""None and empty sets are stored as nothing, and read back as what they were."""

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest
from pydantic import BaseModel, Field

import hashrange
from hashrange import design as st

from ..models import item, model, patterns


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            "note: str | None = 'n/a'",
            "None is stored as an absent attribute, so it would be read as 'n/a'",
        ),
        ("note: Annotated[str | None, Field(max_length=3)] = ''", "would be read as ''"),
        ("n: int | None = 0", "would be read as 0"),
        ("at: datetime | None = st.now(create=True)", "would be read as a new default"),
        ("any: Any = 1", "would be read as 1"),
        ("tags: set[str] = {'new'}", "an empty set is stored as an absent"),
        (
            "tags: set[str] = Field(default_factory=lambda: {'new'})",
            "an empty set is stored as an absent",
        ),
        ("tags: frozenset[int] = frozenset({1})", "an empty set is stored as an absent"),
        ("tags: set[str] | None = set()", "attribute, so it would be read as set"),
    ],
)
def test_a_default_that_absence_would_be_read_as_is_refused(fields: str, message: str) -> None:
    text = "from typing import Any\n" + item("A", "'a#{id}', 'info'", f"id: st.Slug; {fields}")
    with pytest.raises(st.DeclarationError) as refused:
        model(text + patterns())
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


class Address(BaseModel):
    city: str
    zip: str | None
    country: str | None = "DE"
    floor: int | None = None


class Note(st.Item):
    key = st.key("note#{id}", "info")
    by_owner = st.index("GSI1", "owner#{owner}", "note#{id}")

    id: st.Slug
    owner: st.Slug = "x"
    text: str | None
    tags: set[str]
    labels: Annotated[frozenset[int], Field(description="numbers")] = frozenset()
    address: Address | None = None
    anything: Any
    more: Any = None
    maybe: set[str] | None = None


class NoteView(st.View[Note]):
    id: str
    text: str | None
    tags: set[str]


class Notes(st.Store, Protocol):
    def note(self, id: str) -> Note | None: ...
    def notes_of(self, owner: str) -> st.Query[Note]: ...
    def views_of(self, owner: str) -> st.Query[NoteView]: ...


notes = st.Table("notes", Notes)
FULL = Note(id="1", text="a", tags={"x"}, labels=frozenset({1}), anything=1)
EMPTY = Note(id="1", text=None, tags=set(), anything=None)


def put(db: Notes) -> None:
    db.put(EMPTY)


def edit(db: Notes) -> None:
    db.put(FULL)
    with db.edit(db.note, "1") as note:
        note.text, note.tags, note.labels, note.anything = None, set(), frozenset(), None


def patch(db: Notes) -> None:
    db.put(FULL)
    with db.patch(db.note, "1") as note:
        note.text, note.tags, note.labels, note.anything = None, set(), frozenset(), None


def patch_together(db: Notes) -> None:
    db.put(FULL)
    with db.transaction() as together, together.patch(db.note, "1") as note:
        note.text, note.tags, note.labels, note.anything = None, set(), frozenset(), None


def discard(db: Notes) -> None:
    db.put(FULL.replace(text=None, anything=None))
    db.discard(EMPTY, tags={"x"}, labels=frozenset({1}))


def assign(db: Notes) -> None:
    db.put(FULL)
    for field, value in (("text", None), ("tags", set()), ("labels", frozenset())):
        db.assign(FULL, field, value)
    db.assign(FULL, "anything", None)


@pytest.mark.parametrize("write", [put, edit, patch, patch_together, discard, assign])
def test_nothing_is_read_back_as_it_was_written(
    write: Callable[[Notes], None],
    database: hashrange.Database,
    stored: Callable[[st.Table], list[dict[str, Any]]],
) -> None:
    notes.create(database)
    db = notes.open(Notes, database)
    write(db)
    assert db.note("1") == EMPTY
    assert list(db.notes_of("x")) == [EMPTY]
    assert list(db.views_of("x")) == [NoteView(id="1", text=None, tags=set())]
    [raw] = stored(notes)
    assert not raw.keys() & {"text", "tags", "labels", "anything"}


def test_a_set_that_can_be_none_is_none_if_it_is_empty(database: hashrange.Database) -> None:
    notes.create(database)
    db = notes.open(Notes, database)
    db.put(EMPTY.replace(maybe=set(), more=set()))
    assert db.note("1") == EMPTY
    db.put(EMPTY.replace(maybe={"a"}))
    db.discard(EMPTY, maybe={"a"})
    assert db.note("1") == EMPTY


def test_nested_values_are_read_back(database: hashrange.Database) -> None:
    notes.create(database)
    db = notes.open(Notes, database)
    note = EMPTY.replace(address=Address(city="Ulm", zip=None, country=None))
    db.put(note)
    assert db.note("1") == note


def test_a_copy_can_be_none(database: hashrange.Database) -> None:
    table = model(
        item("O", "'o#{oid}', 'info'", "oid: st.Slug; x: str | None = None")
        + item("C", "'o#{oid}', 'c#{cid}'",
               "oid: st.Slug; cid: st.Slug; x: str | None = st.copy(O, 'x', sync='transaction')")
        + patterns("def c(self, oid: str, cid: str) -> C | None: ...", table=", O")
    )  # fmt: skip
    table.create(database)
    db = table.open(table.protocols[0], database)
    by_name = {entity.name: entity.model for entity in table.model.entities}
    db.put(by_name["O"].model_validate({"oid": "1"}))
    db.put(by_name["C"].model_validate({"oid": "1", "cid": "1"}))
    assert db.c("1", "1").x is None
