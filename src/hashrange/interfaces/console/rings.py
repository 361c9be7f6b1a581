"""The ring of partitions: a table or an index as `Database.inspect` tells it, laid out to draw."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any

from hashrange.interfaces.console.values import typed

WHOLE = 1 << 64
"""Ranges of the hash are written with 16 hexadecimal digits or more."""
DIGITS = 16
RADIUS, LABELS, DOTS = 100, 66, 100
"""Of the circle, of the numbers within it, and of the keys upon it."""


@dataclass(frozen=True)
class Arc:
    """A partition. `start` and `length` are thousandths of the circle, x and y are its label's."""

    number: int
    start: float
    length: float
    x: float
    y: float
    found: Mapping[str, Any]


@dataclass(frozen=True)
class Dot:
    """An item collection at the hash of its key."""

    number: int
    x: float
    y: float
    hash: str
    partition: int
    key: Mapping[str, Any]
    items: int
    bytes: int


@dataclass(frozen=True)
class Ring:
    arcs: list[Arc]
    dots: list[Dot]
    complete: bool
    """Whether all items were looked at to find the largest collections."""


def ring(source: Mapping[str, Any]) -> Ring:
    """The ring of a table or an index. `source` is as `Database.inspect` returns it."""
    arcs = [_arc(partition) for partition in source["partitions"]]
    largest = sorted(source["collections"]["largest"], key=lambda each: str(each["hash"]))
    dots = [_dot(number, each, arcs) for number, each in enumerate(largest, 1)]
    return Ring(arcs, dots, source["collections"]["complete"])


def _place(hexadecimal: str | None) -> float:
    """Where a hash is on the circle, from 0 to 1."""
    return 1.0 if hexadecimal is None else int(hexadecimal[:DIGITS].ljust(DIGITS, "0"), 16) / WHOLE


def _at(place: float, radius: float) -> tuple[float, float]:
    """From the top, clockwise."""
    angle = 2 * pi * place - pi / 2
    return round(radius * cos(angle), 1), round(radius * sin(angle), 1)


def _arc(partition: Mapping[str, Any]) -> Arc:
    start, end = _place(partition["from"]), _place(partition["to"])
    middle = _at((start + end) / 2, LABELS)
    return Arc(partition["number"], start * 1000, (end - start) * 1000, *middle, partition)


def _dot(number: int, found: Mapping[str, Any], arcs: list[Arc]) -> Dot:
    place = _place(found["hash"])
    partition = max((arc for arc in arcs if arc.start <= place * 1000), key=lambda arc: arc.start)
    return Dot(
        number,
        *_at(place, DOTS),
        found["hash"],
        partition.number,
        {name: typed(value, name) for name, value in found["key"].items()},
        found["items"],
        found["bytes"],
    )
