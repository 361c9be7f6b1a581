"""Global indexes that are updated from a log, so that writes of items need not write their entries.

Stores that distribute slots over several machines use this (`kv.AsyncStore.indexes_follow`). On
such stores, an item and its entry are usually in different slots, so one transaction for both would
need a two-phase commit. Instead, the table has an *index log* (`Table.index_log`). A write of an
item appends a record to the item's own slot of the log. The record names the indexes whose entries
change. Later another transaction, a *step*, reads records, writes the entries and counters that
follow from them, and deletes the records.

    key      see `engine.keyspace.logs`
    value    as in every row: the raw key of the item, and `Pending` as JSON

All records of an item are in one slot, in the order of their commits. A step takes the first
records of a slot, and gets a conflict if one of them was deleted before the step commits. So each
record is applied once, after all earlier records of the slot, whichever server applies it. An index
always shows the items as they were at some earlier time.

A record names its indexes because an index that is added later must ignore it.

A global index that is added to a table is *built from the log* (`Table.built_from_log`). As soon as
the index is defined, writes append records for it. The build appends a record for each existing
item, slot by slot. Until the build has come to the last item, all records for the index are
*early*: the entry of a record's old image may be missing from the index, or the index may already
have a later entry. So a step first reads which entries of these items exist. When the last early
record has been applied, the index is complete. Thus the progress of the build need not be in the
table's definition: each change of a definition stops all writers.
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
"""The total size in bytes of the records of one step, which decodes all of its records together.
`RECORDS_MAX` limits their number."""

LEFT_MILLISECONDS = 10_000
"""The age from which a record may be applied by another server than the one that wrote it."""

NO_IMAGE = Raw(b"")


class Pending(Struct, omit_defaults=True, gc=False):
    """The content of a record.

    `indexes` are the spaces of the indexes that the record is for, and `early` are the spaces of
    those for which it is early. `milliseconds` is the time at which the change was decided. `old`
    and `new` are the stored images of the item, with their sizes in bytes; the size is 0 if there
    is no image. A record of a build has only the new image.
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

    The entries of the indexes that follow the log are written later. But they are charged now,
    because the response includes their units.
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
    """Append an early record to the index log for each item of the step that has an entry."""
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
    """The sizes in bytes of existing entries that early records may change, by space and key."""
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
    """The row of a record's item, with this image; None if there was no item."""
    return Row(encode_row(row.raw, bytes(json), size)) if size else None


def shown(
    table: Table, rows: Iterable[tuple[bytes, bytes]]
) -> dict[kv.Key, tuple[RowKey, Row | None]]:
    """The items that an index still shows in an older state, because a record has not been applied.

    `rows` are rows of the log. The result is by the space of the index and the key of the item.
    Each value is the item's row key, and its row as the index shows it; None if there was no item.
    From an early record without an old image, it is not known what the index shows.
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

    The slots share the limits of one step, `RECORDS_MAX` and `BYTES_MAX`, equally.
    """
    rows, size = RECORDS_MAX // len(slots), BYTES_MAX // len(slots)
    return [
        kv.Range(log, logs.index_prefix(slot), logs.index_prefix(slot + 1), False, rows, size)
        for slot in slots
    ]


def of_one_step(pages: Sequence[Any]) -> list[kv.Page]:
    """The first of these pages of records: as many as fit into one step."""
    taken: list[kv.Page] = []
    size = 0
    for page in pages:
        if size > BYTES_MAX:
            break
        size += sum(len(value) for _, value in page.rows)
        taken.append(page)
    return taken


def records(log: int, keys: Sequence[bytes]) -> Fetch[list[tuple[bytes, Row]]]:
    """The records with these keys, except those that have been deleted."""
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
    """The keys of some records that their server has not applied within `LEFT_MILLISECONDS`.

    `now` is in milliseconds. In each slot, the oldest records are taken. Each call begins with
    another slot, so that every slot is reached even if some slots have many records.
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
    """For each slot, the keys of its records before its first record from `until` or later."""
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
    """The earliest time among the log's first records, in epoch seconds; None if the log is
    empty."""
    page = yield from _page(table, b"", None, RECORDS_MAX)
    return min((time_of(value) for _, value in page.rows), default=None)
