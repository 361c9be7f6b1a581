"""The history of a table: for each change of an item, the item as it was before.

It is written while recovery to a point in time is enabled, or a copy of the table is being made. To
find the state of the table at a moment, the *cut*, the changes after the cut are undone, the latest
first. A cut is a time, or the beginning of an epoch. The epoch is a number in the table's
definition that increases when a copy or an export begins. So an epoch never begins within a commit.

All records of a history are in one slot. So on every store they are in the order of the commits,
and their times never decrease: the changes up to a time are those of the first commits. On a store
with many writers, a record has the time at which its change was decided, and is committed later.
But a change of the table's definition, such as the beginning of an epoch, is a barrier: everything
that is committed after it was also decided after it.

A record is a row. Its key begins like the keys of a change log (`engine.keyspace.logs`), its raw
key is the item's, and its weight is the size of the old image. Its content is the number of the
epoch (4 bytes), then the old image as JSON; if there was no item, there is no old image.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from hashrange import kv
from hashrange.engine.decision import ItemChange, Trim
from hashrange.engine.effects import Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace import logs
from hashrange.engine.keyspace.keys import owner_key
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.model.backups import Copying
from hashrange.model.recovery import History
from hashrange.model.tables import Table

STEP_ROWS = 500
STEP_BYTES = 1024 * 1024
_EPOCH_BYTES = 4
_epoch = Struct(">I").pack


def append(history: History, change: ItemChange, effects: Effects) -> None:
    old = change.old
    if old is None and change.new is None:
        return
    content, size = _epoch(history.epoch), 0
    if old is not None:
        content, size = content + old.json, old.size
    value = encode_row(change.key.raw, content, size)
    slot = history.slot
    effects.writes.append(kv.Append(history.space, slot, logs.prefix(slot, effects.now), value))


class Undone(NamedTuple):
    """The rows of items as they were before some changes, by key (None: there was no item).

    `before` is the key of the history at which to continue; None if the cut has been reached.
    """

    rows: dict[bytes, bytes | None]
    before: bytes | None


def undo(table: Table, copying: Copying) -> Fetch[Undone]:
    """The rows that undo the next changes in a copy, from the latest change backwards."""
    page: kv.Page = yield kv.Range(
        copying.history,
        b"",
        copying.undo_before,
        reverse=True,
        rows_max=STEP_ROWS,
        weight_max=STEP_BYTES,
    )
    rows: dict[bytes, bytes | None] = {}
    for key, value in page.rows:
        _, milliseconds, _ = logs.parse(key)
        row = Row(value)
        epoch = row.json[:_EPOCH_BYTES]
        is_later = copying.after is not None and milliseconds > copying.after
        if not is_later and int.from_bytes(epoch, "big") < copying.epoch:
            return Undone(rows, None)  # the remaining records are from before the cut too
        place, before = _before(table, row)
        rows[place] = before
    return Undone(rows, None if page.exhausted else page.rows[-1][0])


class Change(NamedTuple):
    """The key of an item that changed, its row before (None: there was none), and the time."""

    key: bytes
    before: bytes | None
    milliseconds: int


def changes(
    table: Table, after: int, until: int | None, page: Callable[[kv.Range], kv.Page]
) -> Iterator[list[Change]]:
    """Lists of the changes after the time `after` and, unless `until` is None, up to `until`.

    Times are in milliseconds. The changes of an item are in order. The function `page` answers the
    reads. A table without a history has no changes.
    """
    history = table.history
    if history is None:
        return
    start = logs.prefix(history.slot, after + 1)
    end = None if until is None else logs.prefix(history.slot, until + 1)
    while end is None or start < end:
        chunk = page(kv.Range(history.space, start, end, rows_max=STEP_ROWS, weight_max=STEP_BYTES))
        yield [Change(*_before(table, Row(value)), logs.parse(key)[1]) for key, value in chunk.rows]
        if chunk.exhausted:
            return
        start = chunk.rows[-1][0] + b"\x00"


def _before(table: Table, row: Row) -> tuple[bytes, bytes | None]:
    """The key of the item that a record is about, and the item's row before the change."""
    old = row.json[_EPOCH_BYTES:]
    key = owner_key(table, row.raw).key
    return key, encode_row(row.raw, old, row.size) if old else None


def trim(history: History, oldest: int) -> Fetch[Trim | None]:
    """Delete some records that are older than `oldest`, in milliseconds; None if there are none."""
    end = logs.prefix(history.slot, max(oldest, 0))
    page: kv.Page = yield kv.Range(
        history.space, b"", end, rows_max=STEP_ROWS, weight_max=STEP_BYTES
    )
    return Trim(history.space, [key for key, _ in page.rows]) if page.rows else None
