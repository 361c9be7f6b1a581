"""The meter of one database: what requests consume, and which of them are admitted.

Source: developer guide, Burst and adaptive capacity. A provisioned table or index has a bucket
for its units; on demand it has one only if OnDemandThroughput sets a maximum. Each partition has
one for what a partition serves. Reads and writes are counted separately.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.runtime.meter.buckets import Bucket
from hashrange.runtime.meter.growth import Growth
from hashrange.runtime.meter.heat import Heat
from hashrange.runtime.meter.sources import SourceBuckets
from hashrange.runtime.meter.usage import Usage

Expected = dict[Bucket, float]
"""What the admitted members of a batch will consume at least, by bucket."""


class Meter:
    """Answers and charges the requests of one process, from any thread.

    Its state is only numbers: a request that is charged twice or not at all, because two threads
    met, makes no difference that a user could see.
    """

    def __init__(self, settings: Settings, wake_upkeep: Callable[[], None] = lambda: None) -> None:
        self.enforced = settings.throughput == "enforced"
        self.tells = False
        """Whether each response is to know what its request consumed (`Metered`)."""
        self.usage = Usage()
        self._settings = settings
        self._wake_upkeep = wake_upkeep
        self._sources: dict[tuple[int, bool], SourceBuckets] = {}
        self._heat = Heat(settings.heat_share, settings.heat_seconds)
        self._growth = Growth(settings.growth_seconds)
        self._steps: deque[dict[str, Any]] = deque()

    def take_steps(self) -> list[dict[str, Any]]:
        """The steps of upkeep that the load asks for."""
        return [self._steps.popleft() for _ in range(len(self._steps))]

    def limits(self, asked: Admit, expected: Expected, now: float) -> Sequence[Limit]:
        """The limits that keep a read or write from being admitted; none if it is.

        `expected` is what the members of its batch that were admitted before it will consume. If
        this one is admitted, its units are added.
        """
        table = asked.table
        source = self._of(table, _owner(table, asked.source), asked.written)
        part, whole = source.of(asked.key), source.whole
        found: list[Limit] = []
        if whole is not None and whole.credit_at(now) <= expected.get(whole, 0):
            found.append(whole.limit)
        if part.credit_at(now) <= expected.get(part, 0):
            found.append(part.limit)
            self._heat.note_refused(part.place, asked.key, now)
        if asked.written and table.indexes:
            found += self._behind(table, now)
        if found:
            self.usage.refuse(asked, found)
            return found
        for bucket in (part,) if whole is None else (whole, part):
            expected[bucket] = expected.get(bucket, 0) + asked.units
        return found

    def charge(self, receipt: Receipt, now: float) -> None:
        for charge in receipt.charges:
            table = charge.table
            source = _owner(table, charge.index or table)
            self.usage.charge(table, source, charge)
            if self.enforced:
                self._pay(self._of(table, source, charge.written), charge, now)

    def credits(
        self, table: Table, source: Table | Index, written: bool, now: float
    ) -> dict[int | None, float]:
        """The credit of each partition by its number; None is the whole table or index."""
        buckets = self._of(table, source, written).every()
        return {bucket.place[1]: bucket.credit_at(now) for bucket in buckets}

    def seconds_behind(self, table: Table, index: Index, now: float) -> float:
        """How long a global index will take to catch up with its writes."""
        buckets = self._of(table, index, True).every()
        return max(max(0.0, -bucket.credit_at(now) / bucket.rate) for bucket in buckets)

    def pay(self, expected: Expected, now: float) -> None:
        """Charge what was expected of requests that were admitted."""
        for bucket, units in expected.items():
            bucket.pay(units, now)

    def _of(self, table: Table, source: Table | Index, written: bool) -> SourceBuckets:
        place = source.space, written
        found = self._sources.get(place)
        if found is None or found.table is not table:
            found = SourceBuckets(table, source, written, self._settings, found)
            self._sources[place] = found
        return found

    def _behind(self, table: Table, now: float) -> list[Limit]:
        """The limits of global indexes that have fallen behind: all writes of the table wait."""
        found: list[Limit] = []
        for index in table.indexes:
            if not index.local:
                buckets = self._of(table, index, True)
                if buckets.behind:
                    found += buckets.limits_behind(now)
        return found

    def _pay(self, source: SourceBuckets, charge: Charge, now: float) -> None:
        table, owner, units, written = charge.table, source.source, charge.units, charge.written
        part = source.of(charge.key)
        source.pay(part, units, now)
        at = self._heat.note(part.place, table, owner, charge.key, units, part.rate, now)
        if at is not None:
            self._ask("SplitPartition", table, owner, Number=part.place[1], At=at)
        if table.on_demand:
            warm = owner.warm.write if written else owner.warm.read
            wanted = self._growth.note(owner.space, written, units, warm, now)
            if wanted is not None:
                read, write = (0, wanted) if written else (wanted, 0)
                self._ask("RaiseWarmThroughput", table, owner, Read=read, Write=write)

    def _ask(self, name: str, table: Table, source: Table | Index, **members: Any) -> None:
        """Ask upkeep for a change of the table. It decides whether that still makes sense."""
        index_name = source.name if isinstance(source, Index) else None
        body = {"TableName": table.name, "IndexName": index_name, **members}
        self._steps.append({"Operation": f"upkeep.{name}", "Body": body})
        self._wake_upkeep()


def _owner(table: Table, source: TableOrIndex) -> Table | Index:
    """A local index shares the partitions and the units of its table."""
    return source if isinstance(source, Index) and not source.local else table
