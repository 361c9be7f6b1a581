"""`add_or_create`: one atomic addition, whether or not the item exists."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import design as st


class Page(st.Item):
    key = st.key("page#{path}", "{day}")
    by_day = st.index("GSI1", "day#{day}", "{path}")
    by_owner = st.index("GSI2", "owner#{owner}", "{path}")

    path: st.Slug
    day: st.Slug
    count: int = 0
    left: Annotated[int, Field(ge=0)] = 3
    readers: set[str] = Field(default_factory=set)
    spent: int | None = None
    title: str = "untitled"
    owner: st.Slug | None = None
    created: datetime = st.now(create=True)
    changed: datetime = st.now(update=True)
    version: st.Version = 0


class Named(st.Item):
    key = st.key("named#{name}", "info")
    one = st.unique("{text}")
    name: st.Slug
    text: str = ""
    count: int = 0


class Owner(st.Item):
    key = st.key("owner#{owner}", "info")
    owner: st.Slug
    title: str = ""
    count: int = 0


class Copying(st.Item):
    key = st.key("copying#{name}", "info")
    of_owner = st.index("GSI3", "owner#{owner}", "copying#{name}")
    name: st.Slug
    owner: st.Slug
    count: int = 0
    title: str = st.copy(Owner, "title", sync="transaction")


class Level(st.Item):
    key = st.key("level#{name}", "info")
    ranked = st.index("GSI4", "levels", "{points:06d}")
    name: st.Slug
    points: int = 0


class Site(st.Store, Protocol):
    def page(self, path: str, day: str) -> Page | None: ...
    def of_day(self, day: str) -> st.Query[Page]: ...
    def owned(self, owner: str) -> st.Query[Page]: ...
    def copying(self, owner: str) -> st.Query[Copying]: ...


table = st.Table("site", Site, Named, Level)
P = Page(path="p", day="d")


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> Site:
    client = database.boto3_session().client("dynamodb")
    table.create(database)
    return table.open(Site, database if request.param == "in process" else client)


def test_an_absent_item_starts_from_its_defaults(db: Site) -> None:
    item = db.add_or_create(P, count=2, left=-1, readers={"a"}, spent=5)
    assert (item.count, item.left, item.readers, item.spent) == (2, 2, {"a"}, 5)
    assert (item.title, item.version) == ("untitled", 1)
    item = db.add_or_create(P.replace(title="new"), count=2, left=-1, readers={"b"}, spent=1)
    assert (item.count, item.left, item.readers, item.spent) == (4, 1, {"a", "b"}, 6)
    assert (item.title, item.version) == ("untitled", 2)
    assert item.changed > item.created
    assert db.page("p", "d") == item
    assert [one.count for one in db.of_day("d")] == [4]


def test_bounds_hold_for_new_and_old_items(db: Site) -> None:
    with pytest.raises(st.ConditionFailed, match=r"left=-1.*>= 0"):
        db.add_or_create(P, left=-4)
    assert db.page("p", "d") is None
    db.add_or_create(P, left=-3)
    with pytest.raises(st.ConditionFailed, match=r"left=-1.*>= 0"):
        db.add_or_create(P, left=-1)
    assert db.add_or_create(P, left=5).left == 5


def test_what_an_item_has_stays(db: Site) -> None:
    """An item without an owner is in no index of owners, whatever a new one would have."""
    db.create(P)
    item = db.add_or_create(P.replace(owner="o"), count=1)
    assert (item.owner, item.count) == (None, 1)
    assert not list(db.owned("o"))
    db.add_or_create(Page(path="q", day="d", owner="o"), count=1)
    assert [one.path for one in db.owned("o")] == ["q"]


def test_one_request_suffices_and_a_second_one_adds_alone(database: hashrange.Database) -> None:
    seen: list[Any] = []
    table.create(database)
    db = table.open(Site, database, observe=seen.append)
    for _ in range(2):
        db.add_or_create(P, count=1)
    assert [[name for name, _ in one.requests] for one in seen] == [["Update"]] * 2
    [(operation, sent)] = table.request(Site.add_or_create, P, count=1).requests
    assert operation == "UpdateItem"
    database.execute("UpdateItem", sent)
    item = db.page("p", "d")
    assert item is not None
    assert (item.count, item.version) == (3, 3)


def test_threads_lose_no_addition(database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Site, database)

    def work(number: int) -> None:
        for _ in range(20):
            db.add_or_create(P.replace(owner="o" if number % 2 else None), count=1)
            if number == 0:
                db.delete(P.replace(path="other"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    item = db.page("p", "d")
    assert item is not None
    assert (item.count, item.version) == (80, 80)


@pytest.mark.parametrize(
    ("item", "amounts", "reason"),
    [
        (Named(name="n"), {"count": 1}, "unique texts"),
        (Owner(owner="o"), {"count": 1}, "copied by other items"),
        (Copying(name="c", owner="o"), {"count": 1}, "has copies"),
        (Level(name="l"), {"points": 1}, "'ranked' depends on it"),
        (P, {"cuont": 1}, "did you mean 'count'"),
        (P, {"title": 1}, "not a number or a set"),
        (P.replace(readers={"x"}), {"readers": {"y"}}, "leave this set"),
    ],
)  # fmt: skip
def test_what_cannot_be_added_is_refused(
    item: st.Item, amounts: dict[str, Any], reason: str, database: hashrange.Database
) -> None:
    table.create(database)
    db = table.open(Site, database)
    with pytest.raises(st.BadValue, match=reason):
        db.add_or_create(item, **amounts)


def test_a_transaction_adds_or_creates(db: Site) -> None:
    db.create(P)
    with db.transaction() as t:
        t.add_or_create(P.replace(owner="o"), count=1)
        t.add_or_create(Page(path="q", day="d"), count=2)
    assert [one.count for one in db.of_day("d")] == [1, 2]
    assert [one.owner for one in db.of_day("d")] == [None, None]


def test_a_transaction_adds_or_creates_an_item_once(db: Site) -> None:
    with pytest.raises(st.BadValue, match="the only action"), db.transaction() as t:  # noqa: PT012
        t.add_or_create(P, count=1)
        t.add(P, count=1)


def test_times_are_those_of_the_write(db: Site) -> None:
    before = datetime.now(UTC)
    assert db.add_or_create(P, count=1).changed >= before
