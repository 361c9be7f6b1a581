"""The queue of a lagging global index: its entries become visible as their units are served.

A write of an entry is charged to the buckets of the index. If that leaves a debt, the entry waits
in a queue. It becomes visible when all units up to and including its own have been served. So an
index with one write unit shows one entry of 1 KB in a second. Entries become visible in the order
in which they were written. Source: developer guide, Global secondary indexes: propagation is
asynchronous. The order is assumed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hashrange.metering.buckets import Bucket, Place


class Waiting(NamedTuple):
    """An entry that has waited since `time`.

    `due` has places of buckets, each with the units that the bucket must have served before the
    entry is visible.
    """

    time: float
    due: tuple[tuple[Place, float], ...]


class IndexQueue:
    """The waiting entries of one index, in the order in which they were written."""

    def __init__(self) -> None:
        self._paid: dict[Place, float] = {}
        self._waiting: deque[tuple[bytes, Waiting]] = deque()
        self._latest: dict[bytes, Waiting] = {}

    def add(self, key: bytes, units: float, buckets: Sequence[Bucket], now: float) -> None:
        """Note an entry whose units have just been charged to these buckets."""
        due = []
        for bucket in buckets:
            paid = self._paid.get(bucket.place, 0.0) + units
            self._paid[bucket.place] = paid
            if bucket.credit < 0:
                due.append((bucket.place, paid))
        if due:
            self._latest[key] = waiting = Waiting(now, tuple(due))
            self._waiting.append((key, waiting))

    def is_empty(self) -> bool:
        """Whether no entry waits. Entries that have become visible are removed only by `oldest`."""
        return not self._waiting

    def waiting(self, key: bytes) -> Waiting | None:
        """The latest change of the entry at `key`, if this change may still be invisible; otherwise
        None."""
        return self._latest.get(key)

    def waits(
        self, entry: Waiting, buckets: Mapping[Place, Bucket], now: float, lag: float = 0.0
    ) -> bool:
        """Whether an entry was still invisible `lag` seconds ago. A bucket that no longer exists
        has no debt."""
        for place, due in entry.due:
            bucket = buckets.get(place)
            if bucket is not None:
                served = self._paid[place] + bucket.credit_at(now) - bucket.rate * lag
                if served < due:
                    return True
        return False

    def oldest(self, buckets: Mapping[Place, Bucket], now: float) -> float | None:
        """The time at which the oldest waiting entry was written; None if all entries are visible.
        Visible entries are forgotten."""
        while self._waiting:
            key, entry = self._waiting[0]
            if self.waits(entry, buckets, now):
                return entry.time
            self._waiting.popleft()
            if self._latest.get(key) is entry:
                del self._latest[key]
        return None
