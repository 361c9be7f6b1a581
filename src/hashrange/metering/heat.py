"""Finds partitions that should be split because of their load.

The load of each partition is watched in windows of `heat_seconds`. If a partition was hot in a
window, a division is derived from a sample of its keys, and checked in the next window. If the
partition is hot again, and the division would have helped, the partition is split.

A partition is divided in two if each side gets at least a quarter of the load. Otherwise the
hottest key is isolated, if the partition could then serve all requests to its other keys. A split
would not help a single hot key without neighbours, or keys that keep rising, such as times, so such
keys lead to no split. These rules are assumed: DynamoDB does not publish its own.
"""

from collections.abc import Sequence
from random import Random

from hashrange.metering.buckets import Bucket
from hashrange.metering.window import Window
from hashrange.model.tables import Index, Table


class Heat:
    """Measures the load of each partition in windows of time. The window is kept in the partition's
    bucket.

    The same requests at the same times lead to the same splits.
    """

    def __init__(self, share: float, seconds: float, seed: int) -> None:
        self._share = share
        self._seconds = seconds
        self._random = Random(seed)

    def note(
        self,
        part: Bucket,
        table: Table,
        source: Table | Index,
        key: bytes,
        units: float,
        now: float,
    ) -> Sequence[bytes]:
        """Count units that are consumed at a key of a partition.

        Returns the keys at which the partition should be split, in the order of the splits; empty
        if no split is needed.
        """
        window, cuts = part.window, list[bytes]()
        if window is None or now >= window.since + self._seconds:
            cuts = self._roll(part, table, source, now)
            window = part.window
            assert window is not None, "a window must have begun"
        window.note(key, units, self._random)
        return cuts

    def note_refused(self, part: Bucket, key: bytes, now: float) -> None:
        """Count a refused request as a load of one unit, so that the sample has the keys of refused
        requests."""
        if part.window is None:
            part.window = Window(now)
        part.window.note_refused(now)
        part.window.note(key, 1, self._random)

    def _roll(self, part: Bucket, table: Table, source: Table | Index, now: float) -> list[bytes]:
        """Begin a new window. Returns the keys at which the partition should be split; empty if no
        split is needed."""
        window, part.window = part.window, Window(now)
        if window is None or now >= window.since + 2 * self._seconds:
            return []
        if window.is_hot(part.rate, self._share, self._seconds):
            if window.trial is not None and window.trial_helps(part.rate, self._seconds):
                return window.trial.cuts(source)
            part.window.trial = window.next_trial(table, source)
        return []
