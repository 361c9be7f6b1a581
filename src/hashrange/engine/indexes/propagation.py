"""Global indexes that are updated from a log: a write of an item does not write their entries.

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

A record names its indexes because another index may be added later. Earlier records do not concern
that index.

A global index that is added to a table is *built from the log* (`Table.built_from_log`). So the
definition of the table need not say which items already have entries. That would take many changes
of the definition, each of which stops all writers. Writes append records for the index as soon as
the table has it. The build appends a record for each existing item, slot by slot. Such records are
*early* for the index: the index may not have the entry of the record's old image, or may already
have a later entry. So a step first reads which entries of these items exist. When the build has
come to the last item, no more early records are added. When the last early record has been carried
out, the index has the entries of all items.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder, Encoder

from hashrange import kv
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Backfill, ItemChange, Propagate
from hashrange.engine.effects import Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes import MAINTAINERS, secondary
from hashrange.engine.indexes.maintainer import is_built
from hashrange.engine.keyspace import logs
from hashrange.engine.keyspace.keys import RowKey, owner_key
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.model.tables import Index, Table

RECORDS_MAX = 128
BYTES_MAX = 256 * 1024
"""The limits of one step, in records and in bytes of items, which are all decoded together."""

LEFT_MILLISECONDS = 10_000
"""A record that is older than this has been left behind by the server that wrote it."""

NO_IMAGE = Raw(b"")


class Pending(Struct, omit_defaults=True, gc=False):
    """The content of a record.

    `indexes` are the spaces of the indexes that the record concerns, and `milliseconds` is when the
    change was decided. `old` and `new` are the images of the item as they are stored, with their
    sizes in bytes; a size of 0 means that there was no item. The record is early for the indexes in
    `early`. A record of a build has only the new image.
    """

    indexes: tuple[int, ...]
    milliseconds: int
    old: Raw = NO_IMAGE
    new: Raw = NO_IMAGE
    old_bytes: int = 0
    new_bytes: int = 0
    early: tuple[int, ...] = ()


_encode = Encoder().encode
decode = Decoder(Pending).decode


def derive(log: int, change: ItemChange, effects: Effects) -> None:
    """Append a record for the indexes that follow the log, and update the other indexes.

    Entries of an index that follows the log are written later. Their units are charged now, because
    the response includes them.
    """
    concerned: list[int] = []
    early: list[int] = []
    table = change.table
    for index in table.maintained:
        if not (is_built(index, change.key) or index in table.built_from_log):
            continue
        maintainer = MAINTAINERS[type(index)]
        if index not in table.following:
            maintainer.derive(index, change, effects)
            continue
        later = Effects(effects.receipt, effects.now)
        maintainer.derive(index, change, later)
        if later.writes:
            concerned.append(index.space)
            if index in table.built_from_log and not index.scanned:
                early.append(index.space)
    if concerned:
        effects.writes.append(_record(log, change, concerned, early, effects.now))


def build(step: Backfill, effects: Effects) -> None:
    """Append an early record to the index log for each item of the step that belongs in the
    index."""
    table, index = step.table, step.index
    assert isinstance(index, Index)
    assert table.index_log is not None
    for row in step.items:
        key = owner_key(table, row.raw)
        change = ItemChange(table, key, None, row.item, row.size, _json=row.json)
        if secondary.entries_of(index, change)[1] is not None:
            spaces = [index.space]
            effects.writes.append(_record(table.index_log, change, spaces, spaces, effects.now))


def _record(
    log: int, change: ItemChange, indexes: Sequence[int], early: Sequence[int], now: int
) -> kv.Append:
    pending = Pending(tuple(indexes), now, early=tuple(early))
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
            if index.space not in pending.indexes:
                continue
            if index.space in pending.early and isinstance(index, Index):
                secondary.settle(index, change, step.sizes, free)
            else:
                MAINTAINERS[type(index)].derive(index, change, free)
        effects.writes.append(kv.Delete(table.index_log, key))


def sizes_there(table: Table, records: Sequence[tuple[bytes, Row]]) -> Fetch[dict[kv.Key, int]]:
    """The sizes of the existing entries that early records concern, by space and key."""
    places: dict[kv.Key, None] = {}
    for _, row in records:
        pending = decode(row.json)
        for index in table.global_indexes if pending.early else ():
            if index.space in pending.early:
                for entry in secondary.entries_of(index, _change(table, row, pending)):
                    if entry:
                        places[index.space, entry.key.key] = None
    values = (yield kv.Get(tuple(places))) if places else ()
    there = zip(places, values, strict=True)
    return {place: Row(value).size for place, value in there if value is not None}


def _change(table: Table, row: Row, pending: Pending) -> ItemChange:
    key, old = owner_key(table, row.raw), _image(row, pending.old, pending.old_bytes)
    new = _image(row, pending.new, pending.new_bytes)
    if new is None:
        return ItemChange(table, key, old, None, 0)
    return ItemChange(table, key, old, new.item, new.size, _json=new.json)


def _image(row: Row, json: Raw, size: int) -> Row | None:
    """The item that the record `row` is about, as a row with this image; None if there was no
    item."""
    return Row(encode_row(row.raw, bytes(json), size)) if size else None


def shown(
    table: Table, rows: Iterable[tuple[bytes, bytes]]
) -> dict[kv.Key, tuple[RowKey, Row | None]]:
    """The items of which an index still shows an older state, because a record of the log waits.

    A key of the result is the space of the index and the key of the item. Its value is the item's
    row key, and the row of the item as the index shows it (None if there was no item). `rows` are
    rows of the log. An early record without an old image does not tell what the index shows.
    """
    items: dict[kv.Key, tuple[RowKey, Row | None]] = {}
    for _, value in rows:
        row = Row(value)
        pending, key = decode(row.json), owner_key(table, row.raw)
        for space in pending.indexes:
            tells = pending.old_bytes or space not in pending.early
            if tells and (space, key.key) not in items:
                items[space, key.key] = key, _image(row, pending.old, pending.old_bytes)
    return items


# ---- the records that wait ----


def first_of(log: int, slots: Sequence[int]) -> list[kv.Range]:
    """For each slot, a read of its first records.

    Together, the reads return no more records than one step applies to the indexes.
    """
    rows, size = RECORDS_MAX // len(slots), BYTES_MAX // len(slots)
    return [
        kv.Range(log, logs.index_prefix(slot), logs.index_prefix(slot + 1), False, rows, size)
        for slot in slots
    ]


def of_one_step(pages: Sequence[Any]) -> list[kv.Page]:
    """The first of these pages of records: as many pages as one step applies."""
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


def is_any_early(table: Table) -> Fetch[bool]:
    start = b""
    while True:
        page = yield from _page(table, start, None, RECORDS_MAX)
        if any(decode(Row(value).json).early for _, value in page.rows):
            return True
        if page.exhausted:
            return False
        start = page.rows[-1][0] + b"\x00"


def _page(table: Table, start: bytes, end: bytes | None, rows_max: int) -> Fetch[kv.Page]:
    assert table.index_log is not None
    page: kv.Page = yield kv.Range(
        table.index_log, start, end, rows_max=rows_max, weight_max=BYTES_MAX
    )
    return page


def left_behind(table: Table, now: int) -> Fetch[list[bytes]]:
    """The keys of records that the server which wrote them has not carried out in time.

    `now` is in milliseconds. The keys are those of the first records of some slots. Each call
    begins in another slot, so that many records in some slots cannot hide the records of other
    slots.
    """
    assert table.index_log is not None
    page: kv.Page = yield kv.Range(table.index_log, b"", None, rows_max=1)
    if not page.rows:
        return []
    until, middle = now - LEFT_MILLISECONDS, logs.index_prefix(logs.some_slot(now))
    for first, end in ((middle, None), (b"", middle)):
        page = yield from _page(table, first, end, RECORDS_MAX)
        older = list(_older(page.rows, until))
        if older:
            return older
    return []


def _older(rows: Sequence[tuple[bytes, bytes]], until: int) -> Iterator[bytes]:
    """For each slot, the keys of its first records, as long as these are from before `until`."""
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
    """The earliest time, in epoch seconds, among the first records; None if no record waits."""
    page = yield from _page(table, b"", None, RECORDS_MAX)
    return min((time_of(value) for _, value in page.rows), default=None)
