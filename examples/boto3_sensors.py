"""Sensor management with boto3: buildings, floors, rooms, sensors and measurements in one table.

Sensors have the keys of three sparse indexes, so that they can be found by building, floor and
room. A fourth index, by `entityType`, holds every item.

sensors.py declares the same table.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import count, islice
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, items, key_schema, main, put_all, strings

TABLE = "sensor-management"
DAY = date(2024, 5, 1)

BUILDINGS = ("b-1", "b-2")
FLOORS_PER_BUILDING = 5
ROOMS_PER_FLOOR = 5
SENSORS_PER_ROOM = 2
MEASUREMENTS_PER_SENSOR = 100


def create(client: Client) -> None:
    """Create the table, with the keys pk and sk. GSI1 to GSI3 are sparse; GSI4 has every item."""
    sparse = [(f"GSI{number}", (f"GSI{number}-pk", f"GSI{number}-sk")) for number in (1, 2, 3)]
    indexes: list[tuple[str, tuple[str, ...]]] = [*sparse, ("GSI4", ("entityType",))]
    attributes = ["pk", "sk", *(name for _, names in indexes for name in names)]
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("pk", "sk"),
        AttributeDefinitions=strings(*attributes),
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": key_schema(*names),
                "Projection": {"ProjectionType": "ALL"},
            }
            for name, names in indexes
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})


# ---- items ----


def new_building(building_id: str) -> Item:
    key = {"pk": f"building#{building_id}", "sk": "info"}
    fields = {"building_id": building_id, "name": f"Building {building_id}"}
    return {"entityType": "Building", **key, **fields}


def new_floor(building_id: str, floor_id: str) -> Item:
    key = {"pk": f"building#{building_id}", "sk": f"floor#{floor_id}"}
    return {"entityType": "Floor", **key, "building_id": building_id, "floor_id": floor_id}


def new_room(building_id: str, floor_id: str, room_id: str) -> Item:
    """A room. Because of the @, `begins_with(sk, "floor#")` finds floors but no rooms."""
    key = {"pk": f"building#{building_id}", "sk": f"floor@{floor_id}@room#{room_id}"}
    fields = {"building_id": building_id, "floor_id": floor_id, "room_id": room_id}
    return {"entityType": "Room", **key, **fields}


def new_sensor(building_id: str, floor_id: str, room_id: str, sensor_id: str) -> Item:
    places = (f"building#{building_id}", f"floor#{floor_id}", f"room#{room_id}")
    keys: Item = {"pk": f"sensor#{sensor_id}", "sk": "info"}
    for number, place in enumerate(places, 1):
        keys |= {f"GSI{number}-pk": place, f"GSI{number}-sk": f"sensor#{sensor_id}"}
    ids = {"building_id": building_id, "floor_id": floor_id, "room_id": room_id}
    return {"entityType": "Sensor", **keys, "sensor_id": sensor_id, **ids}


def new_measurement(sensor_id: str, at: datetime, value: Decimal) -> Item:
    key = {"pk": f"sensor#{sensor_id}#{at:%Y-%m-%d}", "sk": f"{at:%H:%M:%S.%f}"}
    fields = {"sensor_id": sensor_id, "at": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}", "value": value}
    return {"entityType": "Measurement", **key, **fields}


def places() -> Iterator[Item]:
    """All buildings, floors, rooms and sensors; the ids of each kind are numbered consecutively."""
    floor_ids, room_ids, sensor_ids = (map(f"{kind}-{{}}".format, count(1)) for kind in "frs")
    for building_id in BUILDINGS:
        yield new_building(building_id)
        for floor_id in islice(floor_ids, FLOORS_PER_BUILDING):
            yield new_floor(building_id, floor_id)
            for room_id in islice(room_ids, ROOMS_PER_FLOOR):
                yield new_room(building_id, floor_id, room_id)
                for sensor_id in islice(sensor_ids, SENSORS_PER_ROOM):
                    yield new_sensor(building_id, floor_id, room_id, sensor_id)


def measurements(day: date = DAY) -> Iterator[Item]:
    """The measurements of all sensors on one day, evenly spaced from midnight on."""
    step = timedelta(days=1) / MEASUREMENTS_PER_SENSOR
    ids = [place["sensor_id"] for place in places() if place["entityType"] == "Sensor"]
    for tick in range(MEASUREMENTS_PER_SENSOR):
        at = datetime.combine(day, time()) + tick * step
        for number, sensor_id in enumerate(ids):
            yield new_measurement(sensor_id, at, Decimal(180 + (number + tick) % 50) / 10)


def load(client: Client, day: date = DAY) -> Iterator[int]:
    """Put all items. Yields the number of items in each batch once the batch is stored."""
    yield from put_all(client, TABLE, places())
    yield from put_all(client, TABLE, measurements(day))


# ---- access patterns ----


def building(client: Client, building_id: str) -> Item | None:
    key = {"pk": f"building#{building_id}", "sk": "info"}
    item: Item | None = client.get_item(TableName=TABLE, Key=key).get("Item")
    return item


def _query(client: Client, condition: Any, **more: Any) -> list[Item]:
    return items(client.query, TableName=TABLE, KeyConditionExpression=condition, **more)


def floors(client: Client, building_id: str) -> list[Item]:
    of_building = Key("pk").eq(f"building#{building_id}")
    return _query(client, of_building & Key("sk").begins_with("floor#"))


def rooms(client: Client, building_id: str, floor_id: str) -> list[Item]:
    of_building = Key("pk").eq(f"building#{building_id}")
    return _query(client, of_building & Key("sk").begins_with(f"floor@{floor_id}@room#"))


def building_sensors(client: Client, building_id: str) -> list[Item]:
    return _query(client, Key("GSI1-pk").eq(f"building#{building_id}"), IndexName="GSI1")


def floor_sensors(client: Client, floor_id: str) -> list[Item]:
    return _query(client, Key("GSI2-pk").eq(f"floor#{floor_id}"), IndexName="GSI2")


def room_sensors(client: Client, room_id: str) -> list[Item]:
    return _query(client, Key("GSI3-pk").eq(f"room#{room_id}"), IndexName="GSI3")


def latest(client: Client, sensor_id: str, day: date = DAY) -> Item | None:
    """The latest measurement of a day: the first item in descending order, with Limit=1."""
    page = client.query(
        TableName=TABLE,
        KeyConditionExpression=Key("pk").eq(f"sensor#{sensor_id}#{day:%Y-%m-%d}"),
        ScanIndexForward=False,
        Limit=1,
    )
    return next(iter(page["Items"]), None)


def all_of(client: Client, entity: str) -> list[Item]:
    return _query(client, Key("entityType").eq(entity), IndexName="GSI4")


def patterns(day: date = DAY) -> list[Pattern]:
    table, query = "Base table", "Query"
    return [
        Pattern(
            "Get building info",
            *(table, "GetItem", "pk = `b-1`", "sk = `info`", ""),
            run=lambda client: [building(client, "b-1")],
        ),
        Pattern(
            "Get the building's floor info",
            *(table, query, "pk = `b-1`", "sk begins_with `floor#`", ""),
            run=lambda client: floors(client, "b-1"),
        ),
        Pattern(
            "Get the floor's room info",
            *(table, query, "pk = `b-1`", "sk begins_with `floor@f-2@room#`", ""),
            run=lambda client: rooms(client, "b-1", "f-2"),
        ),
        Pattern(
            "Get the building's sensor info",
            *("GSI 1", query, "GSI1-pk = `b-1`", "", ""),
            run=lambda client: building_sensors(client, "b-1"),
        ),
        Pattern(
            "Get the floor's sensor info",
            *("GSI 2", query, "GSI2-pk = `f-2`", "", ""),
            run=lambda client: floor_sensors(client, "f-2"),
        ),
        Pattern(
            "Get the room's sensor info",
            *("GSI 3", query, "GSI3-pk = `r-3`", "", ""),
            run=lambda client: room_sensors(client, "r-3"),
        ),
        Pattern(
            "Get the latest measurement of a particular sensor",
            *(table, query, f"pk = `s-5` + {day}", "", "Limit = 1, ScanIndexForward = false"),
            run=lambda client: [latest(client, "s-5", day)],
        ),
        Pattern(
            "Get all items of a particular entity",
            *("GSI 4", query, "entityType = `Measurement`", "", ""),
            run=lambda client: all_of(client, "Measurement"),
        ),
    ]


def prepare(client: Client) -> None:
    create(client)
    for _ in load(client):
        pass


if __name__ == "__main__":
    main("Sensor management", prepare, patterns())
