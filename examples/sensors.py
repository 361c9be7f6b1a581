"""Sensors in buildings, floors and rooms, and what they measure: one table for all of them."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Protocol, TypeVar

from hashrange import design as st

T = TypeVar("T", bound=st.Item)


class Building(st.Item):
    key = st.key("building#{building_id}", "info")

    building_id: str
    name: str


class Floor(st.Item):
    key = st.key("building#{building_id}", "floor#{floor_id}")

    building_id: str
    floor_id: str


class Room(st.Item):
    # With the @, `begins_with(sk, 'floor#')` matches floors and no rooms.
    key = st.key("building#{building_id}", "floor@{floor_id}@room#{room_id}")

    building_id: str
    floor_id: str
    room_id: str


class Sensor(st.Item):
    key = st.key("sensor#{sensor_id}", "info")
    in_building = st.index("GSI1", "building#{building_id}", "sensor#{sensor_id}")
    on_floor = st.index("GSI2", "floor#{floor_id}", "sensor#{sensor_id}")
    in_room = st.index("GSI3", "room#{room_id}", "sensor#{sensor_id}")

    sensor_id: str
    building_id: Annotated[str, st.ref(Building)]
    floor_id: Annotated[str, st.ref(Floor)]
    room_id: Annotated[str, st.ref(Room)] | None = None  # a sensor in no room is not in GSI3


class Measurement(st.Item):
    key = st.key("sensor#{sensor_id}#{at:%Y-%m-%d}", "{at:%H:%M:%S.%f}")

    sensor_id: str
    at: datetime
    value: Decimal
    expires: st.TTL | None = None


class Sensors(st.Store, Protocol):
    def building(self, building_id: str) -> Building | None:
        """Get building info"""
        ...

    def floors(self, building_id: str) -> st.Query[Floor]:
        """Get the building's floor info"""
        ...

    def rooms(self, building_id: str, floor_id: str) -> st.Query[Room]:
        """Get the floor's room info"""
        ...

    def building_sensors(self, building_id: str) -> st.Query[Sensor]:
        """Get the building's sensor info"""
        ...

    def floor_sensors(self, floor_id: str) -> st.Query[Sensor]:
        """Get the floor's sensor info"""
        ...

    def room_sensors(self, room_id: str) -> st.Query[Sensor]:
        """Get the room's sensor info"""
        ...

    @st.latest
    def latest(self, sensor_id: str, at: st.Day) -> Measurement | None:
        """Get the latest measurement of a particular sensor"""
        ...

    def all_of(self, entity: type[T]) -> st.Query[T]:
        """Get all items of a particular entity"""
        ...


table = st.Table("sensor-management", Sensors, type_attribute="entityType", by_type="GSI4")
