"""Streams of tables, and their division into shards.

A stream's shards are ranges of the partition hash (slots) that roll over at a fixed pace. Which
shards exist follows from the time when the stream was enabled and the current time, so that
nothing is stored when a shard closes. Source: shapes StreamDescription and Shard.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from msgspec import Struct

WRITE_UNITS_PER_SLOT = 1000
READ_UNITS_PER_SLOT = 3000
"""The units that a partition of DynamoDB serves in a second."""
RETENTION_SECONDS = 24 * 60 * 60
ITERATOR_SECONDS = 15 * 60

ViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]


class Stream(Struct, frozen=True, kw_only=True):
    """A stream of one table incarnation; times in milliseconds. `space` holds its records.

    `slots` is the number of ranges of the hash, and so of shards that are open at a time.
    """

    table_name: str
    table_arn: str
    view: ViewType
    space: int
    hash: str
    range: str | None
    enabled_at: int
    disabled_at: int | None = None
    shard_milliseconds: int
    slots: int = 4

    @property
    def label(self) -> str:
        moment = datetime.fromtimestamp(self.enabled_at / 1000, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.enabled_at % 1000:03d}"

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/stream/{self.label}"


class Shard(NamedTuple):
    """One slot of the hash for one period: records with start <= milliseconds < end."""

    slot: int
    start: int
    end: int
    parent_start: int | None

    @property
    def id(self) -> str:
        return shard_id(self.start, self.slot)

    @property
    def parent_id(self) -> str | None:
        return None if self.parent_start is None else shard_id(self.parent_start, self.slot)


def shard_id(start: int, slot: int) -> str:
    return f"shardId-{start:020d}-{slot:08x}"


def slots_for(read_units: int, write_units: int) -> int:
    """The number of partitions that DynamoDB needs to serve these units a second."""
    return max(1, -(-read_units // READ_UNITS_PER_SLOT), -(-write_units // WRITE_UNITS_PER_SLOT))


def slot_of(partition: bytes, slots: int) -> int:
    return partition[0] * slots // 256


def sequence_number(milliseconds: int, number: int) -> str:
    """A text of 21 to 40 digits. Sequence numbers have the order of the commits."""
    return str((milliseconds << 64) + number)


def parse_sequence_number(text: str) -> tuple[int, int] | None:
    """(milliseconds, number), or None if the text is not a sequence number."""
    if not text.isdecimal() or not text.isascii():
        return None
    milliseconds, number = divmod(int(text), 1 << 64)
    return (milliseconds, number) if milliseconds < 1 << 63 else None


def shards(stream: Stream, latest: int, now: int) -> Iterator[Shard]:
    """The shards that still have records or may get some, oldest first.

    `latest` is the time of the latest commit. No shard has begun after it.
    """
    last = max(latest if stream.disabled_at is None else stream.disabled_at, stream.enabled_at)
    period = stream.shard_milliseconds
    horizon = max(now - RETENTION_SECONDS * 1000 - stream.enabled_at, 0)
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
    """The shard of this id, if there was ever one."""
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
    """Whether no record can be added any more, since commits are in the order of their times."""
    return stream.disabled_at is not None or latest >= shard.end
