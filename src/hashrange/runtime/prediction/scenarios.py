"""Scenarios: a load on tables whose definitions differ from the recorded ones.

A scenario changes the definitions as if the tables had been created with the new ones. It may also
spread the keys of an index over shards.
"""

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hashrange.engine import partitions
from hashrange.model import limits
from hashrange.model.partitions import Partition, equal_parts
from hashrange.model.tables import (
    Index,
    Table,
    WarmThroughput,
    partitions_needed,
)

ON_DEMAND_START = (limits.ON_DEMAND_READ_UNITS_START, limits.ON_DEMAND_WRITE_UNITS_START)
S = TypeVar("S", Table, Index)


class Units(Struct, frozen=True):
    """The provisioned units per second of each table, and of each of its global indexes."""

    read: int
    write: int


class Scenario(Struct, frozen=True, kw_only=True):
    """Changes to tables.

    If `mode` is None, tables keep their billing mode. `units` are for all provisioned tables.
    `changed` has the units of single tables and indexes, by name; None keeps the read or write
    units unchanged. `shards` has the number of shards of indexes, by name.
    """

    name: str
    mode: str | None = None
    units: Units | None = None
    changed: dict[str, tuple[int | None, int | None]] = {}
    shards: dict[str, int] = {}

    def of(self, table: Table) -> Table:
        """The table as this scenario defines it."""
        indexes = tuple(
            index if index.local else self._source(index, table) for index in table.indexes
        )
        changed = replace(table, indexes=indexes)
        if self.mode is not None:
            changed = replace(changed, on_demand=self.mode == "on-demand")
        return self._source(changed, table)

    def with_units(self, name: str, units: dict[str, tuple[int | None, int | None]]) -> "Scenario":
        """This scenario with another name, and with these provisioned units by the names of tables
        and indexes."""
        return replace(self, name=name, mode="provisioned", changed=units)

    def _source(self, source: S, table: Table) -> S:
        on_demand = table.on_demand if self.mode is None else self.mode == "on-demand"
        read, write = source.throughput.read, source.throughput.write
        if on_demand:
            read = write = 0
        elif self.units is not None and self.mode is not None:
            read, write = self.units.read, self.units.write
        changed = self.changed.get(source.name, (None, None))
        if not on_demand:
            read = max(read if changed[0] is None else changed[0], 1)
            write = max(write if changed[1] is None else changed[1], 1)
        throughput = replace(source.throughput, read=read, write=write)
        if throughput == source.throughput and on_demand == table.on_demand:
            return source
        least = WarmThroughput(*ON_DEMAND_START) if on_demand else WarmThroughput(read, write)
        warm = least if on_demand != table.on_demand else source.warm
        warm = warm.raised(least.read, least.write)
        return fitted(replace(source, throughput=throughput, warm=warm))


def fitted(source: S) -> S:
    """The table or index, with enough partitions for its throughput."""
    wanted = partitions_needed(source.throughput, source.warm)
    if len(source.partitions) == 1 and wanted > 1:
        return replace(source, partitions=equal_parts(wanted))
    while (wider := partitions.split_for_throughput(source)) is not None:
        source = replace(source, partitions=_with(source.partitions, wider[1]))
    return source


def _with(known: Sequence[Partition], at: bytes) -> tuple[Partition, ...]:
    new = Partition(max(each.number for each in known) + 1, at)
    return tuple(sorted([*known, new], key=lambda each: each.start))
