"""Adapts on-demand tables and indexes to a new peak.

The peak is the load in the busiest minute so far. If twice the peak is above the warm throughput,
the warm throughput is raised after `growth_seconds`, and partitions are split as the new throughput
requires. Source: developer guide, On-demand capacity mode.
"""

from typing import NamedTuple

MINUTE = 60.0


class Raise(NamedTuple):
    """The new warm throughput in units per second, and the time at which it begins to apply."""

    units: float
    due: float


class Growth:
    """The load of a table or index in the current minute, either of reads or of writes.

    `before` is the number of units consumed until the beginning of this minute.
    """

    __slots__ = ("_before", "_growth_seconds", "_raising", "_since")

    def __init__(self, growth_seconds: float, since: float, before: float) -> None:
        self._growth_seconds = growth_seconds
        self._since = since
        self._before = before
        self._raising: Raise | None = None

    def note(self, total: float, warm: float, now: float) -> int | None:
        """Note the total of the consumed units. Returns the new warm throughput if it must be
        raised now."""
        if now >= self._since + MINUTE:
            self._end(total, warm, now)
        raising = self._raising
        if raising is None or now < raising.due:
            return None
        self._raising = None
        return int(raising.units)

    def _end(self, total: float, warm: float, now: float) -> None:
        wanted = 2 * (total - self._before) / MINUTE
        self._since, self._before = now, total
        if wanted <= warm:
            return
        if self._raising is None:
            self._raising = Raise(wanted, now + self._growth_seconds)
        elif wanted > self._raising.units:
            self._raising = self._raising._replace(units=wanted)
