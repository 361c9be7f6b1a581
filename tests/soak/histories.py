"""What clients saw, and whether it can have happened: linearizability, lists, a bank."""

import math
from collections import defaultdict
from itertools import pairwise
from threading import Lock
from time import monotonic
from typing import NamedTuple

from .runs import Violation

INITIAL = ""


class Event(NamedTuple):
    """One write or read of a register. The end of a write without an answer is infinite."""

    key: str
    is_write: bool
    value: str
    start: float
    end: float


class History:
    """Events of all clients, on one clock. Each written value is unique."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.events: list[Event] = []

    def add(self, key: str, is_write: bool, value: str, start: float, answered: bool) -> None:
        end = monotonic() if answered else math.inf
        with self._lock:
            self.events.append(Event(key, is_write, value, start, end))

    def check(self) -> None:
        """Violation if any register is not linearizable."""
        by_key: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            by_key[event.key].append(event)
        for key, events in by_key.items():
            _check_register(key, events)


class _Zone(NamedTuple):
    """When a value must have been there: from the first end of its events to the last start."""

    low: float
    high: float
    value: str


def _check_register(key: str, events: list[Event]) -> None:
    """Gibbons and Korach, "Testing shared memories", 1997: the zones of unique values.

    No two values may have to be there at the same time; and one that is written and read within a
    time at which another one has to be there is read too late or too early.
    """
    writes = {event.value: event for event in events if event.is_write}
    writes[INITIAL] = Event(key, True, INITIAL, -math.inf, -math.inf)
    reads: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if not event.is_write:
            if event.value not in writes or event.end < writes[event.value].start:
                raise Violation(f"{key}: {event.value!r} is read before it is written")
            reads[event.value].append(event)
    zones = []
    for value, write in writes.items():
        if write.end < math.inf or reads[value]:
            both = [write, *reads[value]]
            low, high = min(event.end for event in both), max(event.start for event in both)
            zones.append(_Zone(low, high, value))
    forward = sorted(zone for zone in zones if zone.low < zone.high)
    for one, other in pairwise(forward):
        if other.low < one.high:
            raise Violation(f"{key}: {one.value!r} and {other.value!r} at the same time")
    for zone in zones:
        if zone.low >= zone.high:
            _check_within(key, zone, forward)


def _check_within(key: str, zone: _Zone, forward: list[_Zone]) -> None:
    for other in forward:
        if other.low < zone.high and zone.low < other.high:
            raise Violation(f"{key}: {zone.value!r} within the time of {other.value!r}")


class Appended:
    """A list that clients append unique values to, and read."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.reads: list[list[str]] = []

    def check(self, final: list[str]) -> None:
        if len(set(final)) != len(final):
            raise Violation("a value was appended twice")
        if lost := set(self.acknowledged) - set(final):
            raise Violation(f"acknowledged and lost: {sorted(lost)}")
        for read in self.reads:
            if read != final[: len(read)]:
                raise Violation(f"the list {read} is not a beginning of {final}")
