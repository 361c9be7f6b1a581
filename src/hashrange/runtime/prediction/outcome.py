"""The outcome of a load in one scenario."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from hashrange.engine.keyspace.keys import first_of_raw, parse_raw
from hashrange.engine.throughput import Limit
from hashrange.metering.meter import Meter
from hashrange.metering.trace import SECOND
from hashrange.model.tables import Index, Table
from hashrange.runtime.prediction.timeline import Timeline

MINUTE = 60


class Place(NamedTuple):
    """A key of a table or index."""

    source: Table | Index
    key: bytes
    raw: bytes


class First(Struct):
    """The first refusal, and its time in seconds since the beginning of the load."""

    seconds: float
    reason: str
    table: str
    index: str | None
    key: str
    partition: int


class Refused(Struct):
    requests: int = 0
    units: float = 0.0


class Use(Struct):
    """The consumption of a table (`index` None) or index, and its state at the end of the load."""

    table: str
    index: str | None
    on_demand: bool
    read_units: float
    write_units: float
    provisioned: tuple[int, int]
    partitions: int
    warm: tuple[int, int]
    blamed: str | None
    """The key to blame for most of the refusals, if there are any."""
    lag_seconds: float = 0.0
    """The largest age of an entry that was not in the index yet."""


class Change(Struct):
    """A reaction of DynamoDB to the load: a split of a partition, or more warm throughput."""

    seconds: float
    table: str
    index: str | None
    text: str


class Outcome:
    """Counts the requests and the refusals while a load is replayed. A `brief` outcome omits
    figures that only reports need."""

    def __init__(self, meter: Meter, started: float, brief: bool = False) -> None:
        self.requests = 0
        self.refused_requests = 0
        self.refused_units = 0.0
        self.seconds = 0.0
        self.started = started
        self.reasons: defaultdict[tuple[str, str, str | None], Refused] = defaultdict(Refused)
        """The refusals by their reason, and by the table and index whose limit was reached."""
        self.minutes: defaultdict[int, Refused] = defaultdict(Refused)
        """The refusals in each minute, by the number of the minute since the beginning."""
        self.minute_reasons: defaultdict[tuple[int, str, str, str | None], int] = defaultdict(int)
        self.minute_requests: Counter[int] = Counter()
        self.first: First | None = None
        self.uses: list[Use] = []
        self.changes: list[Change] = []
        self.lags: dict[tuple[str, str], float] = {}
        self.timeline = None if brief else Timeline()
        self.peak_share = 0.0
        """The largest share of its throughput limit that any partition used in a minute."""
        self._minute_units: dict[tuple[int, int, bool], float] = {}
        self._meter = meter

    # ---- requests ----

    def admitted(self, time: int, requests: int) -> None:
        self.requests += requests
        if self.timeline is not None:
            self.minute_requests[time // (MINUTE * SECOND)] += requests

    def refused(self, time: int, limit: Limit, place: Place, units: float, requests: int) -> None:
        self.admitted(time, requests)
        self.refused_requests += requests
        self.refused_units += units
        reason = limit.reason["reason"]
        table, index = limit.table.name, limit.index.name if limit.index else None
        minute = time // (MINUTE * SECOND)
        for count in (self.reasons[reason, table, index], self.minutes[minute]):
            count.requests += requests
            count.units += units
        self.minute_reasons[minute, reason, table, index] += requests
        partition = place.source.partition_at(place.key).number
        if self.first is None:
            text = key_text(place.source, place.raw)
            self.first = First(time / SECOND, reason, table, index, text, partition)
        if self.timeline is not None:
            self.timeline.refused(place.source.space, limit.written, partition, requests)

    # ---- time ----

    def second(self, time: int, tables: dict[str, Table], now: float) -> None:
        """Call this at the end of each second of the load."""
        for table in tables.values():
            for index in table.global_indexes:
                since = self._meter.waiting_since(table, index, now)
                if since is not None:
                    place = table.name, index.name
                    self.lags[place] = max(self.lags.get(place, 0.0), now - since)
        if self.timeline is not None:
            self.timeline.second(time // SECOND, tables, self._meter)
            if time // SECOND % MINUTE == 0:
                self._minute(tables)

    def _minute(self, tables: dict[str, Table]) -> None:
        for table in tables.values():
            for source in table.with_global_indexes():
                for (part, written), units in self._meter.usage.of(
                    table, source
                ).partitions.items():
                    place = source.space, part, written
                    used = units - self._minute_units.get(place, 0.0)
                    self._minute_units[place] = units
                    most = self._meter.partition_units(written)
                    self.peak_share = max(self.peak_share, used / (MINUTE * most))

    def changed(self, seconds: float, step: dict[str, Any], table: Table) -> None:
        """Call this when a step of the upkeep has changed a table because of the load."""
        body = step["Body"]
        name = body["IndexName"]
        source = table if name is None else table.index(name)
        assert source is not None
        if step["Operation"] == "upkeep.SplitPartition":
            count = len(source.partitions)
            text = f"partition {body['Number']} is split; there are now {count} partitions"
        else:
            units = [f"{each:,}" for each in (source.warm.read, source.warm.write)]
            text = f"warm throughput {units[0]} read, {units[1]} write units"
            text += f"; {len(source.partitions)} partitions"
        self.changes.append(Change(seconds, table.name, name, text))

    def end(self, time: int, tables: dict[str, Table]) -> None:
        self.seconds = time / SECOND
        if self.timeline is not None:
            self.timeline.add_row(time // SECOND + 1, tables, self._meter)
        usage = self._meter.usage
        for table in tables.values():
            for source in table.with_global_indexes():
                used, index = usage.of(table, source), None
                if isinstance(source, Index):
                    index = source.name
                refused = any(where[1:] == (table.name, index) for where in self.reasons)
                keys = used.throttled_keys.partition_keys.most(1)
                keys = keys or used.accessed.partition_keys.most(1)
                blamed = key_text(source, keys[0][0]) if refused and keys else None
                units = (source.throughput.read, source.throughput.write)
                lag = self.lags.get((table.name, index or ""), 0.0)
                self.uses.append(
                    Use(
                        *(table.name, index, table.on_demand, used.read_units, used.write_units),
                        *(units, len(source.partitions), (source.warm.read, source.warm.write)),
                        *(blamed, lag),
                    )
                )

    @property
    def throttled(self) -> float:
        """The share of requests that were refused, from 0 to 1."""
        return self.refused_requests / self.requests if self.requests else 0.0

    @property
    def lag_seconds(self) -> float:
        return max(self.lags.values(), default=0.0)


def key_text(source: Table | Index, raw: bytes) -> str:
    """A readable partition key: its values or, if they are not known, its position."""
    if not raw:
        return "not known"
    values: Sequence[Any] = parse_raw(first_of_raw(raw, len(source.hash)))
    texts = [next(iter(value.values())) for value in values]
    if all(text == texts[0] and text.startswith("position ") for text in texts):
        return str(texts[0])
    return ", ".join(ascii(text) for text in texts)
