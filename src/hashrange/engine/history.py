"""The history of a table: for each change of an item, the item as it was before.

A history is written while point-in-time recovery is enabled, or while a copy of the table is being
made. To find the state of the table at a moment, the *cut*, the changes after the cut are undone,
the latest first. A cut is a time, or the beginning of an epoch. An epoch is a number in the table's
definition. It increases when a copy or an export begins, so all changes of one commit have the same
epoch.

All records of a history are in one slot. So on every store they are in the order of the commits,
and their times never decrease. On a store with many writers, a change is committed some time after
it was decided, and its record has the time of the decision. But a change of the table's definition,
such as the beginning of an epoch, is a barrier: every change that is committed after it was also
decided after it.

A record is a row. Its key begins like the keys of a change log (`engine.keyspace.logs`), its raw
key is that of the item, and its weight is the size of the old image. Its content is the number of
the epoch (4 bytes) and the old image as JSON, which is empty if there was no item.
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
    """Rows as they were before some changes: the value for each key; None if there was no item.

    `before` is the key of the history at which to continue; None if the cut has been reached.
    """

    rows: dict[bytes, bytes | None]
    before: bytes | None


def undo(table: Table, copying: Copying) -> Fetch[Undone]:
    """Undo the next changes in a copy: the latest changes that have not been undone yet."""
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
    """The key of an item that changed, its row before the change, and the time of the change.

    `before` is None if there was no item.
    """

    key: bytes
    before: bytes | None
    milliseconds: int


def changes(
    table: Table, after: int, until: int | None, page: Callable[[kv.Range], kv.Page]
) -> Iterator[list[Change]]:
    """Lists of the changes after the time `after`, up to the time `until` unless it is None.

    Times are in milliseconds. The lists are in the order of the commits. The function `page`
    answers the reads. A table without a history has no changes.
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
    """The key of a record's item, and the row that the item had before the change."""
    old = row.json[_EPOCH_BYTES:]
    key = owner_key(table, row.raw).key
    return key, encode_row(row.raw, old, row.size) if old else None


def trim(history: History, oldest: int) -> Fetch[Trim | None]:
    """Delete some records from before the time `oldest`, in milliseconds. None if there are no such
    records."""
    end = logs.prefix(history.slot, max(oldest, 0))
    page: kv.Page = yield kv.Range(
        history.space, b"", end, rows_max=STEP_ROWS, weight_max=STEP_BYTES
    )
    return Trim(history.space, [key for key, _ in page.rows]) if page.rows else None
