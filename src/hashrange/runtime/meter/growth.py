"""Adapts tables and indexes on demand to a new peak.

The peak is the highest minute so far. If twice the peak is more than the warm throughput, that is
raised after `growth_seconds`; splits follow. Source: developer guide, On-demand capacity mode.
"""

from typing import NamedTuple

MINUTE = 60.0


class Raise(NamedTuple):
    """The warm throughput that is wanted, in units per second, and the time it is given."""

    units: float
    due: float


class Growth:
    """The units that a table or index consumed, in one direction, since the minute began."""

    __slots__ = ("_growth_seconds", "_raising", "_since", "_units")

    def __init__(self, growth_seconds: float, since: float) -> None:
        self._growth_seconds = growth_seconds
        self._since = since
        self._units = 0.0
        self._raising: Raise | None = None

    def note(self, units: float, warm: float, now: float) -> int | None:
        """Count units. Returns the warm throughput that is due now, if it has to be raised."""
        if now >= self._since + MINUTE:
            self._end(warm, now)
        self._units += units
        raising = self._raising
        if raising is None or now < raising.due:
            return None
        self._raising = None
        return int(raising.units)

    def _end(self, warm: float, now: float) -> None:
        wanted = 2 * self._units / MINUTE
        self._since, self._units = now, 0.0
        if wanted <= warm:
            return
        if self._raising is None:
            self._raising = Raise(wanted, now + self._growth_seconds)
        elif wanted > self._raising.units:
            self._raising = self._raising._replace(units=wanted)
