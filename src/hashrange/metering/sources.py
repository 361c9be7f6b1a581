"""The buckets of a table or global index, either for reads or for writes."""

from hashrange.engine.throughput import Limit
from hashrange.metering.buckets import Bucket, Place
from hashrange.metering.growth import Growth
from hashrange.metering.index_queue import IndexQueue, Waiting
from hashrange.model.settings import Settings
from hashrange.model.tables import Index, Table


class SourceBuckets:
    """The bucket of the whole table or index, if it has one, and the buckets of its partitions.

    - `whole` holds the provisioned units, or the maximum of an on-demand table or index if one is
      set.
    - `parts` are the buckets of the partitions, in the order of the partitions, which begin at
      `starts`.
    - `plain`: whether partitions are the only limits, and no index can fall behind.
    - `behind` are the buckets whose debt is larger than an index may have.
    - `queue` has the entries that a global index does not show yet.
    - `growth` is the load of an on-demand table or index.

    `former` are the buckets of an earlier definition. Their credit and load are taken over.
    """

    __slots__ = (
        *("behind", "growth", "parts", "plain", "queue", "source", "starts", "table", "whole"),
        *("written", "_index", "_least", "_places", "_settings"),
    )

    def __init__(
        self,
        table: Table,
        source: Table | Index,
        written: bool,
        settings: Settings,
        former: "SourceBuckets | None",
    ) -> None:
        self.table = table
        self.source = source
        self.written = written
        self.behind: set[Bucket] = set()
        self._settings = settings
        self._index = source if isinstance(source, Index) else None
        self._least = -settings.index_backlog_units
        known = {bucket.place: bucket for bucket in former.every()} if former else {}
        self.growth: Growth | None = former.growth if former else None
        self.whole = self._of_whole(known)
        self.parts = [self._of_partition(part.number, known) for part in source.partitions]
        self.starts = source.partition_starts
        followed = written and (self._index is not None or bool(table.indexes))
        self.plain = self.whole is None and not followed
        self.behind |= {each for each in self.every() if each.credit < self._least}
        self._places = {bucket.place: bucket for bucket in self.every()}
        queue = IndexQueue() if written and self._index is not None else None
        self.queue: IndexQueue | None = former.queue if former else queue

    def every(self) -> list[Bucket]:
        return [*self.parts] if self.whole is None else [self.whole, *self.parts]

    def pay(self, part: Bucket, key: bytes, units: float, now: float) -> None:
        """Charge units that were consumed at the row `key`. The row is in the partition of the
        bucket `part`."""
        buckets = (part,) if self.whole is None else (part, self.whole)
        for bucket in buckets:
            if bucket.pay(units, now) < self._least:
                self.behind.add(bucket)
        if self.queue is not None:
            self.queue.oldest(self._places, now)  # forgets entries that have become visible
            self.queue.add(key, units, buckets, now)

    def waits(self, entry: Waiting, now: float, lag: float) -> bool:
        """Whether an entry of a global index was still invisible `lag` seconds ago."""
        return self.queue is not None and self.queue.waits(entry, self._places, now, lag)

    def waiting_since(self, now: float) -> float | None:
        """The time at which the oldest entry that the index does not show yet was written; None if
        all entries are visible."""
        return None if self.queue is None else self.queue.oldest(self._places, now)

    def limits_behind(self, now: float) -> list[Limit]:
        """The limits of an index that has fallen behind."""
        for bucket in tuple(self.behind):
            if bucket.credit_at(now) >= self._least:
                self.behind.discard(bucket)
        kinds = {bucket.limit.kind: bucket.limit for bucket in self.behind}
        return [kinds[kind] for kind in sorted(kinds, reverse=True)]

    def _of_whole(self, known: dict[Place, Bucket]) -> Bucket | None:
        table, source, place = self.table, self.source, (self.source.space, None, self.written)
        if not table.on_demand:
            throughput = source.throughput
            units = throughput.write if self.written else throughput.read
            limit = Limit(table, self._index, self.written, "ProvisionedThroughput")
            burst = units * self._settings.burst_seconds
            initial = units * self._settings.initial_burst_seconds
            return self._bucket(place, limit, units, burst, initial, known)
        maxima = source.on_demand_limits if isinstance(source, Table) else source.on_demand
        name = "MaxWriteRequestUnits" if self.written else "MaxReadRequestUnits"
        if maxima is None or name not in maxima:
            return None
        limit = Limit(table, self._index, self.written, "MaxOnDemandThroughput")
        return self._bucket(place, limit, maxima[name], maxima[name], maxima[name], known)

    def _of_partition(self, number: int, known: dict[Place, Bucket]) -> Bucket:
        settings, place = self._settings, (self.source.space, number, self.written)
        units = settings.partition_write_units if self.written else settings.partition_read_units
        limit = Limit(self.table, self._index, self.written, "KeyRangeThroughput")
        return self._bucket(place, limit, units, units, units, known)

    def _bucket(
        self,
        place: Place,
        limit: Limit,
        rate: float,
        capacity: float,
        initial: float,
        known: dict[Place, Bucket],
    ) -> Bucket:
        """The bucket of a place. A new bucket has its initial credit, and gains more since the
        creation of the table."""
        old = known.get(place)
        if old is None:
            return Bucket(place, limit, rate, capacity, initial, self.table.active_at)
        bucket = Bucket(place, limit, rate, capacity, min(old.credit, capacity), old.at)
        bucket.window = old.window
        return bucket
