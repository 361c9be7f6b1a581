"""Change logs and streams of tables, as the catalog stores them. Times are in milliseconds."""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter

from msgspec import Struct

from hashrange.model.requests import StreamViewType

RETENTION_SECONDS = 24 * 60 * 60
ITERATOR_SECONDS = 15 * 60

SLOTS_MAX = 256
"""The largest number of open and closed slots of a change log. If a table has more partitions, some
of them share a slot."""
PARTITION_BYTES = 16
"""The length of the digest with which all row keys of an item collection begin."""


class Slot(Struct, frozen=True, omit_defaults=True):
    """A range of hashes whose records are kept in one order.

    The slot begins at `start`, and ends where the next open slot begins. When a partition is split,
    its slot is closed, and two new slots replace it. Their `parent` is the last shard of the closed
    slot.
    """

    number: int
    start: bytes
    opened_at: int
    closed_at: int | None = None
    parent: str | None = None


class Log(Struct, frozen=True, dict=True):
    """A table's change log: the records of its changes, kept while a stream or another consumer
    needs them.

    `space` holds the records, which are divided into `slots`. `since` is the latest time at which a
    reader began or a slot was opened. New records have this time or a later one.
    """

    space: int
    slots: tuple[Slot, ...]
    since: int

    def slot_of(self, key: bytes) -> int:
        """The number of the slot that gets the records of the item with the row key `key`."""
        starts, numbers = self._open
        return numbers[bisect_right(starts, key) - 1]

    @cached_property
    def _open(self) -> tuple[list[bytes], list[int]]:
        slots = [slot for slot in self.slots if slot.closed_at is None]
        slots.sort(key=attrgetter("start"))
        return [slot.start for slot in slots], [slot.number for slot in slots]


class Stream(Struct, frozen=True, kw_only=True, dict=True):
    """A stream of one table. A later table of the same name has streams of its own.

    The stream reads the change log in `space`. Each open slot of the log has one open shard. A
    shard is closed after `shard_milliseconds`, and replaced by a new shard.
    """

    table_name: str
    table_arn: str
    view: StreamViewType
    space: int
    hash: str
    range: str | None
    enabled_at: int
    disabled_at: int | None = None
    shard_milliseconds: int
    slots: tuple[Slot, ...]

    @property
    def label(self) -> str:
        moment = datetime.fromtimestamp(self.enabled_at / 1000, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.enabled_at % 1000:03d}"

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/stream/{self.label}"

    @cached_property
    def log(self) -> Log:
        opened = [slot.opened_at for slot in self.slots]
        return Log(self.space, self.slots, max(self.enabled_at, *opened))


def first_slots(starts: Iterable[bytes], opened_at: int) -> tuple[Slot, ...]:
    """The slots of a new log: one for each of the partitions that begin at `starts`.

    All records of an item collection are in one slot. If a collection is divided among several
    partitions, these partitions share a slot.
    """
    whole = sorted({start for start in starts if len(start) <= PARTITION_BYTES})[:SLOTS_MAX]
    return tuple(Slot(number, start, opened_at) for number, start in enumerate(whole))
