"""Patterns that return a base class, which has no key of its own."""

from typing import Protocol

import pytest

import hashrange
from hashrange import design as st


class Vehicle(st.Item):
    fleet: str
    number: st.Slug
    wheels: int = 4


class Car(Vehicle):
    key = st.key("fleet#{fleet}", "vehicle#car#{number}")
    seats: int = 5


class Lorry(Vehicle):
    key = st.key("fleet#{fleet}", "vehicle#lorry#{number}")
    tons: int = 7


class Driver(st.Item):
    key = st.key("fleet#{fleet}", "driver#{name}")
    fleet: str
    name: str


class Fleets(st.Store, Protocol):
    def car(self, fleet: str, number: str) -> Car | None: ...
    def vehicles(self, fleet: str) -> st.Query[Vehicle]: ...
    def everything(self, fleet: str) -> st.Query[Vehicle | Driver]: ...
    @st.counts(Vehicle)
    def vehicle_count(self, fleet: str) -> int: ...


table = st.Table("fleets", Fleets, Lorry)


def test_a_base_class_stands_for_the_entities_that_extend_it(
    database: hashrange.Database,
) -> None:
    table.create(database)
    db = table.open(Fleets, database)
    items = [Car(fleet="f", number="1"), Lorry(fleet="f", number="2"), Driver(fleet="f", name="x")]
    for item in items:
        db.put(item)
    assert list(db.vehicles("f")) == items[:2]
    assert sum(vehicle.wheels for vehicle in db.vehicles("f").reverse()) == 8
    assert db.vehicles("f").of(Car) == items[:1]
    assert db.vehicles("f").of(Vehicle) == items[:2]
    assert list(db.everything("f")) == [items[2], *items[:2]]
    assert db.vehicle_count("f") == 2


def test_prove_covers_them() -> None:
    with hashrange.connect() as database:
        proof = st.prove(table, database)
    assert proof.differences == []
    assert set(proof.asked) >= set(table.plans)


def test_a_base_class_needs_entities() -> None:
    class Alone(st.Store, Protocol):
        def vehicles(self, fleet: str) -> st.Query[Vehicle]: ...

    with pytest.raises(st.DeclarationError, match="no entity that extends it"):
        st.Table("alone", Alone)
