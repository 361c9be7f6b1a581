"""The same items, asked through the model and through plain boto3, give the same answers."""

import importlib
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

import hashrange

from .test_examples import EXAMPLES

SINCE = date(2018, 7, 27)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module
    for name in ("sensors", "organisations", "chat"):
        sys.modules.pop(name, None)


def keys(table: Any, items: Any) -> list[tuple[str, str]]:
    stored = [table.dump(item) for item in items]
    return [(item["pk"]["S"], item["sk"]["S"]) for item in stored]


def plain_keys(items: Any) -> list[tuple[str, str]]:
    return [(item["pk"], item["sk"]) for item in items]


Import = Callable[[str], ModuleType]


def test_sensors(database: hashrange.Database, plain: Import, model: Import) -> None:
    boto, m = plain("boto3_sensors"), model("sensors")
    client = database.boto3_session().resource("dynamodb").meta.client
    boto.create(client)
    assert m.table.create(database) is False  # the model finds that very table fitting
    db = m.table.open(m.Sensors, database)
    with db.batch() as batch:
        for item in sensors_of(m, boto):
            batch.put(item)
    t = m.table
    assert keys(t, [db.building("b-1")]) == plain_keys([boto.building_info(client, "b-1")])
    assert keys(t, db.floors("b-1")) == plain_keys(boto.floors(client, "b-1"))
    assert keys(t, db.rooms("b-1", "f-2")) == plain_keys(boto.rooms(client, "b-1", "f-2"))
    assert keys(t, db.building_sensors("b-1")) == plain_keys(boto.building_sensors(client, "b-1"))
    assert keys(t, db.floor_sensors("f-2")) == plain_keys(boto.floor_sensors(client, "f-2"))
    assert keys(t, db.room_sensors("r-3")) == plain_keys(boto.room_sensors(client, "r-3"))
    assert keys(t, db.all_of(m.Room)) == plain_keys(boto.all_of(client, "Room"))
    latest = db.latest("s-1", boto.DAY)
    assert keys(t, [latest]) == plain_keys([boto.latest_measurement(client, "s-1", boto.DAY)])
    assert len(list(db.floors("b-1"))) == boto.FLOORS_PER_BUILDING


def sensors_of(m: ModuleType, boto: ModuleType) -> Iterator[Any]:
    """The plain version's items as the model's: what is there is told by their keys."""
    for raw in boto.places():
        building = raw.get("GSI1-pk", raw["pk"]).partition("#")[2]
        if raw["entityType"] == "Building":
            yield m.Building(building_id=building, name=raw["name"])
        elif raw["entityType"] == "Floor":
            yield m.Floor(building_id=building, floor_id=raw["floorId"])
        elif raw["entityType"] == "Room":
            floor = raw["sk"].split("@")[1]
            yield m.Room(building_id=building, floor_id=floor, room_id=raw["roomId"])
        else:
            floor, room = (raw[f"GSI{n}-pk"].partition("#")[2] for n in (2, 3))
            yield m.Sensor(
                sensor_id=raw["sensorId"], building_id=building, floor_id=floor, room_id=room
            )
    for minute in range(3):
        at = f"{boto.DAY:%Y-%m-%d}T12:0{minute}:00Z"
        yield m.Measurement(sensor_id="s-1", at=at, value=Decimal(minute))


def test_organisations(database: hashrange.Database, plain: Import, model: Import) -> None:
    boto, m = plain("boto3_organisations"), model("organisations")
    client = database.boto3_session().resource("dynamodb").meta.client
    m.organisations.create(database)
    m.projects.create(database)
    boto.load(client)  # plain items, which the model reads as they are
    db = m.projects.open(m.Projects, database)
    organisations = m.organisations.open(m.Organisations, database)
    first = boto.organisation(client, "abc123")
    assert organisations.organisation("abc123").model_dump() == first
    for organisation in ("abc123", "def456"):
        mine = [p.model_dump(mode="json") for p in db.projects(organisation)]
        assert mine == boto.projects(client, organisation)
    mine = [p.model_dump() for p in db.owned_by("jane")]
    assert sorted(mine, key=str) == sorted(boto.owned_by(client, "jane"), key=str)
    recent = boto.updated_lately(client, "abc123", today=SINCE + timedelta(days=7))
    assert [p.name for p in db.updated_since("abc123", SINCE)] == [p["name"] for p in recent]
    assert recent
