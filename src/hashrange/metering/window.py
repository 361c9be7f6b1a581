"""The recent load of one partition, and the division that is being tested (`Trial`)."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from hashrange.kv import PARTITION_BYTES
from hashrange.model.tables import Index, Table

REFUSED_SHARE = 0.25
"""An assumption: a partition is hot if it refused requests in at least this share of the seconds. A
short burst does not make it hot."""
SAMPLE_KEYS = 64
SIDE_SHARE = 0.25


class Trial(NamedTuple):
    """A division of a partition, which is checked in one window before the partition is split.

    One side has the keys from `low` up to `high` (None: to the end). With `isolates`, this side is
    one hot key, which is separated from the other keys.
    """

    low: bytes
    high: bytes | None
    isolates: bool

    def has(self, key: bytes) -> bool:
        return key >= self.low and (self.high is None or key < self.high)

    def cuts(self, source: Table | Index) -> list[bytes]:
        """The keys at which to split the partition, the greatest first. After each split, the lower
        part keeps the partition's number. The next key is in this part, so all splits name the same
        number."""
        taken = source.partition_starts
        return [at for at in (self.high, self.low) if at is not None and at not in taken]


class Window:
    """The load of one partition since the window began, either of reads or of writes.

    `inside` is the number of units of the keys that a trial would separate.
    """

    __slots__ = (
        "inside",
        "keys",
        "refused_at",
        "refused_seconds",
        "seen",
        "since",
        "trial",
        "units",
    )

    def __init__(self, since: float, trial: Trial | None = None) -> None:
        self.since = since
        self.trial = trial
        self.inside = 0.0
        self.units = 0.0
        self.refused_seconds = 0
        """The number of seconds in which requests were refused; `refused_at` is the last of
        them."""
        self.refused_at = -1
        self.seen = 0
        self.keys: list[bytes] = []

    def note(self, key: bytes, units: float, random: Random) -> None:
        """Count units, and keep a uniform sample of the keys."""
        self.units += units
        if self.trial is not None and self.trial.has(key):
            self.inside += units
        self.seen += 1
        if len(self.keys) < SAMPLE_KEYS:
            self.keys.append(key)
        elif (place := int(random.random() * self.seen)) < SAMPLE_KEYS:
            self.keys[place] = key

    def note_refused(self, now: float) -> None:
        if int(now) != self.refused_at:
            self.refused_at = int(now)
            self.refused_seconds += 1

    def is_hot(self, units_per_second: float, share: float, seconds: float) -> bool:
        if self.refused_seconds >= max(1.0, REFUSED_SHARE * seconds):
            return True
        return self.units >= share * units_per_second * seconds

    def trial_helps(self, units_per_second: float, seconds: float) -> bool:
        """Whether the division that is being tested would have helped in this window."""
        rest, least = self.units - self.inside, SIDE_SHARE * self.units
        if self.trial is None or self.inside < least:
            return False
        return 0 < rest < units_per_second * seconds if self.trial.isolates else rest >= least

    def next_trial(self, table: Table, source: Table | Index) -> Trial | None:
        """The best division according to the sample; None if there is none.

        Item collections stay whole if a division between them helps, and always if they may not be
        divided. In a provisioned table with a stream, no key is isolated. Source: developer guide,
        Best practices for designing partition keys.
        """
        keys = sorted(self.keys)
        collections = [key[:PARTITION_BYTES] for key in keys]
        isolating = table.log is None or table.on_demand
        dividing = isolating and bool(source.range) and not table.has_local_indexes
        at = _median(collections) or (_median(keys) if dividing else None)
        if at is not None:
            return Trial(at, None, isolates=False)
        if isolating and collections[0] != collections[-1]:
            return _isolated(collections, _end_of_collection)
        if dividing and keys[0] != keys[-1]:
            return _isolated(keys, lambda key: key + b"\x00")
        return None


def _median(keys: Sequence[bytes]) -> bytes | None:
    """The key that divides the sorted keys most evenly. It is the first key of the upper side. None
    unless each side gets at least `SIDE_SHARE` of the keys."""
    middle = len(keys) / 2
    starts = [place for place in range(1, len(keys)) if keys[place] != keys[place - 1]]
    best = min(starts, key=lambda place: abs(place - middle), default=0)
    return keys[best] if min(best, len(keys) - best) >= SIDE_SHARE * len(keys) and best else None


def _isolated(keys: Sequence[bytes], end: Callable[[bytes], bytes | None]) -> Trial:
    [(hottest, _)] = Counter(keys).most_common(1)
    return Trial(hottest, end(hottest), isolates=True)


def _end_of_collection(start: bytes) -> bytes | None:
    """The key at which the next item collection may begin; None after the last one."""
    number = int.from_bytes(start, "big") + 1
    return None if number >> 8 * len(start) else number.to_bytes(len(start), "big")
