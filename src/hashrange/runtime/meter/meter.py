"""The meter of one database: buckets for each table, global index and partition.

Source: developer guide, Burst and adaptive capacity; FACTS on throughput. A provisioned table or
index has a bucket for its units. On demand it has one only if OnDemandThroughput sets a maximum.
Each partition has one for what a partition serves. Reads and writes are counted separately.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.model.errors import ConditionalCheckFailedException
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.runtime.decisions import Steps
from hashrange.runtime.meter.buckets import Bucket, Place
from hashrange.runtime.meter.growth import Growth
from hashrange.runtime.meter.heat import Heat
from hashrange.runtime.meter.usage import Usage

INITIAL_BURST_SECONDS = 1.0
"""(?) How many seconds of its provisioned units a new table or index can use at once."""


class Rate:
    """The units per second of a table, index or partition, and the most that can be saved."""

    __slots__ = ("capacity", "initial", "kind", "rate")

    def __init__(self, kind: str, rate: float, capacity: float, initial: float) -> None:
        self.kind = kind
        self.rate = rate
        self.capacity = capacity
        self.initial = initial


Expected = dict[Place, tuple[Table, Rate, float]]
"""What a request that was admitted will consume at least, by bucket."""


class Meter:
    """Answers and charges the requests of one process, from any thread.

    Its state is only buckets: a request that is charged twice or not at all, because two threads
    met, makes no difference that a user could see.
    """

    def __init__(self, settings: Settings, wake_upkeep: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._wake_upkeep = wake_upkeep
        self.usage = Usage()
        self._enforced = settings.throughput == "enforced"
        self._buckets: dict[Place, Bucket] = {}
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
        table, written = asked.table, asked.written
        source = _owner(table, asked.source)
        index = source if isinstance(source, Index) else None
        found: list[Limit] = []
        rates = self._rates(table, source, asked.key, written)
        for place, rate in rates:
            if self._credit(table, place, rate, now) <= (
                expected[place][2] if place in expected else 0
            ):
                found.append(Limit(table, index, written, rate.kind))
                if place[1] is not None:
                    self._heat.note_refused(place, asked.key, now)
        if written:
            for other in table.indexes:
                if not other.local:
                    found += self._behind(table, other, now)
        if found:
            self.usage.refuse(asked, found)
        else:
            for place, rate in rates:
                before = expected[place][2] if place in expected else 0
                expected[place] = table, rate, before + asked.units
        return found

    def charge(self, receipt: Receipt, now: float) -> None:
        for charge in receipt.charges:
            self._pay(charge, now)

    def pay(self, expected: Expected, now: float) -> None:
        """Charge what was expected of requests that were admitted."""
        for place, (table, rate, units) in expected.items():
            self._bucket(table, place, rate).pay(units, rate.rate, rate.capacity, now)

    # ---- limits ----

    def _behind(self, table: Table, index: Index, now: float) -> Iterator[Limit]:
        """A global index that has fallen behind keeps all writes of its table waiting."""
        least = -self._settings.index_backlog_units
        whole = self._rate(table, index, True)
        if whole and self._credit(table, (index.space, None, True), whole, now) < least:
            yield Limit(table, index, True, whole.kind)
        part = self._partition_rate(True)
        for partition in index.partitions:
            if self._credit(table, (index.space, partition.number, True), part, now) < least:
                yield Limit(table, index, True, part.kind)
                return

    def _credit(self, table: Table, place: Place, rate: Rate, now: float) -> float:
        return self._bucket(table, place, rate).credit(rate.rate, rate.capacity, now)

    def _bucket(self, table: Table, place: Place, rate: Rate) -> Bucket:
        """Units have been saved since the table was created, in whichever process."""
        bucket = self._buckets.get(place)
        if bucket is None:
            bucket = self._buckets[place] = Bucket(rate.initial, table.active_at)
        return bucket

    # ---- charges ----

    def _pay(self, charge: Charge, now: float) -> None:
        table, written, units = charge.table, charge.written, charge.units
        source = _owner(table, charge.index or table)
        self.usage.of(table, source).charge(charge, source.partition_at(charge.key).number)
        if not self._enforced:
            return
        for place, rate in self._rates(table, source, charge.key, written):
            self._bucket(table, place, rate).pay(units, rate.rate, rate.capacity, now)
            if place[1] is not None:
                at = self._heat.note(place, table, source, charge.key, units, rate.rate, now)
                if at is not None:
                    self._ask("SplitPartition", table, source, Number=place[1], At=at)
        if table.on_demand:
            warm = source.warm.write if written else source.warm.read
            wanted = self._growth.note(source.space, written, units, warm, now)
            if wanted is not None:
                read, write = (0, wanted) if written else (wanted, 0)
                self._ask("RaiseWarmThroughput", table, source, Read=read, Write=write)

    def _ask(self, name: str, table: Table, source: Table | Index, **members: Any) -> None:
        """Ask upkeep for a change of the table. It decides whether that still makes sense."""
        index_name = source.name if isinstance(source, Index) else None
        body = {"TableName": table.name, "IndexName": index_name, **members}
        self._steps.append({"Operation": f"upkeep.{name}", "Body": body})
        self._wake_upkeep()

    # ---- rates ----

    def _rates(
        self, table: Table, source: Table | Index, key: bytes, written: bool
    ) -> list[tuple[Place, Rate]]:
        """The buckets for the row `key`, with their rates: of the whole, and of its partition."""
        number = source.partition_at(key).number
        part = (source.space, number, written), self._partition_rate(written)
        whole = self._rate(table, source, written)
        return [part] if whole is None else [((source.space, None, written), whole), part]

    def _rate(self, table: Table, source: Table | Index, written: bool) -> Rate | None:
        """What is provisioned, or the maximum on demand, if there is one."""
        if not table.on_demand:
            units = source.throughput.write if written else source.throughput.read
            most = units * self._settings.burst_seconds
            return Rate("ProvisionedThroughput", units, most, units * INITIAL_BURST_SECONDS)
        maxima = source.on_demand_limits if isinstance(source, Table) else source.on_demand
        name = "MaxWriteRequestUnits" if written else "MaxReadRequestUnits"
        if maxima is None or name not in maxima:
            return None
        return Rate("MaxOnDemandThroughput", maxima[name], maxima[name], maxima[name])

    def _partition_rate(self, written: bool) -> Rate:
        settings = self._settings
        units = settings.partition_write_units if written else settings.partition_read_units
        return Rate("KeyRangeThroughput", units, units, units)


class Account:
    """One request before the meter: what it asked, and whether it has been charged.

    A request that is run again, because it lost a race, gets the same answers and is charged once.
    """

    __slots__ = ("_answers", "_charged", "_expected", "_meter", "_now")

    def __init__(self, meter: Meter, now: float) -> None:
        self._meter = meter
        self._now = now
        self._answers: dict[tuple[int, bytes, bool], Sequence[Limit]] = {}
        self._expected: Expected = {}
        self._charged = False

    def steps(self, steps: Steps) -> Steps:
        """The steps of a request, with the questions answered; its reads are charged at the end."""
        reply: Any = None
        try:
            while True:
                read = steps.send(reply)
                reply = self._limits(read) if type(read) is Admit else (yield read)
        except StopIteration as end:
            decision: Decision = end.value
            if not decision.changes:
                self.charge(decision.receipt)
            return decision
        except ConditionalCheckFailedException:  # it consumes what the write would have
            if not self._charged:
                self._charged = True
                self._meter.pay(self._expected, self._now)
            raise

    def charge(self, receipt: Receipt | None) -> None:
        if receipt is not None and not self._charged:
            self._charged = True
            self._meter.charge(receipt, self._now)

    def _limits(self, asked: Admit) -> Sequence[Limit]:
        question = asked.source.space, asked.key, asked.written
        answer = self._answers.get(question)
        if answer is None:
            answer = self._meter.limits(asked, self._expected, self._now)
            self._answers[question] = answer
        return answer


def _owner(table: Table, source: TableOrIndex) -> Table | Index:
    """A local index shares the partitions and the units of its table."""
    return source if isinstance(source, Index) and not source.local else table
