"""`python -m benchmarks.design`: what the toolkit adds to a bare call.

The same work through each: one item is got, 50 of a partition queried, one put, on one
in-process database. Microseconds, the best of five rounds.
"""

import timeit
from collections.abc import Callable
from typing import Any, Protocol

import hashrange
from hashrange import design as st

ITEMS = 50
ROUNDS = 5
Work = dict[str, Callable[[], object]]


class Sensor(st.Item):
    key = st.key("building#{building_id}", "sensor#{sensor_id}")
    on_floor = st.index("GSI1", "floor#{floor_id}", "sensor#{sensor_id}")
    in_room = st.index("GSI2", "room#{room_id}", "sensor#{sensor_id}")

    building_id: str
    sensor_id: str
    floor_id: str
    room_id: str | None = None


class Sensors(st.Store, Protocol):
    def sensor(self, building_id: str, sensor_id: str) -> Sensor | None: ...
    def sensors(self, building_id: str) -> st.Query[Sensor]: ...


table = st.Table("sensors", Sensors)


def filled() -> hashrange.Database:
    database = hashrange.connect()
    table.create(database)
    with table.open(Sensors, database).batch() as batch:
        for n in range(ITEMS):
            batch.put(sensor(n))
    return database


def sensor(number: int) -> Sensor:
    return Sensor(building_id="b-1", sensor_id=f"s-{number:03d}", floor_id="f-1", room_id="r-1")


def requests() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """GetItem, Query and PutItem, as the model asks them."""
    [(_, get)] = table.request(Sensors.sensor, "b-1", "s-001").requests
    [(_, query)] = table.request(Sensors.sensors, "b-1").requests
    [(_, put)] = table.request(Sensors.put, sensor(1)).requests
    return get, query, put


def bare(database: hashrange.Database) -> Work:
    get, query, put = requests()
    return {
        "get": lambda: database.execute("GetItem", get),
        "query": lambda: database.execute("Query", query),
        "put": lambda: database.execute("PutItem", put),
    }


def ours(connection: Any) -> Work:
    db = table.open(Sensors, connection)
    one = sensor(1)
    return {
        "get": lambda: db.sensor("b-1", "s-001"),
        "query": lambda: list(db.sensors("b-1")),
        "put": lambda: db.put(one),
    }


def boto3_client(database: hashrange.Database) -> Work:
    client = database.boto3_session().client("dynamodb")
    get, query, put = requests()
    return {
        "get": lambda: client.get_item(**get),
        "query": lambda: client.query(**query),
        "put": lambda: client.put_item(**put),
    }


def keys_and_back() -> Callable[[], object]:
    entity = table.model.entity(Sensor)
    one = sensor(1)
    return lambda: entity.load(entity.dump(one))


def microseconds(work: Callable[[], object]) -> float:
    timer = timeit.Timer(work)
    number, _ = timer.autorange()
    number = max(1, number // 4)
    return min(timer.repeat(ROUNDS, number)) / number * 1e6


def main() -> None:
    database = filled()
    works = {
        "Database.execute": bare(database),
        "design in process": ours(database),
        "boto3 client in process": boto3_client(database),
        "design on that client": ours(database.boto3_session().client("dynamodb")),
    }
    print(f"{'microseconds':28}{'get':>10}{f'query {ITEMS}':>10}{'put':>10}")
    for name, work in works.items():
        print(f"{name:28}" + "".join(f"{microseconds(one):10.1f}" for one in work.values()))
    print(f"{'a sensor to keys and back':28}{microseconds(keys_and_back()):10.1f}")


if __name__ == "__main__":
    main()
