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


class Transaction(NamedTuple):
    """Values that a client appended to lists, and lists that it read, all at one moment.

    The end of one without an answer is infinite.
    """

    appends: dict[str, str]
    reads: dict[str, list[str]]
    start: float
    end: float


class Transactions:
    """Transactions of all clients on lists, each value unique: do they have an order?"""

    def __init__(self) -> None:
        self._lock = Lock()
        self.all: list[Transaction] = []

    def add(self, transaction: Transaction) -> None:
        with self._lock:
            self.all.append(transaction)

    def check(self, final: dict[str, list[str]]) -> None:
        """Raises Violation unless they can have been executed one after the other, each between
        its start and its end, and have left the lists as `final` says.

        As in Kingsbury and Alvaro, "Elle", 2020: an appended value shows its place in the order of
        the writers of its list, and a list that was read shows between which writers it was read.
        """
        done = [one for one in self.all if self._is_done(one, final)]
        later = _orders(done, final)
        _add_times(done, later)
        _check_acyclic(later)

    def _is_done(self, one: Transaction, final: dict[str, list[str]]) -> bool:
        there = {value in final[name] for name, value in one.appends.items()}
        if there == {True, False}:
            raise Violation(f"half of {one} is there")
        if there == {False} and one.end < math.inf:
            raise Violation(f"{one} is acknowledged and lost")
        return there != {False}


_Later = defaultdict[int, set[int]]
"""For each transaction, by number, those that must come after it. Negative numbers are times."""


def _orders(done: list[Transaction], final: dict[str, list[str]]) -> _Later:
    later: _Later = defaultdict(set)
    writers = {
        (name, value): at for at, one in enumerate(done) for name, value in one.appends.items()
    }
    for name, values in final.items():
        if len({*values}) != len(values) or any((name, value) not in writers for value in values):
            raise Violation(f"{name}: a value is there twice, or was never appended: {values}")
        for one, other in pairwise(values):
            later[writers[name, one]].add(writers[name, other])
    for at, reader in enumerate(done):
        for name, values in reader.reads.items():
            if values != final[name][: len(values)]:
                raise Violation(f"{name}: {values} is not a beginning of {final[name]}")
            if values and writers[name, values[-1]] != at:
                later[writers[name, values[-1]]].add(at)
            if len(values) < len(final[name]):
                later[at].add(writers[name, final[name][len(values)]])
    return later


def _add_times(done: list[Transaction], later: _Later) -> None:
    """What ended before something began also comes before it."""
    moments = [(one.end, 0, at) for at, one in enumerate(done)]
    moments += [(one.start, 1, at) for at, one in enumerate(done)]
    time = -1
    for _, begins, at in sorted(moments):
        if begins:
            later[time].add(at)
        else:
            later[at].add(time - 1)
            later[time].add(time - 1)
            time -= 1


def _check_acyclic(later: _Later) -> None:
    before: defaultdict[int, int] = defaultdict(int)
    for each in list(later.values()):
        for at in each:
            before[at] += 1
    every = later.keys() | before.keys()
    free = [at for at in every if not before[at]]
    placed = 0
    while free:
        placed += 1
        for at in later.get(free.pop(), ()):
            before[at] -= 1
            if not before[at]:
                free.append(at)
    if placed < len(every):
        raise Violation(f"{len(every) - placed} transactions and times form a cycle")
