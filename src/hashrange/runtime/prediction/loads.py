"""Described loads: requests at regular intervals, whose keys are drawn from distributions.

The requests depend only on the description and a fixed seed, so a load is the same each time that
it is read. The description has the consumption of each call in each table and index, and the number
of keys. For each request, the rank of its key is drawn once, for the table and all indexes. So a
hot item of the table is also hot in the indexes.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heapreplace
from itertools import accumulate
from random import Random

from msgspec import Struct

from hashrange.engine.keyspace.keys import digest, raw_key
from hashrange.metering.trace import SECOND, Ask, Definition, Event, Head, Paid
from hashrange.model.tables import Index, Table
from hashrange.runtime.prediction.reading import Line

KEYS_MAX = 1_000_000
REQUESTS_MAX = 50_000_000
STARTED = 1_795_219_200.0
"""The time at which described loads begin, in epoch seconds."""


class Keys(Struct, frozen=True):
    """`count` partition keys that begin with `name`. If `count` is 1, the key is `name` itself."""

    name: str
    count: int = 1


class Part(Struct, frozen=True):
    """The consumption of a call in one table (`index` None) or index."""

    index: str | None
    written: bool
    units: float
    keys: Keys


class Call(Struct, frozen=True):
    """A call that is made `rate` times per second.

    If `zipf` is a number s, the key of rank r is r ** s times rarer than the key of rank 1. If it
    is None, all keys are equally frequent.
    """

    name: str
    rate: float
    parts: tuple[Part, ...]
    zipf: float | None = None


class Described:
    """The load of some calls on a table, for `seconds` seconds."""

    def __init__(self, path: str, head: Head, table: Table, calls: Sequence[Call], seconds: float):
        self.path = path
        self.head = head
        self._table = table
        self._calls = [call for call in calls if call.rate > 0 and call.parts]
        self.seconds = seconds

    def lines(self) -> Iterator[tuple[int, Line]]:
        yield 0, Definition(self._table)
        random = Random(0)
        drawn = [_Drawn(self._table, call, Random(n)) for n, call in enumerate(self._calls)]
        # The nth call of each second comes at the same fraction of the second, drawn for each
        # pattern.
        next_ones = [(random.random() / call.rate, n, 0) for n, call in enumerate(self._calls)]
        heapify(next_ones)
        number = 0
        while next_ones and next_ones[0][0] < self.seconds:
            seconds, n, count = next_ones[0]
            for event in drawn[n].events(int(seconds * SECOND), number):
                number += 1
                yield number, event
            call = self._calls[n]
            first = seconds - count / call.rate
            heapreplace(next_ones, (first + (count + 1) / call.rate, n, count + 1))


class _Drawn:
    """The requests of one call."""

    def __init__(self, table: Table, call: Call, random: Random) -> None:
        self._call = call
        self._random = random
        self._sources: list[tuple[Part, Table | Index]] = [
            (part, table if part.index is None else _index(table, part.index))
            for part in call.parts
        ]
        most = max(part.keys.count for part in call.parts)
        self._most = min(most, KEYS_MAX)
        self._sums: list[float] = []
        if call.zipf is not None:
            weights = (rank**-call.zipf for rank in range(1, self._most + 1))
            self._sums = list(accumulate(weights))

    def events(self, time: int, number: int) -> Iterator[Event]:
        rank = self._rank()
        for written in (False, True):
            paid = [
                self._paid(part, source, rank)
                for part, source in self._sources
                if part.written == written
            ]
            if paid:
                asked = paid[:1] if written else paid
                asks = [Ask(each.space, each.key, each.raw, written, each.units) for each in asked]
                yield Event(time, number, "", 1, self._call.name, True, asks, paid)

    def _rank(self) -> int:
        if self._sums:
            return bisect(self._sums, self._random.random() * self._sums[-1])
        return int(self._random.random() * self._most)

    def _paid(self, part: Part, source: Table | Index, rank: int) -> Paid:
        keys = part.keys
        key, raw = _key(keys.name, rank % keys.count, keys.count, len(source.hash))
        return Paid(source.space, key, raw, part.written, part.units)


@lru_cache(1 << 14)
def _key(name: str, rank: int, count: int, attributes: int) -> tuple[bytes, bytes]:
    """The digest and the bytes of the partition key with this rank among `count` keys."""
    text = name if count == 1 else f"{name} {rank + 1}"
    raw = raw_key([{"S": text}] * attributes)
    return digest(raw), raw


def _index(table: Table, name: str) -> Table | Index:
    index = table.index(name)
    assert index is not None, name
    return index
