"""Fields that the toolkit fills in, and expired items that reads leave out."""

import time
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

import pytest
from pydantic import Field

import hashrange
from hashrange import design as st
from hashrange.testing import TestClock

from ..models import item, model, patterns

pytestmark = pytest.mark.slow


class Note(st.Item):
    key = st.key("note#{note_id}", "info")

    note_id: st.Slug = st.ulid()
    token: UUID = st.uuid7()
    number: int = Field(default_factory=lambda: 7)
    text: str = ""
    reads: int = 0
    created: datetime = st.now(create=True)
    changed: datetime = st.now(update=True)


class Session(st.Item):
    key = st.key("user#{user_id}", "session#{session_id}")
    by_session = st.index("GSI1", "session#{session_id}", "user#{user_id}", project=("expires",))

    user_id: st.Slug
    session_id: st.Slug
    expires: st.TTL | None = None


class SessionRef(st.View[Session]):
    user_id: str
    session_id: str


class App(st.Store, Protocol):
    def note(self, note_id: str) -> Note | None: ...
    def session(self, user_id: str, session_id: str) -> Session | None: ...
    def sessions(self, user_id: str) -> st.Query[Session]: ...
    @st.latest
    def last(self, user_id: str) -> Session | None: ...
    @st.counts(Session)
    def count(self, user_id: str) -> int: ...
    def found(self, session_id: str) -> st.Query[SessionRef]: ...


table = st.Table("app", App, hide_expired=True)
showing = st.Table("app", App)
PAST, FUTURE = datetime(2001, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["in process", "boto3"])
def stores(request: pytest.FixtureRequest, database: hashrange.Database) -> tuple[App, App]:
    table.create(database)
    client = database.boto3_session().client("dynamodb")
    connection = database if request.param == "in process" else client
    return table.open(App, connection), showing.open(App, connection)


@pytest.fixture
def db(stores: tuple[App, App]) -> App:
    return stores[0]


def test_ids_are_generated_and_sort_by_time() -> None:
    first = Note()
    time.sleep(0.002)
    second = Note()
    assert first.note_id < second.note_id
    assert len(first.note_id) == 26
    assert first.token < second.token
    assert (first.token.version, first.token.variant) == (7, "specified in RFC 4122")
    assert len({Note().note_id for _ in range(1000)}) == 1000
    assert len({Note().token for _ in range(1000)}) == 1000
    assert Note(note_id="mine").note_id == "mine"


def test_the_time_of_creation_and_of_each_change(db: App) -> None:
    before = datetime.now(UTC)
    note = db.create(Note(text="a"))
    assert before <= note.created <= note.changed <= datetime.now(UTC)
    seen = [note.changed]

    def expect_later(changed: Note) -> None:
        assert changed.created == note.created
        assert changed.changed > seen[-1]
        seen.append(changed.changed)

    expect_later(db.save(note.replace(text="b")))
    with db.edit(db.note, note.note_id) as edited:
        edited.text = "c"
    expect_later(edited)
    expect_later(db.add(note, reads=1))
    with db.patch(db.note, note.note_id) as blank:
        blank.text = "d"
    stored = db.note(note.note_id)
    assert stored
    expect_later(stored)
    with db.transaction() as t:
        t.add(stored, reads=1)
        t.save(stored.replace(text="e"))
    stored = db.note(note.note_id)
    assert stored
    expect_later(stored)
    expect_later(db.put(stored))
    with db.batch() as batch:
        batch.put(stored)
    stored = db.note(note.note_id)
    assert stored
    expect_later(stored)


def test_a_save_without_changes_sends_nothing(db: App) -> None:
    note = db.create(Note())
    assert db.save(note.replace(text=note.text)).changed == note.changed


def test_now_is_for_datetimes() -> None:
    with pytest.raises(st.DeclarationError, match=r"st\.now needs a field of the type datetime"):
        model(item("A", "'a#{id}'", "id: st.Slug; x: str = st.now(update=True)") + patterns())
    with pytest.raises(st.DeclarationError, match="create=True or update=True"):
        st.now()


def test_an_update_time_in_a_key_needs_a_read(database: hashrange.Database) -> None:
    recent = model(
        item(
            "A",
            "'a#{id}'",
            "id: st.Slug; n: int = 0; changed: datetime = st.now(update=True)",
            "i = st.index('GSI1', 'all', '{changed}')",
        )
        + patterns("def a(self, id: str) -> A | None: ...")
    )
    recent.create(database)
    db: Any = recent.open(recent.protocols[0], database)
    entity: Any = recent.model.entities[0].model
    db.create(entity(id="1"))
    with pytest.raises(st.BadValue, match="'i' depends on it"):
        db.add(entity(id="1"), n=1)
    with db.edit(db.a, "1") as changed:
        changed.n = 1
    [stored] = database.execute("Scan", {"TableName": recent.name})["Items"]
    assert stored["GSI1-sk"] == stored["changed"]


def test_expired_items_are_hidden(stores: tuple[App, App]) -> None:
    db, showing = stores
    for number, expires in enumerate([FUTURE, PAST, None, PAST]):
        db.put(Session(user_id="1", session_id=f"s{number}", expires=expires))
    assert [s.session_id for s in showing.sessions("1")] == ["s0", "s1", "s2", "s3"]
    assert [s.session_id for s in db.sessions("1")] == ["s0", "s2"]
    assert db.session("1", "s1") is None
    assert db.session("1", "s2")
    last = db.last("1")
    assert last
    assert last.session_id == "s2"
    assert db.count("1") == 2
    assert showing.count("1") == 4
    assert [r.session_id for r in db.found("s0")] == ["s0"]
    assert list(db.found("s1")) == []
    assert [s and s.session_id for s in db.get_many(db.session, [("1", "s0"), ("1", "s1")])] == [
        "s0",
        None,
    ]
    page = db.sessions("1").page(1)
    assert [s.session_id for s in page] == ["s0"]
    page = db.sessions("1").page(1, page.cursor)
    assert ([s.session_id for s in page], page.cursor) == (["s2"], None)
    with db.read_transaction() as reads:
        hidden = reads.get(db.session, "1", "s1")
    assert hidden.item is None
    with pytest.raises(st.NotFound), db.edit(db.session, "1", "s1"):
        pass


def test_an_item_is_hidden_from_the_second_it_expires(
    db: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.put(Session(user_id="1", session_id="s", expires=FUTURE))
    clock = TestClock(FUTURE.timestamp() - 0.001)
    monkeypatch.setattr(time, "time", clock.now)
    assert db.session("1", "s")
    assert db.count("1") == 1
    clock.advance(0.001)
    assert db.session("1", "s") is None
    assert db.count("1") == 0


def test_an_index_must_have_the_expiry() -> None:
    text = item(
        "A",
        "'a#{id}'",
        "id: st.Slug; until: st.TTL | None = None",
        "i = st.index('GSI1', 'all', '{id}', project='KEYS_ONLY')",
    )
    with pytest.raises(st.DeclarationError, match="GSI1 does not project until"):
        model(text + patterns(table=", hide_expired=True"))
