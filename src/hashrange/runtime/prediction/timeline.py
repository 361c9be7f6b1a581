"""The load of partitions over time, in rows, for a time-lapse picture."""

from collections import Counter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hashrange.metering.meter import Meter
from hashrange.model.tables import Index, Table

ROWS_MAX = 96
"""The largest number of rows in a strip. If there are more, pairs of adjacent rows are joined."""

Starts = tuple[tuple[bytes, int], ...]
"""The positions at which partitions begin, and their numbers."""


class Row(NamedTuple):
    """The units and the refusals of each partition, by its number, for `seconds` seconds from the
    second `since` on."""

    since: int
    seconds: int
    starts: Starts
    units: Counter[int]
    refused: Counter[int]


class Strip(Struct):
    """The rows of one table (`index` None) or index, either for writes or for reads."""

    table: str
    index: str | None
    written: bool
    rows: list[Row]


class Timeline:
    def __init__(self) -> None:
        self.strips: dict[tuple[int, bool], Strip] = {}
        self._seconds = 1  # the duration of a row
        self._since = 0
        self._totals: dict[tuple[int, bool], dict[int, float]] = {}
        self._refused: dict[tuple[int, bool], Counter[int]] = {}

    def refused(self, space: int, written: bool, partition: int, requests: int) -> None:
        self._refused.setdefault((space, written), Counter())[partition] += requests

    def second(self, seconds: int, tables: dict[str, Table], meter: Meter) -> None:
        if seconds >= self._since + self._seconds:
            self.add_row(seconds, tables, meter)

    def add_row(self, seconds: int, tables: dict[str, Table], meter: Meter) -> None:
        """Add a row for the time since the last row."""
        usage = meter.usage
        for table in tables.values():
            for source in table.with_global_indexes():
                partitions = usage.of(table, source).partitions
                for written in (False, True):
                    self._add(table, source, written, seconds, partitions)
        self._since = seconds
        if any(len(strip.rows) > ROWS_MAX for strip in self.strips.values()):
            self._seconds *= 2
            for place, strip in self.strips.items():
                self.strips[place] = replace(strip, rows=_halved(strip.rows))

    def _add(
        self,
        table: Table,
        source: Table | Index,
        written: bool,
        seconds: int,
        partitions: dict[tuple[int, bool], float],
    ) -> None:
        place = source.space, written
        total = {number: units for (number, way), units in partitions.items() if way == written}
        before = self._totals.get(place, {})
        self._totals[place] = total
        units = Counter({number: now - before.get(number, 0.0) for number, now in total.items()})
        refused = self._refused.pop(place, Counter())
        starts = tuple((part.start, part.number) for part in source.partitions)
        index = source.name if isinstance(source, Index) else None
        strip = self.strips.setdefault(place, Strip(table.name, index, written, []))
        strip.rows.append(Row(self._since, seconds - self._since, starts, units, refused))


def _halved(rows: list[Row]) -> list[Row]:
    pairs = [rows[at : at + 2] for at in range(0, len(rows), 2)]
    return [pair[0] if len(pair) == 1 else _joined(*pair) for pair in pairs]


def _joined(first: Row, second: Row) -> Row:
    """Join two rows. The load of a new partition is added to the partition that was split."""
    units, refused = Counter(first.units), Counter(first.refused)
    numbers = {number for _, number in first.starts}
    for start, number in second.starts:
        into = number
        if number not in numbers:
            into = [known for at, known in first.starts if at <= start][-1]
        units[into] += second.units[number]
        refused[into] += second.refused[number]
    return Row(first.since, first.seconds + second.seconds, first.starts, units, refused)
