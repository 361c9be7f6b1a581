"""Unique texts, copies, versions and transactions are written completely or not at all."""

from collections.abc import Callable
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.execute.observation import Observation

from .users import Post, User


class Counter(st.Item):
    key = st.key("counter#{name}", "info")

    name: st.Slug
    total: int = 0
    version: st.Version = 0


class App(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def post(self, post_id: str) -> Post | None: ...
    def posts(self, user_id: str) -> st.Query[Post]: ...
    def counter(self, name: str) -> Counter | None: ...


table = st.Table("app", App)
Items = list[dict[str, Any]]


@pytest.fixture
def db(database: hashrange.Database) -> App:
    table.create(database)
    return table.open(App, database)


def markers(stored: Callable[[st.Table], Items]) -> set[str]:
    return {i["pk"]["S"] for i in stored(table) if i["entityType"]["S"] == "unique"}


def taken(email: str) -> str:
    return f"unique#{{email}}#{email}"


def test_markers_follow_every_write(db: App, stored: Callable[[st.Table], Items]) -> None:
    db.put(User(user_id="1", email="a"))
    assert markers(stored) == {taken("a")}
    db.put(User(user_id="1", email="b"))
    assert markers(stored) == {taken("b")}
    with db.edit(db.user, "1") as user:
        user.email = "c"
    assert markers(stored) == {taken("c")}
    found = db.user("1")
    assert found
    moved = db.move(found.replace(user_id="2"))
    assert markers(stored) == {taken("c")}
    db.save(moved.replace(email=None))
    assert markers(stored) == set()
    db.create(User(user_id="3", email="d"))
    db.delete(db.user, "3")
    assert markers(stored) == set()


def test_two_users_cannot_have_one_email(db: App, stored: Callable[[st.Table], Items]) -> None:
    db.create(User(user_id="1", email="a"))
    before = stored(table)
    for write in (db.put, db.create):
        with pytest.raises(st.NotUnique):
            write(User(user_id="2", email="a"))
    with pytest.raises(st.NotUnique), db.transaction() as together:
        together.create(User(user_id="2", email="a"))
    assert stored(table) == before
    with pytest.raises(st.BadValue), db.batch() as batch:
        batch.put(User(user_id="2", email="b"))
    with pytest.raises(st.BadValue), db.patch(db.user, "1") as user:
        user.email = "b"


def test_create_and_lost_races(db: App) -> None:
    db.create(User(user_id="1", name="Ann"))
    with pytest.raises(st.AlreadyExists):
        db.create(User(user_id="1"))
    first, second = db.user("1"), db.user("1")
    assert first
    assert second
    db.save(first.replace(name="Bob"))
    with pytest.raises(st.Conflict):
        db.save(second.replace(name="Eve"))
    db.save(second.replace(email="x"))  # another field: nothing was lost
    user = db.user("1")
    assert user
    assert (user.name, user.email) == ("Bob", "x")


def test_edit_writes_nothing_if_its_body_raises(db: App) -> None:
    db.create(Counter(name="c"))
    with pytest.raises(ZeroDivisionError), db.edit(db.counter, "c") as counter:
        counter.total = 1 // 0
    with pytest.raises(st.NotFound), db.edit(db.counter, "gone"):
        pass
    with pytest.raises(st.BadValue, match="move"), db.edit(db.counter, "c") as counter:
        counter.name = "d"


def test_update_runs_again_after_a_lost_race(db: App) -> None:
    db.create(Counter(name="c"))
    attempts = []

    def change(counter: Counter) -> None:
        attempts.append(counter.total)
        if len(attempts) < 3:
            db.add(Counter(name="c"), total=10)
        counter.total += 1

    assert db.update(db.counter, change, "c").total == 21
    assert attempts == [0, 10, 20]

    def hopeless(counter: Counter) -> None:
        attempts.append(0)
        db.add(Counter(name="c"), total=1)
        counter.total += 1

    attempts.clear()
    with pytest.raises(st.Conflict):
        db.update(db.counter, hopeless, "c")
    assert len(attempts) == 5


def test_copies_are_filled_checked_and_kept(db: App) -> None:
    with pytest.raises(st.NotFound):
        db.put(Post(post_id="p", user_id="1"))
    db.put(User(user_id="1", name="Ann"))
    assert db.put(Post(post_id="p", user_id="1")).author == "Ann"
    with pytest.raises(st.Conflict):
        db.put(Post(post_id="q", user_id="1", author="Eve"))
    for name, write in (("Bob", db.put), ("Cid", None)):
        if write:
            write(User(user_id="1", name=name))
        else:
            with db.transaction() as together:
                user = db.user("1")
                assert user
                together.save(user.replace(name=name))
        assert [p.author for p in db.posts("1")] == [name]
    with pytest.raises(st.BadValue, match="copy"), db.patch(db.user, "1") as blank:
        blank.name = "x"


def test_more_copies_than_a_transaction_holds(database: hashrange.Database, db: App) -> None:
    seen: list[Observation] = []
    watched = table.open(App, database, observe=seen.append)
    db.put(User(user_id="1", name="Ann"))
    for n in range(120):
        db.put(Post(post_id=f"p{n}", user_id="1"))
    with watched.edit(watched.user, "1") as user:
        user.name = "Bob"
    assert {p.author for p in db.posts("1")} == {"Bob"}
    assert [o.atomic for o in seen if o.name == "sync"] == [False, False]
    assert db.sync(User(user_id="1", name="Bob")) == 0


def test_sync_continues_where_it_was_interrupted(database: hashrange.Database, db: App) -> None:
    db.put(User(user_id="1", name="Ann"))
    db.put(Post(post_id="p", user_id="1"))
    raw = table.dump(User(user_id="1", name="Bob"))
    database.execute("PutItem", {"TableName": table.name, "Item": raw})
    assert db.sync(User(user_id="1")) == 1
    assert [p.author for p in db.posts("1")] == ["Bob"]


def test_a_transaction_is_whole(db: App, stored: Callable[[st.Table], Items]) -> None:
    db.create(Counter(name="a", total=5))
    transaction = db.transaction()
    together = transaction.__enter__()
    together.put(Counter(name="b"))
    together.check(Counter(name="a"), "total >= :least", least=6)
    with pytest.raises(st.ConditionFailed) as refused:
        transaction.__exit__(None, None, None)
    assert refused.value.item == Counter(name="a")
    assert db.counter("b") is None
    with db.transaction(token="once") as together:
        together.put(Counter(name="b"))
        together.check(Counter(name="a"), "total >= :least", least=5)
    assert db.counter("b")
    transaction = db.transaction()
    together = transaction.__enter__()
    together.create(Counter(name="x"))
    together.put(Counter(name="x"))
    with pytest.raises(st.BadValue, match="twice"):
        transaction.__exit__(None, None, None)
    transaction = db.transaction()
    together = transaction.__enter__()
    for n in range(101):
        together.create(Counter(name=f"n{n}"))
    with pytest.raises(st.BadValue, match="100"):
        transaction.__exit__(None, None, None)
    with pytest.raises(st.DeclarationError, match="total"), db.transaction() as together:
        together.check(Counter(name="a"), "totl = :b", b=1)


def test_get_many_answers_in_order(db: App) -> None:
    db.create(Counter(name="a"))
    db.create(Counter(name="b"))
    found = db.get_many(db.counter, ["b", "x", "a", "b"])
    assert [c and c.name for c in found] == ["b", None, "a", "b"]


def test_a_map_with_an_empty_name_is_refused(database: hashrange.Database) -> None:
    class Box(st.Item):
        key = st.key("box#{box_id}")
        box_id: st.Slug
        content: dict[str, dict[str, int]]

    class Boxes(st.Store, Protocol):
        def box(self, box_id: str) -> Box | None: ...

    boxes = st.Table("boxes", Boxes, type_attribute=None)
    boxes.create(database)
    db = boxes.open(Boxes, database)
    box = db.put(Box(box_id="1", content={"a": {}}))
    writes: list[Callable[[], object]] = [
        lambda: db.put(Box(box_id="1", content={"a": {"": 1}})),
        lambda: db.assign(box, "content.a", {"": 1}),
    ]
    for write in writes:
        with pytest.raises(st.BadValue, match=r"content.*not be empty"):
            write()
