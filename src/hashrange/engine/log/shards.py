"""The division of a stream's records into shards.

A shard is one slot of the log for one period. Shards roll over at fixed intervals. A shard also
ends when its slot is closed because a partition is split. Nothing is stored when a shard rolls
over: the list of shards, their parents and their ends are computed from the stream's slots and the
time of the latest commit. Source: shapes StreamDescription and Shard.
"""

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

from hashrange.engine.keyspace import logs
from hashrange.engine.log.records import oldest_wanted
from hashrange.model.streams import Slot, Stream


class Shard(NamedTuple):
    """One slot of the log for one period: records with start <= milliseconds < end.

    If it is `sealed`, its slot was closed, and no record can be added.
    """

    start: int
    slot: int
    end: int
    parent_id: str | None
    sealed: bool

    @property
    def id(self) -> str:
        return shard_id(self.start, self.slot)

    @property
    def first_key(self) -> bytes:
        """The key of the log at which the shard's records begin."""
        return logs.prefix(self.slot, self.start)

    @property
    def end_key(self) -> bytes:
        return logs.prefix(self.slot, self.end)

    def key_at(self, milliseconds: int, number: int = 0) -> bytes:
        """The key at which to read the shard's records from this time and number on."""
        if not self.start <= milliseconds < self.end:
            return self.first_key if milliseconds < self.start else self.end_key
        return logs.key(self.slot, milliseconds, number)


def shard_id(start: int, slot: int) -> str:
    return f"shardId-{start:020d}-{slot:08x}"


def shards(stream: Stream, latest: int, now: int) -> Iterator[Shard]:
    """The shards that still have records or may get records, the oldest first.

    `latest` is the time of the latest commit, and `now` is the present time, both in milliseconds.
    A shard that would begin after `latest` does not exist yet, unless it is the first of its slot.
    """
    horizon = oldest_wanted(now)
    return merge(*(_shards_of(stream, slot, latest, horizon) for slot in stream.slots))


def _shards_of(stream: Stream, slot: Slot, latest: int, horizon: int) -> Iterator[Shard]:
    first = _period_of(stream, slot.opened_at)
    period = max(first, _period_of(stream, horizon))
    while (shard := _shard(stream, slot, period)) is not None:
        if period > first and shard.start > latest:
            return
        yield shard
        period += 1


def _period_of(stream: Stream, milliseconds: int) -> int:
    return max(milliseconds - stream.enabled_at, 0) // stream.shard_milliseconds


def _shard(stream: Stream, slot: Slot, period: int) -> Shard | None:
    """The shard of a slot in the period with this number; None if the slot was closed before it."""
    start = stream.enabled_at + period * stream.shard_milliseconds
    end = start + stream.shard_milliseconds
    parent = shard_id(max(start - stream.shard_milliseconds, slot.opened_at), slot.number)
    if start <= max(slot.opened_at, stream.enabled_at):
        start, parent = max(slot.opened_at, stream.enabled_at), slot.parent or ""
    if slot.closed_at is not None:
        end = min(end, slot.closed_at)
    if stream.disabled_at is not None:
        end = min(end, stream.disabled_at + 1)
    if start >= end:
        return None
    return Shard(start, slot.number, end, parent or None, slot.closed_at is not None)


def find_shard(stream: Stream, id_: str, latest: int) -> Shard | None:
    """The shard with this id; None if there has never been one."""
    parts = id_.split("-")
    if len(parts) != 3 or not parts[1].isdecimal():
        return None
    start = int(parts[1])
    for slot in stream.slots:
        shard = _shard(stream, slot, _period_of(stream, start))
        if shard is not None and shard.id == id_:
            return shard if start <= latest or start == slot.opened_at else None
    return None


def last_shard_id(stream: Stream, slot: Slot, latest: int) -> str:
    """The id of the shard that has the records of an open slot at the time `latest`."""
    shard = _shard(stream, slot, _period_of(stream, max(latest, slot.opened_at)))
    assert shard is not None, "an open slot must have a shard at any time"
    return shard.id


def is_closed(stream: Stream, shard: Shard, settled: int) -> bool:
    """Whether no more records can be added to the shard.

    All changes with times before `settled` must have been committed.
    """
    return stream.disabled_at is not None or shard.sealed or settled >= shard.end
