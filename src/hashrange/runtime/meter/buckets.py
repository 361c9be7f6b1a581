"""A token bucket: credit that grows with time up to a capacity, and may become a debt."""

Place = tuple[int, int | None, bool]
"""Where units are counted: a space, the number of a partition (None: all), and whether written."""


class Bucket:
    """Units that are left at a time. A request is admitted while there is credit.

    The rate (units per second) and the capacity (units) are given with each call, because they
    change with the definition of a table.
    """

    __slots__ = ("_at", "_credit")

    def __init__(self, credit: float, now: float) -> None:
        self._credit = credit
        self._at = now

    def credit(self, rate: float, capacity: float, now: float) -> float:
        """The credit now; a debt is negative. `now` is in epoch seconds and never falls."""
        if now > self._at:
            self._credit = min(capacity, self._credit + rate * (now - self._at))
            self._at = now
        return min(self._credit, capacity)

    def pay(self, units: float, rate: float, capacity: float, now: float) -> None:
        self._credit = self.credit(rate, capacity, now) - units
