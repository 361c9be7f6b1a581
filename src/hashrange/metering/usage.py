"""The units consumed and refused since the process started: by table, index, partition and key."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

from msgspec import Struct

from hashrange.engine.capacity import Charge
from hashrange.engine.fetch import Admit
from hashrange.engine.keyspace.keys import first_of_raw
from hashrange.engine.throughput import Limit
from hashrange.metering.hot_keys import HotKeys
from hashrange.model.tables import Index, Table

ALL_COUNTED = 1000
"""The number of charges of a table or index that are all counted by partition and key. Of later
charges, while there are many requests, one of each `SAMPLED` consecutive charges is drawn at random
and represents all of them. So each charge has the same chance, whatever the order of the keys.

By Hoeffding's inequality, the share of a key in n charges of the same units is wrong by less than
sqrt(SAMPLED * ln(2 / 0.001) / (2 * n)) with probability 0.999. The sum of the units is exact.
"""
SAMPLED = 32

WRITE_WEIGHT = 3
"""A write unit counts as three read units, as in the accessed keys of Contributor Insights."""


class SourceReport(Struct, frozen=True):
    """The units of a table (`index` None) or a global index since the process started, and its
    refusals by reason.

    A read or write that was refused for two reasons counts once in `read_throttles` or
    `write_throttles`.
    """

    table: str
    index: str | None
    read_units: float
    write_units: float
    throttled: dict[str, int]
    read_throttles: int = 0
    write_throttles: int = 0


class KeyCounts:
    """The counts of keys, in the form in which rows store them: of partition keys alone, and of
    partition keys with sort keys."""

    def __init__(self) -> None:
        self.partition_keys = HotKeys()
        self.sort_keys = HotKeys()


class SourceUsage:
    """The use of one table (with its local indexes) or global index.

    `partitions` has the units by two keys: the number of the partition, and whether they are write
    units. `left` counts down the charges to the next one that is counted by partition and key.
    """

    def __init__(self, table: Table, source: Table | Index, random: Random) -> None:
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
        self.left = 1
        self._random = random
        self._counted = 0
        self._drawn_from = 1  # the number of charges for which the next counted one stands
        self._behind = 0  # the number of those charges that come after the counted one

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

    def units(self, written: bool) -> float:
        """All units so far: write units if `written`, and otherwise read units."""
        return self.write_units if written else self.read_units

    def count_sampled(self, charge: Charge) -> float:
        """Count a charge that was drawn at random to represent several charges. Returns the units
        of all of them."""
        units = charge.units * self._drawn_from
        self._drawn_from = 1 if self._counted < ALL_COUNTED else SAMPLED
        before = int(self._random.random() * self._drawn_from)
        self.left = self._behind + before + 1
        self._behind = self._drawn_from - before - 1
        return self.count(charge, units)

    def count(self, charge: Charge, units: float) -> float:
        """Count `units` by the partition and the key of a charge. Returns `units`."""
        self._counted += 1
        index, written = charge.index, charge.written
        owner = charge.table if index is None or index.local else index
        self.partitions[owner.partition_at(charge.key).number, written] += units
        if charge.raw:
            self._count(self.accessed, charge.raw, units * WRITE_WEIGHT if written else units)
        return units

    def refuse_key(self, raw: bytes) -> None:
        self._count(self.throttled_keys, raw, 1)

    def _count(self, counts: KeyCounts, raw: bytes, amount: float) -> None:
        partition = first_of_raw(raw, self._hash_count)
        counts.partition_keys.add(partition, amount)
        if len(raw) > len(partition):  # not the read of a whole partition
            counts.sort_keys.add(first_of_raw(raw, self._key_count), amount)


class Usage:
    """The counts by space, so that a recreated table starts with new counts.

    Counts of keys are estimates that depend on random choices. The `seed` determines these choices,
    so the same charges always give the same counts.
    """

    def __init__(self, seed: int) -> None:
        self._sources: dict[int, SourceUsage] = {}
        self._random = Random(seed)

    def forget(self, space: int) -> None:
        """Free the counts of a table or index."""
        self._sources.pop(space, None)

    def of(self, table: Table, source: Table | Index) -> SourceUsage:
        usage = self._sources.get(source.space)
        if usage is None:
            usage = self._sources[source.space] = SourceUsage(table, source, self._random)
        return usage

    def reports(self) -> list[SourceReport]:
        return [source.report() for source in tuple(self._sources.values())]

    def refuse(self, asked: Admit, limits: Sequence[Limit]) -> None:
        """Count a refusal, and the refused key.

        If a lagging index refuses a write to its table, the key is not counted: it is not a key of
        the index, and Contributor Insights do not show such writes.
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
