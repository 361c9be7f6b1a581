"""The units consumed and refused since the process started: by table, index, partition and key."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from hashrange.engine.capacity import Charge
from hashrange.engine.fetch import Admit
from hashrange.engine.keyspace.keys import first_of_raw
from hashrange.engine.throughput import Limit
from hashrange.model.tables import Index, Table
from hashrange.runtime.meter.hot_keys import HotKeys
from hashrange.runtime.meter.report import SourceReport

ALL_COUNTED = 1000
"""The first charges of a table or index are all counted by partition and key. Later, while there
are many requests, one of `SAMPLED` is counted and stands for all. The sum of the units is exact."""
SAMPLED = 64

WRITE_WEIGHT = 3
"""A write unit counts as three read units, as in the accessed keys of Contributor Insights."""


class KeyCounts:
    """Keys as rows store them (raw keys): partition keys, and partition keys with sort keys."""

    def __init__(self) -> None:
        self.partition_keys = HotKeys()
        self.sort_keys = HotKeys()


class SourceUsage:
    """The use of one table (with its local indexes) or global index.

    `partitions` are units by the number of the partition and whether they were written. `waiting`
    is the number of charges since the last one that was counted by partition and key, and `enough`
    is the number of charges that one stands for.
    """

    def __init__(self, table: Table, source: Table | Index) -> None:
        self._table = table.name
        self._index = source.name if isinstance(source, Index) else None
        self._hash_count = len(source.hash)
        self._key_count = len(source.key)
        self.read_units = 0.0
        self.write_units = 0.0
        self.throttled: Counter[str] = Counter()
        self.read_throttles = 0
        self.write_throttles = 0
        self.partitions: defaultdict[tuple[int, bool], float] = defaultdict(float)
        self.accessed = KeyCounts()
        self.throttled_keys = KeyCounts()
        self.waiting = 0
        self.enough = 1
        self._counted = 0

    def report(self) -> SourceReport:
        throttled = dict(self.throttled)
        return SourceReport(
            self._table,
            self._index,
            self.read_units,
            self.write_units,
            throttled,
            self.read_throttles,
            self.write_throttles,
        )

    def count(self, charge: Charge) -> float:
        """Count a charge by partition and key, in place of all that wait. Returns their units."""
        units, self.waiting = charge.units * self.waiting, 0
        self._counted += 1
        if self._counted == ALL_COUNTED:
            self.enough = SAMPLED
        index = charge.index
        owner = charge.table if index is None or index.local else index
        self.partitions[owner.partition_at(charge.key).number, charge.written] += units
        if charge.raw:
            amount = units * WRITE_WEIGHT if charge.written else units
            self._count(self.accessed, charge.raw, amount)
        return units

    def refuse_key(self, raw: bytes) -> None:
        self._count(self.throttled_keys, raw, 1)

    def _count(self, counts: KeyCounts, raw: bytes, amount: float) -> None:
        partition = first_of_raw(raw, self._hash_count)
        counts.partition_keys.add(partition, amount)
        if len(raw) > len(partition):  # not the read of a whole partition
            counts.sort_keys.add(first_of_raw(raw, self._key_count), amount)


class Usage:
    """By space, so that a table which is made again under the same name starts anew."""

    def __init__(self) -> None:
        self._sources: dict[int, SourceUsage] = {}

    def forget(self, space: int) -> None:
        """Free what was counted of a table or index."""
        self._sources.pop(space, None)

    def of(self, table: Table, source: Table | Index) -> SourceUsage:
        found = self._sources.get(source.space)
        if found is None:
            found = self._sources[source.space] = SourceUsage(table, source)
        return found

    def reports(self) -> list[SourceReport]:
        return [source.report() for source in tuple(self._sources.values())]

    def refuse(self, asked: Admit, limits: Sequence[Limit]) -> None:
        """Count a refusal, and its key, unless an index keeps a write of its table waiting: the key
        is not one of the index, and Contributor Insights do not show such writes.
        """
        for owner in {self.of(each.table, each.index or each.table) for each in limits}:
            if asked.written:
                owner.write_throttles += 1
            else:
                owner.read_throttles += 1
        for limit in limits:
            place = limit.index or limit.table
            owner = self.of(limit.table, place)
            owner.throttled[limit.reason["reason"]] += 1
            if asked.raw and place.space == asked.source.space:
                owner.refuse_key(asked.raw)
