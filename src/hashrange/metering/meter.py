"""The meter of one database: it counts the units of requests, and decides their admission.

Source: developer guide, Burst and adaptive capacity. A provisioned table or index has a bucket for
its units. An on-demand table or index has one only if OnDemandThroughput sets a maximum. Each
partition has a bucket for the units that a partition can serve. Reads and writes are counted
separately.

Buckets are charged at once, because they decide the admission of the next request. Other effects of
charges are computed later, for many charges together, which takes half the time.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.metering.account import Account, Expected
from hashrange.metering.growth import Growth
from hashrange.metering.heat import Heat
from hashrange.metering.index_queue import Waiting
from hashrange.metering.sources import SourceBuckets
from hashrange.metering.usage import Usage
from hashrange.model.caller import Caller
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table, TableOrIndex

CHARGES_MAX = 1024
"""The largest number of charges that wait to be counted."""
WAIT_SECONDS_MAX = 1.0
"""The longest time that charges wait to be counted if throughput is enforced, so that partitions
and on-demand throughput follow the load."""

SEED = 0
"""The seed of random choices, so that the same load has the same splits and counts."""

NO_LIMITS: Sequence[Limit] = ()


class Meter:
    """Decides the admission of the requests of one process and charges them. Any thread may call
    it.

    The state consists of numbers only. If a request is charged twice or not at all because two
    threads ran at once, no user can see the difference.
    """

    def __init__(
        self,
        settings: Settings,
        wake_upkeep: Callable[[], None] = lambda: None,
        seed: int = SEED,
    ) -> None:
        self.asks = self.enforced = settings.throughput == "enforced"
        """`asks`: whether operations ask for admission. `enforced`: whether a request can be
        refused."""
        self.has_indexes = False
        """Whether the meter knows a global index, whose entries may have to wait."""
        self.late: set[int] = set()
        """The spaces of the global indexes that may not show all of their entries yet."""
        self.tells = False
        """Whether each response includes the consumption of its request (`Metered`)."""
        self._usage = Usage(seed)
        self._settings = settings
        self._wake_upkeep = wake_upkeep
        self._charges: list[Charge] = []  # the charges that wait to be counted
        self._since = 0.0  # when the first of the charges was added
        self._read: dict[int, SourceBuckets] = {}  # by space
        self._written: dict[int, SourceBuckets] = {}
        self._heat = Heat(settings.heat_share, settings.heat_seconds, seed)
        self._steps: deque[dict[str, Any]] = deque()

    @property
    def usage(self) -> Usage:
        """The counts up to now."""
        self._count(sampled=False)
        return self._usage

    def take_steps(self, now: float) -> list[dict[str, Any]]:
        """The upkeep steps that the load requires, including those raises of warm throughput that
        are due."""
        self._count(sampled=False)
        for source in {*self._read.values(), *self._written.values()}:
            if source.growth is not None:
                self._grow(source, source.growth, now)
        return [self._steps.popleft() for _ in range(len(self._steps))]

    def redefine(self, table: Table | None, gone: Iterable[int]) -> None:
        """Free the state of the spaces `gone`, which no longer exist after a change of a table."""
        self._count(sampled=False)
        self.has_indexes |= table is not None and bool(table.global_indexes)
        for space in gone:
            self._read.pop(space, None)
            self._written.pop(space, None)
            self.late.discard(space)
            self._usage.forget(space)

    def account(self, operation: str, caller: Caller, now: float) -> Account:
        """The account of a request."""
        return Account(self, now)

    def limits(self, asked: Admit, expected: Expected, now: float) -> Sequence[Limit]:
        """The limits that prevent the admission of a read or write; empty if it is admitted.

        `expected` has the units of the members of the same batch that were admitted before. If this
        read or write is admitted, its units are added.
        """
        table, written = asked.table, asked.written
        source = (self._written if written else self._read).get(asked.source.space)
        if source is None or source.table is not table:
            source = self._of(table, asked.source, written)
        part = source.parts[bisect_right(source.starts, asked.key) - 1]
        wanted = expected.get(part, 0) if expected else 0
        if source.plain and part.credit > wanted:  # the credit gained since then does not matter
            expected[part] = wanted + asked.units
            return NO_LIMITS
        whole, limits = source.whole, list[Limit]()
        if whole is not None and whole.credit_at(now) <= expected.get(whole, 0):
            limits.append(whole.limit)
        if part.credit_at(now) <= wanted:
            limits.append(part.limit)
            self._heat.note_refused(part, asked.key, now)
        if written and table.indexes:
            limits += self._behind(table, now)
        if limits:
            self.refuse(asked, limits)
            return limits
        expected[part] = wanted + asked.units
        if whole is not None:
            expected[whole] = expected.get(whole, 0) + asked.units
        return NO_LIMITS

    def refuse(self, asked: Admit, limits: Sequence[Limit]) -> None:
        """Count a read or write that was refused for these limits."""
        self._usage.refuse(asked, limits)

    def charge(self, receipt: Receipt | Charge, now: float) -> None:
        """Charge the units of a request."""
        charges = (receipt,) if type(receipt) is Charge else receipt.charges
        if self.enforced:
            self._pay(charges, now)
        waiting = self._charges
        waiting += charges
        if len(waiting) >= CHARGES_MAX:
            self._count(sampled=True)

    def partition_units(self, written: bool) -> float:
        """The units that a partition can serve in a second."""
        settings = self._settings
        return settings.partition_write_units if written else settings.partition_read_units

    def credits(
        self, table: Table, source: Table | Index, written: bool, now: float
    ) -> dict[int | None, float]:
        """The credit of each partition, by the partition's number, and of the whole table or index
        (None)."""
        buckets = self._of(table, source, written).every()
        return {bucket.place[1]: bucket.credit_at(now) for bucket in buckets}

    def waiting_since(self, table: Table, index: Index, now: float) -> float | None:
        """The time at which the oldest waiting entry of a global index was written; None if no
        entry waits."""
        return self._of(table, index, True).waiting_since(now)

    def follow(self, table: Table, index: Index) -> None:
        """Adapt the buckets to the index's present definition. The debt is kept."""
        self._of(table, index, True)

    def waiting(self, space: int, key: bytes) -> Waiting | None:
        """The latest change of an entry that its global index may not show yet; otherwise None.

        In the spaces of tables and of local indexes no entry waits.
        """
        if space not in self.late:
            return None
        queue = self._written[space].queue
        return None if queue is None else queue.waiting(key)

    def waits(self, space: int, entry: Waiting, now: float, lag: float = 0.0) -> bool:
        """Whether this entry of a global index was still invisible `lag` seconds ago."""
        source = self._written.get(space)
        return source is not None and source.waits(entry, now, lag)

    def _of(self, table: Table, source: TableOrIndex, written: bool) -> SourceBuckets:
        """The buckets of a table or index. A local index shares the buckets of its table."""
        known = self._written if written else self._read
        owner = _owner(table, source)
        buckets = known.get(owner.space)
        if buckets is None or buckets.table is not table:
            buckets = SourceBuckets(table, owner, written, self._settings, buckets)
        known[owner.space] = known[source.space] = buckets
        self.has_indexes |= buckets.queue is not None
        return buckets

    def _behind(self, table: Table, now: float) -> list[Limit]:
        """The limits of global indexes that have fallen behind. Such a limit refuses all writes to
        the table."""
        limits: list[Limit] = []
        known = self._written
        for index in table.global_indexes:
            buckets = known.get(index.space)
            if buckets is None or buckets.table is not table:
                buckets = self._of(table, index, True)
            if buckets.behind:
                limits += buckets.limits_behind(now)
        return limits

    def _pay(self, charges: Sequence[Charge], now: float) -> None:
        """Charge the buckets."""
        if now >= self._since + WAIT_SECONDS_MAX:
            self._count(sampled=False)
            self._since = now
        for charge in charges:
            table, index = charge.table, charge.index
            known = self._written if charge.written else self._read
            source = known.get(table.space if index is None else index.space)
            if source is None or source.table is not table:
                source = self._of(table, index or table, charge.written)
            part = source.parts[bisect_right(source.starts, charge.key) - 1]
            if source.plain:
                credit = part.credit if now <= part.at else part.credit_at(now)
                part.credit = credit - charge.units
            else:
                source.pay(part, charge.key, charge.units, now)
                queue = source.queue
                if queue is not None:
                    (self.late.discard if queue.is_empty() else self.late.add)(source.source.space)

    def _count(self, sampled: bool) -> None:
        """Count the waiting charges. With `sampled`, only some of them are counted by partition and
        key, and represent the other ones."""
        charges, self._charges = self._charges, []
        table: Table | None = None
        index: Index | None = None
        for charge in charges:
            if charge.table is not table or charge.index is not index:
                table, index = charge.table, charge.index
                usage = self._usage.of(table, _owner(table, index or table))
            if charge.written:
                usage.write_units += charge.units
            else:
                usage.read_units += charge.units
            if sampled:
                usage.left = left = usage.left - 1
                if left:
                    continue
                units = usage.count_sampled(charge)
            else:
                units = usage.count(charge, charge.units)
            if self.enforced:
                self._follow(charge, units)

    def _follow(self, charge: Charge, units: float) -> None:
        """Adapt the partitions, and the throughput of on-demand tables, to the load.

        A counted charge may represent several charges. `units` is the number of units of all of
        them.
        """
        table, written, now = charge.table, charge.written, self._since
        space = table.space if charge.index is None else charge.index.space
        source = (self._written if written else self._read).get(space)
        if source is None or source.table is not table:
            source = self._of(table, charge.index or table, written)
        owner = source.source
        part = source.parts[bisect_right(source.starts, charge.key) - 1]
        for at in self._heat.note(part, table, owner, charge.key, units, now):
            self._ask("SplitPartition", table, owner, Number=part.place[1], At=at)
        if table.on_demand:
            if source.growth is None:
                before = self._usage.of(table, owner).units(written) - units
                source.growth = Growth(self._settings.growth_seconds, now, before)
                self._wake_upkeep()
            self._grow(source, source.growth, now)

    def _grow(self, source: SourceBuckets, growth: Growth, now: float) -> None:
        """Note the units so far, and ask upkeep to raise the warm throughput when that is due."""
        table, owner, written = source.table, source.source, source.written
        warm = owner.warm.write if written else owner.warm.read
        wanted = growth.note(self._usage.of(table, owner).units(written), warm, now)
        if wanted is not None:
            read, write = (0, wanted) if written else (wanted, 0)
            self._ask("RaiseWarmThroughput", table, owner, Read=read, Write=write)

    def _ask(self, name: str, table: Table, source: Table | Index, **members: Any) -> None:
        """Ask upkeep for a change of the table. Upkeep decides whether the change is still
        useful."""
        index_name = source.name if isinstance(source, Index) else None
        body = {"TableName": table.name, "IndexName": index_name, **members}
        self._steps.append({"Operation": f"upkeep.{name}", "Body": body})
        self._wake_upkeep()


def _owner(table: Table, source: TableOrIndex) -> Table | Index:
    """The source itself; for a local index, its table, which has the partitions and units of the
    index."""
    return source if isinstance(source, Index) and not source.local else table
