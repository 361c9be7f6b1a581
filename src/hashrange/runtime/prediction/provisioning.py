"""Finds the smallest provisioned capacity that refuses nothing, by bisection.

The consumption of a table or index is added up in bins, which are equal spans of time. All requests
of a bin are assumed to come at its beginning, so the resulting capacity is never too small. The
meter's own `Bucket` decides whether a request is refused. But a `Bucket` does not know partitions,
which may still refuse requests; a replay through the whole meter shows whether they do.
"""

from array import array

from hashrange.engine.throughput import Limit
from hashrange.metering.buckets import Bucket
from hashrange.metering.trace import SECOND, Definition, Event
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table
from hashrange.runtime.prediction.reading import Line

BINS_MAX = 32_768
UNITS_MAX = 40_000
"""The default quota of a table, in read units and in write units. Source: developer guide, Service
quotas."""


class Bins:
    """The read or write units that one table or index consumes over time.

    The time is divided into bins of equal length. Each bin with charges has the units of all of its
    charges, and the units of its last charge. If there are too many bins, their length is doubled.
    """

    def __init__(self) -> None:
        self.microseconds = 10_000
        self._times = array("q")
        self._units = array("d")
        self._last = array("d")

    def add(self, time: int, units: float) -> None:
        at = time // self.microseconds
        if self._times and self._times[-1] == at:
            self._units[-1] += units
            self._last[-1] = units
            return
        if len(self._times) == BINS_MAX:
            self._widen()
            self.add(time, units)
            return
        self._times.append(at)
        self._units.append(units)
        self._last.append(units)

    def _widen(self) -> None:
        old = (self._times, self._units, self._last)
        self.microseconds *= 2
        self._times, self._units, self._last = array("q"), array("d"), array("d")
        for at, units, last in zip(*old, strict=True):
            if self._times and self._times[-1] == at // 2:
                self._units[-1] += units
                self._last[-1] = last
            else:
                self._times.append(at // 2)
                self._units.append(units)
                self._last.append(last)

    def suffices(self, rate: int, table: Table, started: float, settings: Settings) -> bool:
        """Whether no request is refused if `rate` units per second are provisioned."""
        limit = Limit(table, None, True, "ProvisionedThroughput")
        bucket = Bucket(
            *((table.space, None, True), limit, rate, rate * settings.burst_seconds),
            *(rate * settings.initial_burst_seconds, table.active_at),
        )
        for at, units, last in zip(self._times, self._units, self._last, strict=True):
            now = started + at * self.microseconds / SECOND
            if bucket.credit_at(now) <= units - last:
                return False
            bucket.pay(units, now)
        return True

    def smallest(self, table: Table, started: float, settings: Settings) -> int | None:
        """The smallest sufficient rate, in units per second; None if UNITS_MAX is not
        sufficient."""
        low, high = 0, 1
        while not self.suffices(high, table, started, settings):
            if high == UNITS_MAX:
                return None
            low, high = high, min(2 * high, UNITS_MAX)
        while high - low > 1:
            middle = (low + high) // 2
            if self.suffices(middle, table, started, settings):
                high = middle
            else:
                low = middle
        return high


class Demand:
    """The units that the requests of a load need in each table and index, including refused
    requests."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self._owners: dict[int, tuple[Table, Table | Index]] = {}
        self._bins: dict[tuple[int, bool], Bins] = {}
        self._second = -1
        self._units: dict[tuple[int, bool], float] = {}
        self.peaks: dict[tuple[int, bool], float] = {}
        """For each space, the largest number of units in a second, separately for reads (False) and
        writes (True)."""

    def feed(self, line: Line) -> None:
        if type(line) is Event:
            if (second := line.time // SECOND) != self._second:
                self._second = second
                self._units.clear()
            for paid in line.paid or ():
                _, owner = self._owners[paid.space]
                place = owner.space, paid.written
                self._units[place] = units = self._units.get(place, 0.0) + paid.units
                if units > self.peaks.get(place, 0.0):
                    self.peaks[place] = units
                bins = self._bins.get((owner.space, paid.written))
                if bins is None:
                    bins = self._bins[owner.space, paid.written] = Bins()
                bins.add(line.time, paid.units)
        elif type(line) is Definition:
            table = line.table
            self.tables[table.name] = table
            self._owners[table.space] = (table, table)
            for index in table.indexes:
                self._owners[index.space] = (table, table if index.local else index)

    def smallest(
        self, started: float, settings: Settings
    ) -> dict[str, tuple[int | None, int | None]] | None:
        """The smallest sufficient read and write units, by the names of tables and indexes. A
        scenario names an index without its table, so indexes of the same name get the same units;
        so do tables that were created again. None if no capacity is sufficient for one of them."""
        read: dict[str, int] = {}
        write: dict[str, int] = {}
        sources = {source.space: (table, source) for table, source in self._owners.values()}
        for table, source in sources.values():
            for written, units in (False, read), (True, write):
                bins = self._bins.get((source.space, written))
                least = 1 if bins is None else bins.smallest(table, started, settings)
                if least is None:
                    return None
                units[source.name] = max(least, units.get(source.name, 1))
        return {name: (read[name], write[name]) for name in read}
