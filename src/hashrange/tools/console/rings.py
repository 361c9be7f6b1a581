"""Lays out the partitions of a table or an index, from `Database.inspect`, as a ring."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, cos, dist, pi, sin
from typing import Any

from hashrange.tools.console.values import typed

WHOLE = 1 << 64
"""The number of values of 16 hexadecimal digits, the fewest digits with which the boundaries of a
partition are written."""
DIGITS = 16
LABELS, DOTS = (66, 42), (100, 122)
"""The radii at which the numbers of partitions and the dots of keys are drawn. The circle itself
has the radius 100."""
APART, TURN = 21, 0.01
"""The least distance between two numbers or dots, and the step of the search for a free place, as
a fraction of the circle."""
LABELLED = 24
"""The number of partitions above which no partition gets a number."""


@dataclass(frozen=True)
class Arc:
    """A partition. `start` and `length` are thousandths of the circle. The label is empty if there
    are many partitions, or no space for it."""

    number: int
    start: float
    length: float
    label: tuple[float, float] | None
    part: Mapping[str, Any]


@dataclass(frozen=True)
class Dot:
    """An item collection, drawn as a dot at the hash of its partition key."""

    number: int
    x: float
    y: float
    hash: str
    partitions: list[int]
    key: Mapping[str, Any]
    items: int
    bytes: int


@dataclass(frozen=True)
class Ring:
    arcs: list[Arc]
    dots: list[Dot]
    complete: bool
    """Whether all items were read to find the largest item collections."""


def ring(source: Mapping[str, Any]) -> Ring:
    """The ring of a table or an index. `source` is as `Database.inspect` returns it."""
    arcs = _arcs(source["partitions"])
    largest = sorted(source["collections"]["largest"], key=lambda each: str(each["hash"]))
    return Ring(arcs, _dots(largest, arcs), source["collections"]["complete"])


def _place(hexadecimal: str | None) -> float:
    """The position of a hash on the circle, from 0 to 1."""
    return 1.0 if hexadecimal is None else int(hexadecimal[:DIGITS].ljust(DIGITS, "0"), 16) / WHOLE


def _at(place: float, radius: float) -> tuple[float, float]:
    """The coordinates of a place on a circle. The circle begins at the top and runs clockwise."""
    angle = 2 * pi * place - pi / 2
    return round(radius * cos(angle), 1), round(radius * sin(angle), 1)


def _apart(
    place: float, radii: Sequence[float], taken: list[tuple[float, float]]
) -> tuple[float, float] | None:
    """The free point nearest to a place on the circle, at one of the radii. A free point has a
    distance from all points in `taken`. The new point is added to `taken`."""
    for turn in range(ceil(0.5 / TURN)):
        for shift, radius in product({turn * TURN, -turn * TURN}, radii):
            point = _at(place + shift, radius)
            if all(dist(point, other) >= APART for other in taken):
                taken.append(point)
                return point
    return None


def _arcs(partitions: Sequence[Mapping[str, Any]]) -> list[Arc]:
    labels: list[tuple[float, float]] = []
    arcs = []
    for part in partitions:
        start, end = _ends(part)
        shown = len(partitions) <= LABELLED
        at = _apart((start + end) / 2, LABELS, labels) if shown else None
        arcs.append(Arc(part["number"], start * 1000, (end - start) * 1000, at, part))
    return arcs


def _ends(partition: Mapping[str, Any]) -> tuple[float, float]:
    return _place(partition["from"]), _place(partition["to"])


def _dots(largest: Iterable[Mapping[str, Any]], arcs: list[Arc]) -> list[Dot]:
    points: list[tuple[float, float]] = []
    dots = []
    for number, each in enumerate(largest, 1):
        place = _place(each["hash"])
        point = _apart(place, DOTS, points)
        assert point is not None, "the ring must have room for the dots"
        partitions = [arc.number for arc in arcs if _has(arc.part, each["hash"])]
        key = {name: typed(value, name) for name, value in each["key"].items()}
        size = each["items"], each["bytes"]
        dots.append(Dot(number, *point, each["hash"], partitions, key, *size))
    return dots


def _has(partition: Mapping[str, Any], collection: str) -> bool:
    """Whether a partition has all or a part of the item collection with this hash."""
    start: str = partition["from"][: len(collection)]
    return start <= collection and (partition["to"] is None or partition["to"] > collection)
