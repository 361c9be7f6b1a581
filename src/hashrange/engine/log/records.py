"""Records of a table's change log: appended by writes of items, read in order, trimmed.

A record is a row. Its key is built in `engine.keyspace.logs`, its raw key is that of the item, its
weight is the size in bytes of its images, and its content is `Logged` as JSON. A log is written
while it has a reader (`Table.log`). The images are included while one of its readers needs them
(`Table.logs_images`).
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Raw, Struct
from msgspec.json import Decoder, Encoder

from hashrange import kv
from hashrange.engine.decision import ItemChange, Trim
from hashrange.engine.effects import Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace import logs
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.engine.log import sequencer
from hashrange.engine.log.sequencer import Place
from hashrange.model.streams import RETENTION_SECONDS, Log
from hashrange.model.values import equal

CHUNK_BYTES = 1024 * 1024
"""A read of a log ends when the total weight of its records reaches this, so that other requests
get a turn."""
TRIM_ROWS = 500
NO_IMAGE = Raw(b"")
NOTHING_READ: Mapping[int, bytes] = {}


class Logged(Struct, omit_defaults=True, gc=False):
    """The content of a record: the stored images of the item, their sizes in bytes, and the cause.

    Both images are empty if no reader needs them. The size is 0 if there was no item.
    """

    old: Raw = NO_IMAGE
    new: Raw = NO_IMAGE
    old_bytes: int = 0
    new_bytes: int = 0
    cause: Literal["USER", "TTL"] = "USER"


class Record(Struct, gc=False):
    """A record that was read. `row.raw` is the raw key of the item that changed."""

    place: Place
    row: Row

    @property
    def logged(self) -> Logged:
        return _decode(self.row.json)


_encode = Encoder().encode
_decode = Decoder(Logged).decode


def append(log: Log, change: ItemChange, effects: Effects) -> None:
    """Add the record of a change to the table's log, unless the item stays the same."""
    old, new = change.old, change.new
    if old is None and new is None:
        return
    if old is not None and new is not None and equal({"M": old.item}, {"M": new}):
        return
    logged = Logged(
        old_bytes=0 if old is None else old.size,
        new_bytes=change.new_size,
        cause="TTL" if change.expired else "USER",
    )
    weight = 0
    if change.table.logs_images:
        weight = logged.old_bytes + logged.new_bytes
        if old is not None:
            logged.old = Raw(old.json)
        if new is not None:
            logged.new = Raw(change.json())
    value = encode_row(change.key.raw, _encode(logged), weight)
    effects.writes.append(sequencer.append(log, change.key.key, effects.now, value))


def read(log: Log, start: bytes, end: bytes, records_max: int) -> Fetch[tuple[list[Record], bool]]:
    """The first records of a slot between two keys, and whether no other record is between them."""
    page: kv.Page = yield kv.Range(
        log.space, start, end, rows_max=records_max, weight_max=CHUNK_BYTES
    )
    placed = sequencer.in_order(page.rows)
    return [Record(place, Row(value)) for place, value in placed], page.exhausted


def latest(log: Log, start: bytes, end: bytes) -> Fetch[Place | None]:
    """The place of the last record of a slot between two keys; None if there is no record."""
    page: kv.Page = yield kv.Range(log.space, start, end, reverse=True, rows_max=1)
    return Place.of(page.rows[0][0]) if page.rows else None


def oldest_wanted(now: int) -> int:
    """The time before which records are no longer needed. Times are in milliseconds."""
    return max(now - RETENTION_SECONDS * 1000, 0)


def trim(log: Log, now: int, read: Mapping[int, bytes] = NOTHING_READ) -> Fetch[Trim | None]:
    """Delete some records of one slot that are too old, or that every reader has read.

    None if there are no such records. `now` is in milliseconds. `read` has a key for each slot, by
    number: every reader has read the records before this key.
    """
    for slot in log.slots:
        oldest = logs.prefix(slot.number, oldest_wanted(now))
        page: kv.Page = yield kv.Range(
            log.space,
            logs.prefix(slot.number, 0),
            max(oldest, read.get(slot.number, b"")),
            rows_max=TRIM_ROWS,
            weight_max=CHUNK_BYTES,
        )
        if page.rows:
            return Trim(log.space, [key for key, _ in page.rows])
    return None
