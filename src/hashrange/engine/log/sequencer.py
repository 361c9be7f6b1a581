"""The order of the records in a slot of a log, and the time and number of each.

Readers of a shard rely on three properties: records are in the order of their commits, a new record
comes after all records that could already be read, and times and numbers never decrease.

A store with a single writer has these properties itself: it numbers all appended rows in one
sequence, and the time of a commit never decreases. So the order of the keys is the order of the
records, and a number identifies a record. The sequencer changes nothing. If a store with many
writers only ensures that the numbers within a slot increase, it needs a sequencer that assigns the
places of records after their commits. No other module knows how places are assigned.
"""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from hashrange import kv
from hashrange.engine.keyspace import logs
from hashrange.model.streams import Log

_SLOT_BITS = 8
"""The number of bits of a slot's number in a sequence number. There are 256 slots (`SLOTS_MAX`)."""


class Place(Struct, frozen=True, gc=False):
    """The place of a record in its log; the store chose its `number`."""

    slot: int
    milliseconds: int
    number: int

    @classmethod
    def of(cls, key: bytes) -> Self:
        return cls(*logs.parse(key))

    @property
    def key(self) -> bytes:
        return logs.key(self.slot, self.milliseconds, self.number)

    @property
    def sequence_number(self) -> str:
        return sequence_number(self.milliseconds, self.number, self.slot)

    def event_id(self, space: int) -> str:
        """An id that no other record of the database has; `space` is the space of the log.

        It includes the space and the slot, because each slot of a log is numbered separately.
        """
        return f"{space:08x}{self.slot:08x}{self.number:016x}"


def append(log: Log, key: bytes, milliseconds: int, value: bytes) -> kv.Append:
    """The write that appends a record to a log, in the slot of the item whose row key is `key`."""
    slot = log.slot_of(key)
    prefix = logs.prefix(slot, max(milliseconds, log.since))
    return kv.Append(log.space, slot, prefix, value)


def postponed(record: kv.Append, milliseconds: int) -> kv.Append:
    """The record for a change that is committed at the given time, later than it was decided.

    If the record's own time is later than `milliseconds`, it is kept.
    """
    decided = logs.time_of(record.prefix)
    prefix = logs.prefix(record.slot, max(milliseconds, decided))
    return kv.Append(record.space, record.slot, prefix, record.value)


def in_order(rows: Sequence[tuple[bytes, bytes]]) -> list[tuple[Place, bytes]]:
    """Rows of one slot in the order of their records, each with its place."""
    placed, last = [], -1
    for key, value in rows:
        place = Place(*logs.parse(key))
        assert place.number > last, "the numbers of a slot's records must increase with their times"
        last = place.number
        placed.append((place, value))
    return placed


def sequence_number(milliseconds: int, number: int, slot: int) -> str:
    """A text of 21 to 40 digits, which no other record of the stream has.

    The sequence numbers of a shard increase in the order of its commits.
    """
    return str((milliseconds << 64) + (number << _SLOT_BITS) + slot)


def parse_sequence_number(text: str) -> tuple[int, int] | None:
    """The (milliseconds, number) in a sequence number; None if the text is not a sequence number.

    Texts from earlier versions have no slot. A consumer that has stored such a text reads some
    records of one millisecond again, but misses none.
    """
    if not text.isdecimal() or not text.isascii():
        return None
    milliseconds, low = divmod(int(text), 1 << 64)
    number = low >> _SLOT_BITS
    return (milliseconds, number) if milliseconds < 1 << 63 else None
