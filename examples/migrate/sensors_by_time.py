"""The new model of demo_migrate.py: a partition for each sensor, so a query can span days."""

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from hashrange import design as st


class Sensor(st.Item):
    key = st.key("sensor#{sensor_id}", "info")

    sensor_id: st.Slug
    room_id: str


class Reading(st.Item):
    key = st.key("readings#{sensor_id}", "{at}")
    replaces = st.replaces("Measurement")

    sensor_id: st.Slug
    at: datetime
    value: Decimal


class Readings(st.Store, Protocol):
    def sensor(self, sensor_id: str) -> Sensor | None: ...

    def reading(self, sensor_id: str, at: datetime) -> Reading | None: ...

    def between(self, sensor_id: str, at: st.Between[datetime]) -> st.Query[Reading]: ...


table = st.Table("sensor-management", Readings)
