"""Sensors in buildings and rooms, with PynamoDB, to compare with sensors_hashrange.py.

Needs a server: ENDPOINT=http://127.0.0.1:8000 python sensors_pynamodb.py
(with any AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment)
"""

import os

from pynamodb.attributes import UnicodeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model


class OfRoom(GlobalSecondaryIndex["Sensor"]):
    class Meta:
        index_name = "gsi1"
        projection = AllProjection()

    room_key = UnicodeAttribute(hash_key=True)
    sensor_key = UnicodeAttribute(range_key=True)


class Sensor(Model):
    class Meta:
        table_name = "sensors-pynamodb"
        host = os.environ["ENDPOINT"]
        region = "us-east-1"
        billing_mode = "PAY_PER_REQUEST"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    of_room = OfRoom()
    room_key = UnicodeAttribute(null=True)
    sensor_key = UnicodeAttribute(null=True)
    building_id = UnicodeAttribute()
    sensor_id = UnicodeAttribute()
    room_id = UnicodeAttribute(null=True)


def sensor(building_id: str, sensor_id: str, room_id: str) -> Sensor:
    """A sensor with its keys, which PynamoDB leaves to the program."""
    return Sensor(
        pk=f"building#{building_id}", sk=f"sensor#{sensor_id}",
        room_key=f"room#{room_id}", sensor_key=f"sensor#{sensor_id}",
        building_id=building_id, sensor_id=sensor_id, room_id=room_id,
    )  # fmt: skip


def of_room(room_id: str) -> list[str]:
    return [sensor.sensor_id for sensor in Sensor.of_room.query(f"room#{room_id}")]


def main() -> None:
    Sensor.create_table(wait=True)
    for n in ("1", "2"):
        sensor("b", n, "r1").save()
    sensors = Sensor.query("building#b", Sensor.sk.startswith("sensor#"))
    print("building:", *(one.sensor_id for one in sensors))

    one = Sensor.get("building#b", "sensor#1")
    one.update(actions=[Sensor.room_id.set("r2")])  # without the index key: no error
    print("r1 with a forgotten key:", *of_room("r1"))
    one.update(actions=[Sensor.room_id.set("r2"), Sensor.room_key.set("room#r2")])
    print("r1:", *of_room("r1"))
    print("r2:", *of_room("r2"))

    gone = [Sensor.room_id.remove(), Sensor.room_key.remove(), Sensor.sensor_key.remove()]
    one.update(actions=gone)
    print("r2 after leaving:", *of_room("r2"))


if __name__ == "__main__":
    main()
