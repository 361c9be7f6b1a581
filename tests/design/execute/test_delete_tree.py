"""Deleting an item with everything below it: previewed, resumable, and refused if it cannot."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

import hashrange
from hashrange import design as st

Item = dict[str, Any]


class Site(st.Item):
    key = st.key("site#{site_id}", "info")

    site_id: st.Slug


class Floor(st.Item):
    key = st.key("site#{site_id}", "floor#{floor_id}")

    site_id: st.Slug
    floor_id: st.Slug


class Badge(st.Item):
    """Found by an index of keys only; its number is unique."""

    key = st.key("badge#{badge_id}", "floor#{floor_id}#{site_id}")
    of_site = st.index("GSI1", "site#{site_id}", "badge#{badge_id}", project="KEYS_ONLY")
    one_number = st.unique("{number}")

    badge_id: st.Slug
    site_id: st.Slug
    floor_id: st.Slug
    number: str


class Use(st.Item):
    """Found only from its badge."""

    key = st.key("badge#{badge_id}#{floor_id}#{site_id}", "use#{n:04d}")

    badge_id: Annotated[st.Slug, st.ref(Badge, "badge_id")]
    floor_id: st.Slug
    site_id: st.Slug
    n: int


class Owner(st.Item):
    """As many fields in its key as a site, so that only st.ref makes it a child."""

    key = st.key("owner#{site_id}", "info")

    site_id: Annotated[st.Slug, st.ref(Site)]


class Plan(st.Item):
    key = st.key("plan#{site_id}", "info")

    site_id: st.Slug


class Sites(st.Store, Protocol):
    def site(self, site_id: str) -> Site | None: ...
    def uses(self, badge_id: str, floor_id: str, site_id: str) -> st.Query[Use]: ...


class AsyncSites(st.AsyncStore, Protocol):
    async def site(self, site_id: str) -> Site | None: ...


table = st.Table("sites", Sites, AsyncSites, Floor, Badge, Use, Owner, Plan)
ALL = {"Badge": 3, "Floor": 2, "Owner": 1, "Site": 1, "Use": 90}


@pytest.fixture
def db(database: hashrange.Database) -> Sites:
    table.create(database)
    db = table.open(Sites, database)
    for site in ("1", "10"):
        fill(db, site)
    return db


def fill(db: Sites, site: str) -> None:
    items: list[st.Item] = [Site(site_id=site), Owner(site_id=site), Plan(site_id=site)]
    items += [Floor(site_id=site, floor_id=floor) for floor in ("a", "b")]
    for n in range(3):
        badge = f"{site}-{n}"
        items.append(Badge(badge_id=badge, site_id=site, floor_id="a", number=badge))
        items += [Use(badge_id=badge, floor_id="a", site_id=site, n=n) for n in range(30)]
    for item in items:
        db.put(item)


def test_all_below_is_deleted(db: Sites, stored: Callable[[st.Table], list[Item]]) -> None:
    before = stored(table)
    assert db.delete_tree(Site(site_id="1"), preview=True) == ALL
    assert stored(table) == before
    assert db.delete_tree(Site(site_id="1")) == ALL
    left = stored(table)
    markers = 3
    assert len(left) == len(before) - sum(ALL.values()) - markers
    assert all(raw.get("site_id", {"S": "10"})["S"] == "10" or
               raw["entityType"]["S"] == "Plan" for raw in left)  # fmt: skip
    assert db.delete_tree(Site(site_id="1")).get("Site", 0) == 0
    db.put(Badge(badge_id="new", site_id="10", floor_id="a", number="1-0"))


@pytest.mark.usefixtures("db")
def test_asynchronous(database: hashrange.Database) -> None:
    async def delete() -> None:
        opened = table.open(AsyncSites, database)
        assert await opened.delete_tree(Site(site_id="1"), preview=True) == ALL
        assert await opened.delete_tree(Site(site_id="1")) == ALL
        assert await opened.site("1") is None

    asyncio.run(delete())


def test_an_interrupted_deletion_is_continued() -> None:
    class Interrupted(Exception):
        pass

    database = hashrange.connect()
    table.create(database)
    fill(table.open(Sites, database), "1")
    for _ in range(4):
        client = Failing(database, 2, Interrupted())
        with pytest.raises(Interrupted):
            table.open(Sites, client).delete_tree(Site(site_id="1"))
    db = table.open(Sites, database)
    assert db.site("1")
    db.delete_tree(Site(site_id="1"))
    found = database.execute("Scan", {"TableName": "sites"})["Items"]
    assert [raw["entityType"]["S"] for raw in found] == ["Plan"]


class Failing:
    """A database whose n-th write fails."""

    def __init__(self, database: hashrange.Database, writes: int, error: Exception) -> None:
        self.database, self.left, self.error = database, writes, error

    def execute(self, operation: str, payload: dict[str, Any]) -> Any:
        if "Write" in operation or operation == "DeleteItem":
            self.left -= 1
            if not self.left:
                raise self.error
        return self.database.execute(operation, payload)


class Sensor(st.Item):
    key = st.key("sensor#{sensor_id}", "info")

    sensor_id: st.Slug


class Measurement(st.Item):
    key = st.key("sensor#{sensor_id}#{day}", "{n:06d}")

    sensor_id: st.Slug
    day: st.Slug
    n: int


class Sensors(st.Store, Protocol):
    def sensor(self, sensor_id: str) -> Sensor | None: ...


def test_children_that_no_key_finds(database: hashrange.Database) -> None:
    sensors = st.Table("sensors", Sensors, Measurement)
    sensors.create(database)
    db = sensors.open(Sensors, database)
    db.put(Sensor(sensor_id="1"))
    with pytest.raises(st.BadValue, match="leave Measurement items behind"):
        db.delete_tree(Sensor(sensor_id="1"))
    assert db.sensor("1")
    assert "R04 warning Measurement" in str(st.lint(sensors))
