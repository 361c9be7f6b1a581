"""Models for the tests of migrations: readings of devices, before and after."""

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from hashrange import design as st


class Device(st.Item):
    key = st.key("device#{device}", "info")

    device: st.Slug
    place: str = ""


class Reading(st.Item):
    key = st.key("day#{device}#{at:%Y-%m-%d}", "{at:%H:%M:%S.%f}")
    by_label = st.index("labels", "label#{label}", "{at}")

    device: st.Slug
    at: datetime
    value: Decimal = Decimal(0)
    label: st.Slug | None = None
    serial: st.Slug
    version: st.Version = 0
    tags: frozenset[str] = frozenset()
    one_serial = st.unique("serial#{serial}", namespace="serial")


class Readings(st.Store, Protocol):
    def device(self, device: str) -> Device | None: ...
    def reading(self, device: str, at: datetime) -> Reading | None: ...
    def of_day(self, device: str, at: st.Day) -> st.Query[Reading]: ...
    @st.counts(Reading)
    def count(self, device: str, at: st.Day) -> int: ...
    def labelled(self, label: str) -> st.Query[Reading]: ...
    @st.scan_ok("a report")
    def everything(self) -> st.Query[Reading]: ...


def to_milli(value: Decimal) -> int:
    return int(value * 1000)


def from_milli(milli: int) -> Decimal:
    return Decimal(milli) / 1000


class Sample(st.Item):
    key = st.key("samples#{sensor}", "{at}")
    by_label = st.index("sample-labels", "label#{label}", "{at}")
    replaces = st.replaces(
        "Reading", device=st.pair("sensor"), value=st.pair("milli", to_milli, from_milli)
    )

    sensor: st.Slug
    at: datetime
    milli: int
    label: st.Slug | None = None
    serial: st.Slug
    version: st.Version = 0
    tags: frozenset[str] = frozenset()
    one_serial = st.unique("serial#{serial}", namespace="serial")


class Samples(st.Store, Protocol):
    def device(self, device: str) -> Device | None: ...
    def sample(self, sensor: str, at: datetime) -> Sample | None: ...
    def since(self, sensor: str, at: st.AtLeast[datetime]) -> st.Query[Sample]: ...
    def labelled(self, label: str) -> st.Query[Sample]: ...


OLD = st.Table("fleet", Readings)
NEW = st.Table("fleet", Samples)
