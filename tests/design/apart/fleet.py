"""A fleet: vehicles, drivers, trips, positions, fills and fences, with forty patterns.

See `helpdesk`.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from hashrange import design as st

from .helpdesk import COUNT, FIRST, LAST, LATEST, MANY, Answer, utc_day


class Vehicle(st.Item):
    key = st.key("depot#{depot}", "vehicle#{plate}")
    by_plate = st.index("GSI1", "plate#{plate}", "info")
    by_kind = st.index("GSI2", "kind#{kind}#{region}", "{mileage|desc:07d}#{plate}")
    one_plate = st.unique("{plate}", namespace="plates")

    depot: st.Slug
    plate: st.Slug
    kind: Literal["van", "truck", "bus"]
    mileage: Annotated[int, Field(ge=0)] = 0
    driver: st.Slug | None = None

    @st.derived("depot")
    def region(self) -> str:
        return self.depot[:1]


class Driver(st.Item):
    key = st.key("driver#{driver}", "info")
    by_name = st.index("GSI3", "drivers#{name:.1}", "{name}")

    driver: st.Slug
    name: st.Slug
    trips: int = 0


class Trip(st.Item):
    key = st.key("plate#{plate}#{start:%Y}", "trip#{start}")
    by_driver = st.index("GSI1", "driver#{driver}", "{start}#{plate}")
    by_lane = st.index("GSI4", "lane#{lane}", "{start}#{plate}")

    plate: st.Slug
    start: datetime
    driver: st.Slug
    km: Decimal
    lane: Annotated[int, Field(ge=0, le=2)]


class Position(st.Item):
    key = st.key("at#{plate}#{at:%Y-%m-%dT%H}", "{at}")
    by_cell = st.index("GSI5", "cell#{cell:.3}#{at:%Y-%m-%d}", "{cell}#{at}#{plate}")

    plate: st.Slug
    at: datetime
    cell: st.Slug


class Fill(st.Item):
    key = st.key("fills#{plate}", "{day}#{price:08.2f}")
    by_price = st.index("GSI6", "fills#{day:%Y-%m}", "{price|desc:08.2f}#{plate}#{day}")

    plate: st.Slug
    day: date
    price: Decimal


class Fleet(st.Store, Protocol):
    def vehicle(self, depot: str, plate: str) -> Vehicle | None: ...
    def of_depot(self, depot: str) -> st.Query[Vehicle]: ...
    def of_depots(self, depot: st.AnyOf[str]) -> st.Query[Vehicle]: ...
    @st.counts(Vehicle)
    def size_of(self, depot: str) -> int: ...
    def by_plate(self, plate: str) -> Vehicle | None: ...
    def of_kind(self, kind: Literal["van", "truck", "bus"], region: str) -> st.Query[Vehicle]: ...
    @st.scatter("kind")
    def in_region(self, region: str) -> st.Query[Vehicle]: ...
    @st.scatter("kind")
    @st.counts(Vehicle)
    def count_region(self, region: str) -> int: ...
    def of_kinds(
        self, kind: st.AnyOf[Literal["van", "truck", "bus"]], region: str
    ) -> st.Query[Vehicle]: ...
    @st.scatter("kind")
    def worn(self, region: str, mileage: st.AtLeast[int]) -> st.Query[Vehicle]: ...
    @st.scatter("kind")
    def fresh(self, region: str, mileage: st.Before[int]) -> st.Query[Vehicle]: ...
    @st.scatter("kind")
    def most_worn(self, region: str) -> Vehicle | None: ...
    @st.where("driver = :driver")
    def driven_by(self, depot: str, driver: str) -> st.Query[Vehicle]: ...
    def driver(self, driver: str) -> Driver | None: ...
    def drivers(self, driver: st.AnyOf[str]) -> st.Query[Driver]: ...
    def named(self, name: st.Prefix[str]) -> st.Query[Driver]: ...
    def exactly(self, name: str) -> st.Query[Driver]: ...
    def trip(self, plate: str, start: datetime) -> Trip | None: ...
    @st.buckets(at_most=3)
    def trips(self, plate: str, start: st.Between[datetime]) -> st.Query[Trip]: ...
    @st.buckets(at_most=3)
    @st.latest
    def trips_back(self, plate: str, start: st.Between[datetime]) -> st.Query[Trip]: ...
    @st.buckets(at_most=3)
    @st.counts(Trip)
    def trip_count(self, plate: str, start: st.Between[datetime]) -> int: ...
    @st.buckets(at_most=3)
    @st.latest
    def last_trip(self, plate: str, start: st.Before[datetime]) -> Trip | None: ...
    @st.buckets(at_most=3)
    def first_trip(self, plate: str, start: st.Between[datetime]) -> Trip | None: ...
    @st.buckets(at_most=3)
    @st.where("km > :km")
    def long_trips(
        self, plate: str, start: st.Between[datetime], km: Decimal
    ) -> st.Query[Trip]: ...
    def of_driver(self, driver: str) -> st.Query[Trip]: ...
    def driver_on(self, driver: str, start: st.Day) -> st.Query[Trip]: ...
    def driver_in(self, driver: str, start: st.Month) -> st.Query[Trip]: ...
    def driver_since(self, driver: str, start: st.After[datetime]) -> st.Query[Trip]: ...
    @st.latest
    def last_of_driver(self, driver: str) -> Trip | None: ...
    def of_lane(self, lane: int) -> st.Query[Trip]: ...
    def of_lanes(self, lane: st.AnyOf[int], start: st.AtLeast[datetime]) -> st.Query[Trip]: ...
    @st.scatter("lane")
    def all_trips(self) -> st.Query[Trip]: ...
    @st.scatter("lane")
    @st.latest
    def newest_trip(self) -> Trip | None: ...
    def in_hour(self, plate: str, at: st.Hour) -> st.Query[Position]: ...
    @st.buckets(at_most=48)
    def track(self, plate: str, at: st.Between[datetime]) -> st.Query[Position]: ...
    def in_cell(self, cell: st.Prefix[str], at: st.Day) -> st.Query[Position]: ...
    def fills(self, plate: str) -> st.Query[Fill]: ...
    def fills_between(self, plate: str, day: st.Between[date]) -> st.Query[Fill]: ...
    def dearest(self, day: st.Month) -> st.Query[Fill]: ...
    def dearer(self, day: st.Month, price: st.AtLeast[Decimal]) -> st.Query[Fill]: ...


V, D, T, P, F = (Vehicle,), (Driver,), (Trip,), (Position,), (Fill,)


def worn(v: Vehicle) -> Any:
    return -v.mileage, v.plate


def on(one: Any, day: date) -> bool:
    return (one.year, one.month) == (day.year, day.month)


def start(t: Trip) -> Any:
    return t.start, t.plate


ANSWERS: dict[str, Answer] = {
    "vehicle": (V, lambda v, d, p: (v.depot, v.plate) == (d, p), None, FIRST),
    "of_depot": (V, lambda v, d: v.depot == d, lambda v: v.plate, MANY),
    "of_depots": (V, lambda v, d: v.depot in d, lambda v: v.plate, MANY),
    "size_of": (V, lambda v, d: v.depot == d, None, COUNT),
    "by_plate": (V, lambda v, p: v.plate == p, None, FIRST),
    "of_kind": (V, lambda v, k, r: v.kind == k and v.depot[0] == r, worn, MANY),
    "of_kinds": (V, lambda v, k, r: v.kind in k and v.depot[0] == r, worn, MANY),
    "in_region": (V, lambda v, r: v.depot[0] == r, worn, MANY),
    "count_region": (V, lambda v, r: v.depot[0] == r, None, COUNT),
    "worn": (V, lambda v, r, m: v.depot[0] == r and v.mileage >= m, worn, MANY),
    "fresh": (V, lambda v, r, m: v.depot[0] == r and v.mileage < m, worn, MANY),
    "most_worn": (V, lambda v, r: v.depot[0] == r, worn, FIRST),
    "driven_by": (V, lambda v, d, p: v.depot == d and v.driver == p, lambda v: v.plate, MANY),
    "driver": (D, lambda d, i: d.driver == i, None, FIRST),
    "drivers": (D, lambda d, i: d.driver in i, None, MANY),
    "named": (D, lambda d, n: d.name.startswith(n), None, MANY),
    "exactly": (D, lambda d, n: d.name == n, None, MANY),
    "trip": (T, lambda t, p, s: (t.plate, t.start) == (p, s), None, FIRST),
    "trips": (T, lambda t, p, s: t.plate == p and s[0] <= t.start <= s[1], start, MANY),
    "trips_back": (T, lambda t, p, s: t.plate == p and s[0] <= t.start <= s[1], start, LATEST),
    "trip_count": (T, lambda t, p, s: t.plate == p and s[0] <= t.start <= s[1], None, COUNT),
    "last_trip": (T, lambda t, p, s: t.plate == p and t.start < s, start, LAST),
    "first_trip": (T, lambda t, p, s: t.plate == p and s[0] <= t.start <= s[1], start, FIRST),
    "long_trips": (T, lambda t, p, s, k: t.plate == p and s[0] <= t.start <= s[1] and t.km > k,
                   start, MANY),
    "of_driver": (T, lambda t, d: t.driver == d, start, MANY),
    "driver_on": (T, lambda t, d, s: t.driver == d and utc_day(t.start) == s,
                  start, MANY),
    "driver_in": (T, lambda t, d, s: t.driver == d and on(t.start, s), start, MANY),
    "driver_since": (T, lambda t, d, s: t.driver == d and t.start > s, start, MANY),
    "last_of_driver": (T, lambda t, d: t.driver == d, start, LAST),
    "of_lane": (T, lambda t, n: t.lane == n, start, MANY),
    "of_lanes": (T, lambda t, n, s: t.lane in n and t.start >= s, start, MANY),
    "all_trips": (T, lambda t: True, start, MANY),
    "newest_trip": (T, lambda t: True, start, LAST),
    "in_hour": (P, lambda p, v, h: p.plate == v and utc_day(p.at) == utc_day(h)
                and p.at.hour == h.hour, lambda p: p.at, MANY),
    "track": (P, lambda p, v, s: p.plate == v and s[0] <= p.at <= s[1], lambda p: p.at, MANY),
    "in_cell": (P, lambda p, c, d: p.cell.startswith(c) and utc_day(p.at) == d,
                lambda p: (p.cell, p.at, p.plate), MANY),
    "fills": (F, lambda f, p: f.plate == p, lambda f: (f.day, f.price), MANY),
    "fills_between": (F, lambda f, p, d: f.plate == p and d[0] <= f.day <= d[1],
                      lambda f: (f.day, f.price), MANY),
    "dearest": (F, lambda f, d: on(f.day, d), lambda f: (-f.price, f.plate, f.day), MANY),
    "dearer": (F, lambda f, d, p: on(f.day, d) and f.price >= p,
               lambda f: (-f.price, f.plate, f.day), MANY),
}  # fmt: skip
table = st.Table("fleet", Fleet)
