"""Token buckets: credit that grows with time up to a capacity, and may become a debt."""

from hashrange.engine.throughput import Limit
from hashrange.metering.window import Window

Place = tuple[int, int | None, bool]
"""The place of a bucket: the space, the number of the partition (None: the whole table or index),
and whether the units are for writes."""


class Bucket:
    """The units that a table, an index or a partition can serve: `rate` per second.

    A request is admitted while there is credit; otherwise it has reached `limit`. `credit` is as of
    the time `at`, in epoch seconds; a debt is negative. `window` is the recent load, if this is the
    bucket of a partition.
    """

    __slots__ = ("at", "capacity", "credit", "limit", "place", "rate", "window")

    def __init__(
        self, place: Place, limit: Limit, rate: float, capacity: float, credit: float, at: float
    ) -> None:
        self.place = place
        self.limit = limit
        self.rate = rate
        self.capacity = capacity
        self.credit = credit
        self.at = at
        self.window: Window | None = None

    def credit_at(self, now: float) -> float:
        """The credit at the time `now`, in epoch seconds. If `now` is before the time of an earlier
        call, the later time counts."""
        if now > self.at:
            grown = self.credit + self.rate * (now - self.at)
            self.credit = grown if grown < self.capacity else self.capacity
            self.at = now
        return self.credit

    def pay(self, units: float, now: float) -> float:
        """Subtract units from the credit. Returns the remaining credit."""
        credit = self.credit if now <= self.at else self.credit_at(now)
        self.credit = left = credit - units
        return left
