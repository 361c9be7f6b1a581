"""The old model of demo_migrate.py: a partition for the measurements of each sensor and day."""

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from hashrange import design as st


class Sensor(st.Item):
    key = st.key("sensor#{sensor_id}", "info")

    sensor_id: st.Slug
    room_id: str


class Measurement(st.Item):
    key = st.key("sensor#{sensor_id}#{at:%Y-%m-%d}", "{at:%H:%M:%S.%f}")

    sensor_id: st.Slug
    at: datetime
    value: Decimal


class Measurements(st.Store, Protocol):
    def sensor(self, sensor_id: str) -> Sensor | None: ...

    def measurement(self, sensor_id: str, at: datetime) -> Measurement | None: ...

    def of_day(self, sensor_id: str, at: st.Day) -> st.Query[Measurement]: ...

    @st.latest
    def latest(self, sensor_id: str, at: st.Day) -> Measurement | None: ...


table = st.Table("sensor-management", Measurements)
