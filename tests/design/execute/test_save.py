"""`save`, `edit` and `update` return the stored item, with the changes of other writers."""

from collections.abc import Callable
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st

from .users import Post, User


class Note(st.Item):
    key = st.key("note#{note_id}", "info")

    note_id: st.Slug
    text: str = ""
    reads: int = 0


class App(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def note(self, note_id: str) -> Note | None: ...
    def posts(self, user_id: str) -> st.Query[Post]: ...


table = st.Table("app", App)


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> App:
    client = database.boto3_session().client("dynamodb")
    table.create(database)
    return table.open(App, database if request.param == "in process" else client)


def test_a_save_returns_what_others_have_changed(db: App) -> None:
    note = db.create(Note(note_id="1", text="a"))
    db.add(Note(note_id="1"), reads=5)
    saved = db.save(note.replace(text="b"))
    assert (saved.text, saved.reads) == ("b", 5)
    assert db.save(saved.replace(reads=6)) == db.note("1")
    with db.edit(db.note, "1") as edited:
        db.add(Note(note_id="1"), reads=1)
        edited.text = "c"
    assert (edited.text, edited.reads) == ("c", 7)


def test_a_save_in_a_transaction_returns_it_too(db: App) -> None:
    user = db.create(User(user_id="1", email="a"))
    db.add(User(user_id="1"), logins=5)
    saved = db.save(user.replace(email="b"))  # with its marker
    assert (saved.email, saved.logins) == ("b", 5)
    again = db.save(saved.replace(email="c"))
    assert again == db.user("1")
    note = db.create(Note(note_id="1"))
    db.add(Note(note_id="1"), reads=5)
    db.add(User(user_id="1"), logins=1)
    changed, other = again.replace(name="x"), note.replace(text="x")
    with db.transaction() as together:
        together.save(changed)
        together.save(other)
    assert changed == db.user("1")
    assert other == db.note("1")


def test_a_save_that_updates_copies_returns_it_too(db: App) -> None:
    user = db.create(User(user_id="1", name="a"))
    db.create(Post(post_id="1", user_id="1"))
    db.add(User(user_id="1"), logins=5)
    saved = db.save(user.replace(name="b"))
    assert (saved.name, saved.logins) == ("b", 5)
    assert [post.author for post in db.posts("1")] == ["b"]


def test_foreign_attributes_that_others_wrote_are_kept(
    db: App, database: hashrange.Database, stored: Callable[[st.Table], list[dict[str, Any]]]
) -> None:
    note = db.create(Note(note_id="1"))
    [raw] = stored(table)
    foreign = {**raw, "printed": {"S": "yes"}}
    database.execute("PutItem", {"TableName": table.name, "Item": foreign})
    saved = db.save(note.replace(text="x"))
    assert table.dump(saved)["printed"] == {"S": "yes"}
