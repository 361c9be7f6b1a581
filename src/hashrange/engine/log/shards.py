"""The division of a stream's records into shards.

A shard is one slot of the log for one period: shards roll over at a fixed pace. The list of
shards, their parents, and which of them are closed follow from the time at which the stream was
enabled and the time of the latest commit, so nothing is stored when a shard closes. Source:
shapes StreamDescription and Shard.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hashrange.engine.keyspace import logs
from hashrange.engine.log.records import oldest_wanted
from hashrange.model.streams import Stream


class Shard(NamedTuple):
    """One slot of the log for one period: records with start <= milliseconds < end."""

    slot: int
    start: int
    end: int
    parent_start: int | None

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
        """The key at which the shard's records from this time and number on begin."""
        if not self.start <= milliseconds < self.end:
            return self.first_key if milliseconds < self.start else self.end_key
        return logs.key(self.slot, milliseconds, number)

    @property
    def parent_id(self) -> str | None:
        return None if self.parent_start is None else shard_id(self.parent_start, self.slot)


def shard_id(start: int, slot: int) -> str:
    return f"shardId-{start:020d}-{slot:08x}"


def shards(stream: Stream, latest: int, now: int) -> Iterator[Shard]:
    """The shards that still have records or may get some, oldest first.

    `latest` is the time of the latest commit. No shard has begun after it.
    """
    last = max(latest if stream.disabled_at is None else stream.disabled_at, stream.enabled_at)
    period = stream.shard_milliseconds
    horizon = max(oldest_wanted(now) - stream.enabled_at, 0)
    for generation in range(horizon // period, (last - stream.enabled_at) // period + 1):
        for slot in range(stream.slots):
            yield _shard(stream, slot, generation)


def _shard(stream: Stream, slot: int, generation: int) -> Shard:
    period = stream.shard_milliseconds
    start = stream.enabled_at + generation * period
    end = start + period
    if stream.disabled_at is not None:
        end = min(end, stream.disabled_at + 1)
    return Shard(slot, start, end, start - period if generation else None)


def find_shard(stream: Stream, id_: str, latest: int) -> Shard | None:
    """The shard with this id, if it has ever existed."""
    parts = id_.split("-")
    if len(parts) != 3 or not parts[1].isdecimal():
        return None
    generation, off = divmod(int(parts[1]) - stream.enabled_at, stream.shard_milliseconds)
    for slot in range(stream.slots):
        shard = _shard(stream, slot, generation)
        if not off and generation >= 0 and shard.id == id_ and shard.start <= latest:
            return shard
    return None


def is_closed(stream: Stream, shard: Shard, latest: int) -> bool:
    """Whether no more records can be added, because commits are in the order of their times."""
    return stream.disabled_at is not None or latest >= shard.end
