"""Index keys are correct after every kind of write: five faults of other libraries.

The faults: an update of one part leaves the index key stale; removing a part leaves it; a put
without an optional part fails; listing by prefix returns other entities; and a value with the
delimiter in it builds another entity's key.
"""

from collections.abc import Callable
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st

Item = dict[str, Any]


class Floor(st.Item):
    key = st.key("building#{building_id}", "floor#{floor_id}")

    building_id: str
    floor_id: str
    name: str = ""


class Room(st.Item):
    key = st.key("building#{building_id}", "floor#{floor_id}#room#{room_id}")

    building_id: str
    floor_id: str
    room_id: str


class Sensor(st.Item):
    key = st.key("sensor#{sensor_id}", "info")
    placed = st.index("GSI1", "building#{building_id}", "floor#{floor_id}#room#{room_id}")
    broken = st.index("GSI2", "broken#{building_id}", "{sensor_id}", when="state = :b", b="broken")

    sensor_id: str
    building_id: str
    floor_id: str
    room_id: str | None = None
    state: str = "ok"
    note: str | None = None


class Building(st.Store, Protocol):
    def sensor(self, sensor_id: str) -> Sensor | None: ...
    def floor(self, building_id: str, floor_id: str) -> Floor | None: ...
    def floors(self, building_id: str) -> st.Query[Floor]: ...
    def rooms(self, building_id: str, floor_id: str) -> st.Query[Room]: ...
    def placed(self, building_id: str, floor_id: str) -> st.Query[Sensor]: ...
    @st.using(Sensor.broken)
    def broken(self, building_id: str) -> st.Query[Sensor]: ...
    @st.counts(Floor)
    def floor_count(self, building_id: str) -> int: ...


table = st.Table("buildings", Building)
Change = dict[str, Any]


@pytest.fixture
def db(database: hashrange.Database) -> Building:
    table.create(database)
    return table.open(Building, database)


# ---- the ways to write a change ----


def by_put(db: Building, change: Change) -> None:
    sensor = db.sensor("s-1")
    assert sensor
    db.put(sensor.replace(**change))


def by_save(db: Building, change: Change) -> None:
    sensor = db.sensor("s-1")
    assert sensor
    db.save(sensor.replace(**change))


def by_edit(db: Building, change: Change) -> None:
    with db.edit(db.sensor, sensor_id="s-1") as sensor:
        for name, value in change.items():
            setattr(sensor, name, value)


def by_update(db: Building, change: Change) -> None:
    def apply(sensor: Sensor) -> None:
        for name, value in change.items():
            setattr(sensor, name, value)

    db.update(db.sensor, apply, sensor_id="s-1")


def by_transaction(db: Building, change: Change) -> None:
    sensor = db.sensor("s-1")
    assert sensor
    with db.transaction() as together:
        together.save(sensor.replace(**change))


def by_batch(db: Building, change: Change) -> None:
    sensor = db.sensor("s-1")
    assert sensor
    with db.batch() as batch:
        batch.put(sensor.replace(**change))


WAYS = [by_put, by_save, by_edit, by_update, by_transaction, by_batch]
KEYS = {"GSI1-pk", "GSI1-sk", "GSI2-pk", "GSI2-sk"}


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"room_id": "9"}, {"GSI1-pk": "building#b-1", "GSI1-sk": "floor#1#room#9"}),
        ({"floor_id": "2"}, {"GSI1-pk": "building#b-1", "GSI1-sk": "floor#2#room#1"}),
        ({"building_id": "b-2"}, {"GSI1-pk": "building#b-2", "GSI1-sk": "floor#1#room#1"}),
        ({"room_id": None}, {}),
        ({"note": "x"}, {"GSI1-pk": "building#b-1", "GSI1-sk": "floor#1#room#1"}),
        (
            {"state": "broken"},
            {
                "GSI1-pk": "building#b-1",
                "GSI1-sk": "floor#1#room#1",
                "GSI2-pk": "broken#b-1",
                "GSI2-sk": "s-1",
            },
        ),
        (
            {"state": "broken", "room_id": None},
            {"GSI2-pk": "broken#b-1", "GSI2-sk": "s-1"},
        ),
    ],
)
def test_every_change_leaves_the_right_index_keys(
    db: Building,
    stored: Callable[[st.Table], list[Item]],
    write: Callable[[Building, Change], None],
    change: Change,
    keys: dict[str, str],
) -> None:
    db.put(Sensor(sensor_id="s-1", building_id="b-1", floor_id="1", room_id="1"))
    write(db, change)
    [item] = stored(table)
    assert {n: v["S"] for n, v in item.items() if n in KEYS} == keys
    assert {n: item[n]["S"] for n, v in change.items() if v} == {
        n: v for n, v in change.items() if v
    }
    assert not any(n in item for n, v in change.items() if v is None)


@pytest.mark.parametrize("write", WAYS)
def test_a_part_that_comes_back_brings_the_index_key_back(
    db: Building, write: Callable[[Building, Change], None]
) -> None:
    db.put(Sensor(sensor_id="s-1", building_id="b-1", floor_id="1"))
    assert list(db.placed("b-1", "1")) == []
    write(db, {"room_id": "1", "state": "broken"})
    assert [s.room_id for s in db.placed("b-1", "1")] == ["1"]
    write(db, {"state": "ok"})
    assert list(db.broken("b-1")) == []


@pytest.mark.parametrize("field", ["building_id", "floor_id", "room_id", "state"])
def test_patch_refuses_fields_that_a_key_depends_on(db: Building, field: str) -> None:
    db.put(Sensor(sensor_id="s-1", building_id="b-1", floor_id="1", room_id="1"))
    with pytest.raises(st.BadValue, match=field), db.patch(db.sensor, sensor_id="s-1") as sensor:
        setattr(sensor, field, "2")


def test_patch_writes_other_fields_without_reading(
    db: Building, stored: Callable[[st.Table], list[Item]]
) -> None:
    db.put(Sensor(sensor_id="s-1", building_id="b-1", floor_id="1", note="old"))
    with db.patch(db.sensor, sensor_id="s-1") as sensor:
        sensor.note = "new"
    assert stored(table)[0]["note"] == {"S": "new"}
    with db.patch(db.sensor, sensor_id="s-1") as sensor:
        sensor.note = None
    assert "note" not in stored(table)[0]
    with pytest.raises(st.NotFound), db.patch(db.sensor, sensor_id="s-2") as sensor:
        sensor.note = "x"


def test_a_put_without_the_optional_part_is_not_in_the_index(db: Building) -> None:
    db.put(Sensor(sensor_id="s-1", building_id="b-1", floor_id="1"))
    assert db.sensor("s-1") == Sensor(sensor_id="s-1", building_id="b-1", floor_id="1")
    assert list(db.placed("b-1", "1")) == []


def test_a_prefix_never_returns_another_entity(db: Building) -> None:
    db.put(Floor(building_id="b-1", floor_id="1"))
    db.put(Floor(building_id="b-1", floor_id="10"))
    db.put(Room(building_id="b-1", floor_id="1", room_id="9"))
    db.put(Room(building_id="b-1", floor_id="10", room_id="9"))
    assert [f.floor_id for f in db.floors("b-1")] == ["1", "10"]
    assert [r.floor_id for r in db.rooms("b-1", "1")] == ["1"]
    assert db.floor_count("b-1") == 2
    assert db.floors("b-1").page(2).cursor is None


@pytest.mark.parametrize("write", ["put", "create"])
def test_a_delimiter_cannot_build_another_entitys_key(db: Building, write: str) -> None:
    with pytest.raises(st.BadValue, match="Room"):
        getattr(db, write)(Floor(building_id="b-1", floor_id="1#room#9"))
    with pytest.raises(st.BadValue), db.batch() as batch:
        batch.put(Floor(building_id="b-1", floor_id="1#room#9"))
    with pytest.raises(st.BadValue), db.transaction() as together:
        together.put(Floor(building_id="b-1", floor_id="1#room#9"))
    with pytest.raises(st.BadValue, match="other values"):
        getattr(db, write)(Room(building_id="b-1", floor_id="1#room#2", room_id="3"))
    with pytest.raises(st.BadValue):
        db.floor("b-1", "1#room#9")


def test_a_delimiter_that_means_nothing_else_is_allowed(db: Building) -> None:
    db.put(Floor(building_id="b-1", floor_id="1#west"))
    assert [f.floor_id for f in db.floors("b-1")] == ["1#west"]


def test_stale_index_keys_of_other_writers_are_healed(
    db: Building, database: hashrange.Database, stored: Callable[[st.Table], list[Item]]
) -> None:
    raw = table.dump(Sensor(sensor_id="s-1", building_id="b-1", floor_id="1", room_id="1"))
    raw |= {"GSI1-sk": {"S": "floor#7#room#7"}, "foreign": {"S": "kept"}}
    database.execute("PutItem", {"TableName": table.name, "Item": raw})
    with db.edit(db.sensor, sensor_id="s-1") as sensor:
        sensor.note = "x"
    [item] = stored(table)
    assert item["GSI1-sk"] == {"S": "floor#1#room#1"}
    assert item["foreign"] == {"S": "kept"}
