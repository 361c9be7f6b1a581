"""The replay of a load in one scenario: its tables, the meter, and a clock that follows the
load."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.decision import TableChange
from hashrange.engine.fetch import Admit, Moment
from hashrange.engine.throughput import Limit
from hashrange.kv import PARTITION_BYTES
from hashrange.metering.meter import Meter
from hashrange.metering.trace import (
    POSITION_BYTES,
    SECOND,
    Ask,
    Definition,
    Event,
    Gone,
    Head,
    Paid,
)
from hashrange.model.partitions import Partition
from hashrange.model.tables import Index, Table
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.decisions import with_tables
from hashrange.runtime.prediction.outcome import Outcome, Place
from hashrange.runtime.prediction.reading import Line, settings_of
from hashrange.runtime.prediction.scenarios import S, Scenario, fitted

UPKEEP_SECONDS = 2
"""The interval at which upkeep looks for work, as in a server."""
IDLE_STEPS_MAX = 1000
"""While there are no requests, a step is a second or, if that is longer, the time until the next
request divided by this number."""

LEAST_READ_UNITS = 0.5

Source = tuple[Table, Table | Index]
Asked = TypeVar("Asked", Ask, Paid)


class Chosen(Struct, frozen=True):
    """A variation of a replay: the settings of the meter, the positions of keys, and the size of
    the sample.

    With `seed`, each key gets another, random position. Of every `thinned` requests, only one is
    replayed, with the weight of all. A `brief` replay omits figures that only reports need. A
    `trial` ends as soon as a request is refused.
    """

    settings: dict[str, float] = {}
    seed: int | None = None
    thinned: int = 1
    brief: bool = False
    trial: bool = False


DEFAULT = Chosen()


class Replay:
    """The replay of a load in one scenario. Pass the lines of the load to `feed`, in their order;
    then `outcome` has the result."""

    def __init__(self, head: Head, scenario: Scenario, chosen: Chosen = DEFAULT) -> None:
        self.settings = settings_of(head, chosen.settings)
        self.scenario = scenario
        self.meter = Meter(self.settings, seed=head.seed)
        self.tables: dict[str, Table] = {}
        self.outcome = Outcome(self.meter, head.started, brief=chosen.brief)
        self._started = head.started
        self._hidden = head.keys == "hmac"
        self._weight, self._trial = chosen.thinned, chosen.trial
        self._moved = b"" if chosen.seed is None else chosen.seed.to_bytes(8, "big")
        self._last = (b"", b"")
        self._places: dict[int, Source] = {}
        self._sharded: dict[int, int] = {}  # by space, the number of shards
        self._next_upkeep = UPKEEP_SECONDS * SECOND
        self._next_second = SECOND
        self._number = 0

    @property
    def failed(self) -> bool:
        """Whether this is a trial that has refused a request."""
        return self._trial and self.outcome.first is not None

    def feed(self, line: Line) -> None:
        if self._trial and self.outcome.first is not None:
            return
        if type(line) is Event:
            if line.time >= self._next_second:
                self._pass(line.time)
            self._send(line, self._started + line.time / SECOND)
        elif type(line) is Definition:
            self._define(line.table)
        elif type(line) is Gone:
            self._forget(line.gone)

    def end(self, time: int) -> None:
        """Let the remaining time pass, up to the end of the load."""
        self._pass(time)
        self.outcome.end(time, self.tables)

    # ---- requests ----

    def _send(self, event: Event, now: float) -> None:
        if self._sharded:
            event = self._spread(event)
        weight, meter, expected = self._weight, self.meter, dict[Any, float]()
        refusal: tuple[Admit, Limit] | None = None
        refused: list[bytes] = []
        for ask in event.asks:
            table, source = self._places[ask.space]
            key = self._key(ask.key) if self._moved else ask.key
            raw = ask.raw or self._raw(source, key)
            asked = Admit(table, source, key, ask.written, ask.units * weight, raw)
            limits = meter.limits(asked, expected, now)
            if limits:
                refusal = refusal or (asked, limits[0])
                refused.append(ask.key)
                if event.whole:
                    break
        paid = event.paid or ()
        if refusal is None:
            self.outcome.admitted(event.time, weight)
        else:
            whole = event.whole or len(refused) == len(event.asks)
            left = () if whole else _left(paid, refused, self._places)
            units = sum([each.units for each in paid]) - sum([each.units for each in left])
            place = self._blamed(event, *refusal)
            self.outcome.refused(event.time, refusal[1], place, units * weight, weight)
            paid = left
        if paid:
            charges = [self._charge(each, weight) for each in paid]
            meter.charge(charges[0] if len(charges) == 1 else Receipt(False, charges), now)

    def _charge(self, paid: Paid, weight: int) -> Charge:
        table, source = self._places[paid.space]
        key = self._key(paid.key) if self._moved else paid.key
        raw = paid.raw or self._raw(source, key)
        index = source if isinstance(source, Index) else None
        return Charge(table, index, key, paid.units * weight, paid.written, raw)

    def _blamed(self, event: Event, asked: Admit, limit: Limit) -> Place:
        """The table or index whose limit was reached, and the key that reached it."""
        source: Table | Index = limit.index or limit.table
        if source.space != asked.source.space:
            for paid in event.paid or ():
                if paid.space == source.space:
                    key = self._key(paid.key)
                    return Place(source, key, paid.raw or self._raw(source, key))
        return Place(source, asked.key, asked.raw)

    def _key(self, key: bytes) -> bytes:
        """The position of a key in this replay."""
        if not self._moved or len(key) < POSITION_BYTES:
            return key
        if key != self._last[0]:  # most requests consume units only at the key for which they ask
            start = key[:PARTITION_BYTES]
            self._last = key, _hashed(self._moved + start) + key[PARTITION_BYTES:]
        return self._last[1]

    def _raw(self, source: Table | Index, key: bytes) -> bytes:
        """Bytes that stand for a key in counts of hot keys, if the trace has only the positions of
        keys.

        They are empty if they are not needed.
        """
        if not self._hidden or not key or self._weight > 1:
            return b""
        name = b"position " + key[:4].hex().encode()
        return (b"S" + len(name).to_bytes(4, "big") + name) * len(source.hash)

    # ---- shards ----

    def _spread(self, event: Event) -> Event:
        """The request on sharded indexes: a write goes to one shard of an index, and a read to all
        shards."""
        self._number += 1
        asks = [part for ask in event.asks for part in self._parts(ask)]
        paid = None if event.paid is None else [p for each in event.paid for p in self._parts(each)]
        return replace(event, asks=asks, paid=paid)

    def _parts(self, one: Asked) -> list[Asked]:
        shards = self._sharded.get(one.space)
        if shards is None or len(one.key) < POSITION_BYTES:
            return [one]
        start, rest = one.key[:PARTITION_BYTES], one.key[PARTITION_BYTES:]
        if one.written:
            number = int.from_bytes(_hashed(rest)[:4], "big") if rest else self._number
            return [replace(one, key=_shard(start, number % shards) + rest)]
        units = max(one.units / shards, LEAST_READ_UNITS) if one.units else 0.0
        return [
            replace(one, key=_shard(start, number) + rest, units=units) for number in range(shards)
        ]

    # ---- time ----

    def _pass(self, time: int) -> None:
        """Let the time pass up to `time`, with the upkeep of that period. `time` is that of the
        next request or of the end."""
        while self._next_second <= time:
            at = self._started + self._next_second / SECOND
            if self._next_second >= self._next_upkeep:
                self._work(at)
                self._next_upkeep = self._next_second + UPKEEP_SECONDS * SECOND
            self.outcome.second(self._next_second, self.tables, at)
            idle = (time - self._next_second) // SECOND
            self._next_second += max(1, idle // IDLE_STEPS_MAX) * SECOND

    def _work(self, now: float) -> None:
        for step in self.meter.take_steps(now):
            operation = UPKEEP[step["Operation"]]
            request = operation.request(msgspec.json.encode(step["Body"]))
            moment = Moment(now, settings=self.settings)
            steps = with_tables(operation.decide(request, moment), self.tables)
            try:
                next(steps)
            except StopIteration as end:
                for change in end.value.changes:
                    if type(change) is TableChange and change.new is not None:
                        self._redefine(change.new, now, step)
                continue
            raise AssertionError("a step of upkeep reads only definitions of tables")

    def _redefine(self, table: Table, now: float, step: dict[str, Any]) -> None:
        changed = _all_fitted(_counted(table))
        self.outcome.changed(now - self._started, step, changed)
        self._put(changed)

    # ---- tables ----

    def _define(self, table: Table) -> None:
        """Use this definition of a table from now on, with the changes of the scenario. The
        partitions in this replay stay the same."""
        wanted = self.scenario.of(table)
        known = self.tables.get(table.name)
        if known is not None and known.space == table.space:
            wanted = _with_partitions_of(wanted, known)
        wanted = _all_fitted(_counted(wanted))
        for index in wanted.global_indexes:
            if (shards := self.scenario.shards.get(index.name)) is not None:
                self._sharded[index.space] = shards
        self._put(wanted)

    def _put(self, table: Table) -> None:
        self.meter.redefine(table, ())
        self.tables[table.name] = table
        self._places[table.space] = (table, table)
        for index in table.indexes:
            self._places[index.space] = (table, index)

    def _forget(self, spaces: Sequence[int]) -> None:
        self.meter.redefine(None, spaces)
        for space in spaces:
            place = self._places.pop(space, None)
            if place is not None and place[0] is place[1]:
                self.tables.pop(place[0].name, None)


def _left(paid: Sequence[Paid], refused: list[bytes], places: dict[int, Source]) -> list[Paid]:
    """The consumption of the admitted members of a batch. If an item is refused, the writes of its
    index entries are left out too."""
    left, admitted = [], True
    for each in paid:
        table, source = places[each.space]
        if source is table or not each.written:
            admitted = each.key not in refused
        if admitted:
            left.append(each)
    return left


def _shard(start: bytes, number: int) -> bytes:
    return _hashed(start + number.to_bytes(4, "big"))


def _hashed(data: bytes) -> bytes:
    return blake2b(data, digest_size=PARTITION_BYTES).digest()


def _counted(table: Table) -> Table:
    """The table, with all of its partitions marked as counted: a replay has no rows to count."""

    def plain(source: S) -> S:
        parts = tuple(Partition(part.number, part.start) for part in source.partitions)
        return source if parts == source.partitions else replace(source, partitions=parts)

    indexes = tuple(plain(index) for index in table.indexes)
    return plain(replace(table, indexes=indexes))


def _all_fitted(table: Table) -> Table:
    indexes = tuple(each if each.local else fitted(each) for each in table.indexes)
    return fitted(replace(table, indexes=indexes))


def _with_partitions_of(table: Table, known: Table) -> Table:
    def kept(source: S, old: Table | Index | None) -> S:
        if old is None or old.space != source.space:
            return source
        warm = source.warm.raised(old.warm.read, old.warm.write)
        return replace(source, partitions=old.partitions, warm=warm)

    indexes = tuple(kept(each, known.index(each.name)) for each in table.indexes)
    return kept(replace(table, indexes=indexes), known)
