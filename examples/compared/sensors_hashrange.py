"""Sensors in buildings and rooms, with hashrange.design, to compare with the other programs here.

Needs a server: ENDPOINT=http://127.0.0.1:8000 python sensors_hashrange.py
(with any AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment)
"""

import os
from typing import Protocol

import boto3

from hashrange import design as st


class Sensor(st.Item):
    key = st.key("building#{building_id}", "sensor#{sensor_id}")
    in_room = st.index("gsi1", "room#{room_id}", "sensor#{sensor_id}")

    building_id: st.Slug
    sensor_id: st.Slug
    room_id: st.Slug | None = None


class Sensors(st.Store, Protocol):
    def sensor(self, building_id: str, sensor_id: str) -> Sensor | None: ...
    def of_building(self, building_id: str) -> st.Query[Sensor]: ...
    def of_room(self, room_id: str) -> st.Query[Sensor]: ...


table = st.Table("sensors-hashrange", Sensors)


def main() -> None:
    client = boto3.client("dynamodb", endpoint_url=os.environ["ENDPOINT"], region_name="us-east-1")
    table.create(client)
    db = table.open(Sensors, client)
    for n in ("1", "2"):
        db.put(Sensor(building_id="b", sensor_id=n, room_id="r1"))
    print("building:", *(s.sensor_id for s in db.of_building("b")))

    with db.edit(db.sensor, "b", "1") as sensor:
        sensor.room_id = "r2"
    print("r1:", *(s.sensor_id for s in db.of_room("r1")))
    print("r2:", *(s.sensor_id for s in db.of_room("r2")))

    with db.edit(db.sensor, "b", "1") as sensor:
        sensor.room_id = None
    print("r2 after leaving:", *(s.sensor_id for s in db.of_room("r2")))


if __name__ == "__main__":
    main()
