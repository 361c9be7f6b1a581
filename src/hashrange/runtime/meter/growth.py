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


class Minute:
    """The units that a table or index consumed, in one direction, since a time."""

    __slots__ = ("raising", "since", "units")

    def __init__(self, since: float) -> None:
        self.since = since
        self.units = 0.0
        self.raising: Raise | None = None


class Growth:
    def __init__(self, growth_seconds: float) -> None:
        self._growth_seconds = growth_seconds
        self._minutes: dict[tuple[int, bool], Minute] = {}

    def note(self, space: int, written: bool, units: float, warm: float, now: float) -> int | None:
        """Count units. Returns the warm throughput that is due now, if it has to be raised."""
        minute = self._minutes.get((space, written))
        if minute is None:
            minute = self._minutes[space, written] = Minute(now)
        if now >= minute.since + MINUTE:
            self._end(minute, warm, now)
        minute.units += units
        raising = minute.raising
        if raising is None or now < raising.due:
            return None
        minute.raising = None
        return int(raising.units)

    def _end(self, minute: Minute, warm: float, now: float) -> None:
        wanted = 2 * minute.units / MINUTE
        minute.since, minute.units = now, 0.0
        if wanted <= warm:
            return
        if minute.raising is None:
            minute.raising = Raise(wanted, now + self._growth_seconds)
        elif wanted > minute.raising.units:
            minute.raising = minute.raising._replace(units=wanted)
