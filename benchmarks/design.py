"""`python -m benchmarks.design`: what the toolkit adds to a bare call, beside PynamoDB.

The same work through each: one item is got, 50 of a partition queried, one put, on one database,
in process and over HTTP. PynamoDB is left out if it is not installed. Microseconds, the best of
five rounds.
"""

import asyncio
import importlib.util
import threading
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import boto3

import hashrange
from hashrange import design as st
from hashrange.interfaces.entrance import open_entrance
from hashrange.interfaces.server import Server

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


def plain_boto3(client: Any) -> Work:
    get, query, put = requests()
    return {
        "get": lambda: client.get_item(**get),
        "query": lambda: client.query(**query),
        "put": lambda: client.put_item(**put),
    }


def pynamodb(endpoint: str) -> Work:
    """The same stored items; the key texts are made by hand, as its users do."""
    from pynamodb.attributes import UnicodeAttribute
    from pynamodb.models import Model

    class PynamoSensor(Model):
        class Meta:
            table_name = "sensors"
            host = endpoint
            region = "us-east-1"
            aws_access_key_id = "example"
            aws_secret_access_key = "example"

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        building_id = UnicodeAttribute()
        sensor_id = UnicodeAttribute()
        floor_id = UnicodeAttribute()
        room_id = UnicodeAttribute(null=True)
        entity_type = UnicodeAttribute(attr_name="entityType")
        gsi1_pk = UnicodeAttribute(attr_name="GSI1-pk")
        gsi1_sk = UnicodeAttribute(attr_name="GSI1-sk")
        gsi2_pk = UnicodeAttribute(attr_name="GSI2-pk", null=True)
        gsi2_sk = UnicodeAttribute(attr_name="GSI2-sk", null=True)

    one = PynamoSensor.get("building#b-1", "sensor#s-001")
    return {
        "get": lambda: PynamoSensor.get("building#b-1", "sensor#s-001"),
        "query": lambda: list(
            PynamoSensor.query("building#b-1", PynamoSensor.sk.startswith("sensor#"))
        ),
        "put": one.save,
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


@contextmanager
def served(database: hashrange.Database) -> Iterator[str]:
    """The endpoint of a server in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    entrance = open_entrance("127.0.0.1", 0)
    server = Server(database.runtime, entrance)
    asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    yield f"http://127.0.0.1:{entrance.port}"
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def show(name: str, work: Work) -> None:
    print(f"{name:28}" + "".join(f"{microseconds(one):10.1f}" for one in work.values()))


def main() -> None:
    database = filled()
    print(f"{'microseconds':28}{'get':>10}{f'query {ITEMS}':>10}{'put':>10}")
    show("Database.execute", bare(database))
    show("design in process", ours(database))
    with served(database) as endpoint:
        client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="example",
            aws_secret_access_key="example",
        )
        show("boto3 over HTTP", plain_boto3(client))
        show("design over HTTP", ours(client))
        if importlib.util.find_spec("pynamodb"):
            show("pynamodb over HTTP", pynamodb(endpoint))
    print(f"{'a sensor to keys and back':28}{microseconds(keys_and_back()):10.1f}")


if __name__ == "__main__":
    main()
