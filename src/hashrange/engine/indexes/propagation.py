"""Global indexes that follow from a log: a write of an item does not write their entries.

A store that spreads slots over machines asks for it (`kv.AsyncStore.indexes_follow`). There an
entry is usually in another slot than its item, so a transaction that writes both needs a commit in
two phases. Instead, the table has an *index log* (`Table.index_log`). A write of an item appends a
record in the item's own slot, which names the indexes whose entries it changes. Later another
transaction, a *step*, reads records, writes the entries and counters that follow from them, and
deletes the records. So a record remains until its entries are written, and the first record of a
slot marks the progress of the indexes.

    key      see `engine.keyspace.logs`
    value    as in every row: the raw key of the item, and `Pending` as JSON

The records of a slot are in the order of their commits, and an item is always in the same slot. A
step takes the first records of a slot, and gets a conflict if one of them is gone when it commits.
So each record is carried out once, after all earlier ones, whichever server does it, and an index
always shows the items as they were at some earlier time.

A record names its indexes because the build of another index may reach the item later. The build
then writes the entry of the item as it is, and earlier records do not concern that index.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder, Encoder

from hashrange import kv
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import ItemChange, Propagate
from hashrange.engine.effects import Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes import MAINTAINERS
from hashrange.engine.indexes.maintainer import is_built
from hashrange.engine.keyspace import logs
from hashrange.engine.keyspace.keys import RowKey, owner_key
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.model.tables import Table

RECORDS_MAX = 128
BYTES_MAX = 256 * 1024
"""The limits of one step, in records and in bytes of items, which are all decoded together."""

LEFT_MILLISECONDS = 2000
"""An older record has been left behind by the server that wrote it."""

NO_IMAGE = Raw(b"")


class Pending(Struct, omit_defaults=True, gc=False):
    """The content of a record.

    `indexes` are the spaces of the indexes that it concerns, and `milliseconds` is when the change
    was decided. `old` and `new` are the images of the item as they are stored, with their sizes in
    bytes; a size of 0 means that there was no item.
    """

    indexes: tuple[int, ...]
    milliseconds: int
    old: Raw = NO_IMAGE
    new: Raw = NO_IMAGE
    old_bytes: int = 0
    new_bytes: int = 0


_encode = Encoder().encode
decode = Decoder(Pending).decode


def derive(log: int, change: ItemChange, effects: Effects) -> None:
    """Append a record for the indexes that follow, and update the others.

    The units that the later entries consume are charged at once, because the response tells them.
    """
    concerned: list[int] = []
    for index in change.table.maintained:
        if index.building and not is_built(index, change.key):
            continue
        maintainer = MAINTAINERS[type(index)]
        if index not in change.table.following:
            maintainer.derive(index, change, effects)
            continue
        later = Effects(effects.receipt, effects.now)
        maintainer.derive(index, change, later)
        if later.writes:
            concerned.append(index.space)
    if concerned:
        effects.writes.append(_record(log, change, tuple(concerned), effects.now))


def _record(log: int, change: ItemChange, indexes: tuple[int, ...], now: int) -> kv.Append:
    pending = Pending(indexes, now)
    if change.old is not None:
        pending.old, pending.old_bytes = Raw(change.old.json), change.old.size
    if change.new is not None:
        pending.new, pending.new_bytes = Raw(change.json()), change.new_size
    weight = pending.old_bytes + pending.new_bytes
    value = encode_row(change.key.raw, _encode(pending), weight)
    slot = kv.slot_of(change.key.key)
    return kv.Append(log, slot, logs.index_prefix(slot), value)


def propagate(step: Propagate, effects: Effects) -> None:
    """Write the entries and counters that follow from records, and delete the records."""
    table = step.table
    assert table.index_log is not None
    # The units that the entries consume were charged when the items were written.
    free = Effects(Receipt(False), effects.now, effects.writes, effects.counters)
    for key, row in step.records:
        pending = decode(row.json)
        change = _change(table, row, pending)
        for index in table.following:
            if index.space in pending.indexes:
                MAINTAINERS[type(index)].derive(index, change, free)
        effects.writes.append(kv.Delete(table.index_log, key))


def _change(table: Table, row: Row, pending: Pending) -> ItemChange:
    key, old = owner_key(table, row.raw), _image(row, pending.old, pending.old_bytes)
    new = _image(row, pending.new, pending.new_bytes)
    if new is None:
        return ItemChange(table, key, old, None, 0)
    return ItemChange(table, key, old, new.item, new.size, _json=new.json)


def _image(row: Row, json: Raw, size: int) -> Row | None:
    """An image of a record's item as the row that it was or is, if there was one."""
    return Row(encode_row(row.raw, bytes(json), size)) if size else None


def shown(
    table: Table, rows: Iterable[tuple[bytes, bytes]]
) -> dict[kv.Key, tuple[RowKey, Row | None]]:
    """The items that an index still shows as they were, because a record of the log waits.

    Returns the item's key, and the row as the index shows it (None if there was no item), by the
    space of the index and the key of the item. `rows` are those of the log.
    """
    items: dict[kv.Key, tuple[RowKey, Row | None]] = {}
    for _, value in rows:
        row = Row(value)
        pending, key = decode(row.json), owner_key(table, row.raw)
        for space in pending.indexes:
            if (space, key.key) not in items:
                items[space, key.key] = key, _image(row, pending.old, pending.old_bytes)
    return items


# ---- the records that wait ----


def first_of(log: int, slots: Sequence[int]) -> list[kv.Range]:
    """Reads of the first records of some slots, as many as one step carries out."""
    rows, size = RECORDS_MAX // len(slots), BYTES_MAX // len(slots)
    return [
        kv.Range(log, logs.index_prefix(slot), logs.index_prefix(slot + 1), False, rows, size)
        for slot in slots
    ]


def of_one_step(pages: Sequence[Any]) -> list[kv.Page]:
    """The first of some pages of records, as many as one step carries out."""
    taken: list[kv.Page] = []
    size = 0
    for page in pages:
        if size > BYTES_MAX:
            break
        size += sum(len(value) for _, value in page.rows)
        taken.append(page)
    return taken


def records(log: int, keys: Sequence[bytes]) -> Fetch[list[tuple[bytes, Row]]]:
    """The records with these keys that are still there."""
    values = yield kv.Get(tuple([(log, key) for key in keys]))
    there = zip(keys, values, strict=True)
    return [(key, Row(value)) for key, value in there if value is not None]


def left_behind(table: Table, now: int) -> Fetch[list[bytes]]:
    """The keys of records that the server which wrote them has not carried out in time.

    `now` is in milliseconds. These are the first records of some slots. Each call begins in another
    slot, so that many records in some slots cannot hide those of others.
    """
    assert table.index_log is not None
    page: kv.Page = yield kv.Range(table.index_log, b"", None, rows_max=1)
    if not page.rows:
        return []
    until, middle = now - LEFT_MILLISECONDS, logs.index_prefix(logs.some_slot(now))
    for first, end in ((middle, None), (b"", middle)):
        page = yield kv.Range(
            table.index_log, first, end, rows_max=RECORDS_MAX, weight_max=BYTES_MAX
        )
        older = list(_older(page.rows, until))
        if older:
            return older
    return []


def _older(rows: Sequence[tuple[bytes, bytes]], until: int) -> Iterator[bytes]:
    """The keys of the records from before `until`, up to the first later one of each slot."""
    younger: set[int] = set()
    for key, value in rows:
        slot = kv.slot_of(key)
        if slot not in younger and decode(Row(value).json).milliseconds < until:
            yield key
        else:
            younger.add(slot)


def time_of(value: bytes) -> float:
    """The time at which the change of a record was decided, in epoch seconds."""
    return decode(Row(value).json).milliseconds / 1000


def oldest(table: Table) -> Fetch[float | None]:
    """The time, in epoch seconds, of the oldest of the first records; None if none waits."""
    assert table.index_log is not None
    page: kv.Page = yield kv.Range(
        table.index_log, b"", None, rows_max=RECORDS_MAX, weight_max=BYTES_MAX
    )
    return min((time_of(value) for _, value in page.rows), default=None)
