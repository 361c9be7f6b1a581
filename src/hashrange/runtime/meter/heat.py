"""Finds partitions that are split because of their load.

The load of each partition is watched in windows of `heat_seconds`. If one was hot in a window, the
median of a sample of its keys is tried: when each side of it gets at least a quarter of the load in
the next window, and the partition is hot again, it is split there. So one hot key, or keys that
rise, lead to no split, because it would not help. DynamoDB does not publish its rules (?).
"""

from random import Random

from hashrange.kv import PARTITION_BYTES
from hashrange.model.tables import Index, Table
from hashrange.runtime.meter.buckets import Bucket

SAMPLE_KEYS = 64
SIDE_SHARE = 0.25


class Window:
    """The load of one partition, in one direction, since a time."""

    __slots__ = ("at", "below", "keys", "refused", "seen", "since", "units")

    def __init__(self, since: float, at: bytes | None = None) -> None:
        self.since = since
        self.at = at
        """The key that is tried, and `below` are the units of the keys before it."""
        self.below = 0.0
        self.units = 0.0
        self.refused = False
        self.seen = 0
        self.keys: list[bytes] = []

    def note(self, key: bytes, units: float, random: Random) -> None:
        """Count units, and keep a sample in which each of the keys seen has the same chance."""
        self.units += units
        if self.at is not None and key < self.at:
            self.below += units
        self.seen += 1
        if len(self.keys) < SAMPLE_KEYS:
            self.keys.append(key)
        elif (place := int(random.random() * self.seen)) < SAMPLE_KEYS:
            self.keys[place] = key

    def is_hot(self, units_per_second: float, share: float, seconds: float) -> bool:
        return self.refused or self.units >= share * units_per_second * seconds

    def sides_balance(self) -> bool:
        least = SIDE_SHARE * self.units
        return self.below >= least and self.units - self.below >= least

    def median(self, table: Table, source: Table | Index) -> bytes | None:
        """The key at which the partition might be split, if there is one.

        It lies between two item collections, or in one that may be divided by its sort key.
        """
        keys = sorted(self.keys)
        middle = keys[len(keys) // 2]
        start = source.partition_at(middle).start
        collection = middle[:PARTITION_BYTES]
        if collection > max(start, keys[0][:PARTITION_BYTES]):
            return collection
        divided = bool(source.range) and not table.has_local_indexes
        whole = not divided or (table.log is not None and not table.on_demand)
        return None if whole or middle in (start, keys[0]) else middle


class Heat:
    """Keeps the windows of partitions, in their buckets.

    The same requests at the same times lead to the same splits.
    """

    def __init__(self, share: float, seconds: float) -> None:
        self._share = share
        self._seconds = seconds
        self._random = Random(0)

    def note(
        self,
        part: Bucket,
        table: Table,
        source: Table | Index,
        key: bytes,
        units: float,
        now: float,
    ) -> bytes | None:
        """Count units of a partition. Returns the key at which it should be split, if it should."""
        window, at = part.window, None
        if window is None or now >= window.since + self._seconds:
            at = self._roll(part, table, source, now)
            window = part.window
            assert window is not None, "one has begun"
        window.note(key, units, self._random)
        return at

    def note_refused(self, part: Bucket, key: bytes, now: float) -> None:
        """Count a refused request as a load of one unit, so that hot keys are seen."""
        if part.window is None:
            part.window = Window(now)
        part.window.refused = True
        part.window.note(key, 1, self._random)

    def _roll(self, part: Bucket, table: Table, source: Table | Index, now: float) -> bytes | None:
        """Begin another window. Returns the key at which the partition should be split, if any."""
        window, part.window = part.window, Window(now)
        if window is None or now >= window.since + 2 * self._seconds:
            return None
        if window.is_hot(part.rate, self._share, self._seconds):
            if window.at is not None and window.sides_balance():
                return window.at
            part.window.at = window.median(table, source)
        return None
