"""Vector indexes: a row for each item with a vector and, if the index has one, a HASH attribute.

`engine.vectors.entries` defines the format of the rows. Each change of a row's content is also
recorded in the index's log, which tells searches which rows to read again.
"""

from collections.abc import Sequence

from hashrange import kv
from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Counters, Effects, count_rows
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes.maintainer import Checked
from hashrange.engine.keyspace.keys import RowKey, owner_key, table_key
from hashrange.engine.keyspace.rows import Row
from hashrange.engine.vectors.entries import Entry, entry_of, projected, record, row_value
from hashrange.engine.vectors.sizes import stored_size
from hashrange.model.tables import Table, VectorIndex


def derive(index: VectorIndex, change: ItemChange, effects: Effects) -> None:
    """Add, move, rewrite or delete the row of an item, if the change of the item affects it."""
    table, old, new = change.table, change.old, change.new
    gone = entry_of(table, index, change.key, old.item) if old is not None else None
    come = entry_of(table, index, change.key, new) if new is not None else None
    if gone is not None and come is not None and gone.key.key == come.key.key:
        if not _shows_the_same(index, change):
            _replace(index, change, gone, come, effects)
        return
    if gone is not None:
        effects.charge_vector(change, index, gone.size)
        effects.writes.append(kv.Delete(index.space, gone.key.key))
        effects.writes.append(record(index, gone.key.key, effects.now))
        count(table, index, gone.key, -1, -gone.size, effects.counters)
    if come is not None:
        effects.charge_vector(change, index, come.size)
        _put(index, come, effects)
        count(table, index, come.key, 1, come.size, effects.counters)


def _shows_the_same(index: VectorIndex, change: ItemChange) -> bool:
    old, new = change.old, change.new
    assert old is not None
    assert new is not None
    if index.projection == "ALL":
        return old.item == new
    return projected(change.table, index, old.item) == projected(change.table, index, new)


def _replace(
    index: VectorIndex, change: ItemChange, gone: Entry, come: Entry, effects: Effects
) -> None:
    effects.charge_vector(change, index, max(gone.size, come.size))
    count(change.table, index, come.key, 0, come.size - gone.size, effects.counters)
    if gone.content != come.content:
        _put(index, come, effects)
    elif gone.size != come.size:
        effects.writes.append(kv.Put(index.space, come.key.key, row_value(come)))


def _put(index: VectorIndex, entry: Entry, effects: Effects) -> None:
    effects.writes.append(kv.Put(index.space, entry.key.key, row_value(entry)))
    effects.writes.append(record(index, entry.key.key, effects.now))


def build(table: Table, index: VectorIndex, items: Sequence[Row], effects: Effects) -> None:
    """Add the rows of the next items of the build.

    From now on, the table's size counts the vectors of these items in their packed form.
    """
    for row in items:
        key = table_key(table, row.item).key
        growth = stored_size(table, row.item) - stored_size(table, row.item, key)
        count_rows(effects.counters, table, key, 0, growth)
        entry = entry_of(table, index, RowKey(b"", row.raw), row.item)
        if entry:
            _put(index, entry, effects)
            count(table, index, entry.key, 1, entry.size, effects.counters)


def check(table: Table, index: VectorIndex, key: RowKey, item: Row) -> Fetch[Checked]:
    entry = entry_of(table, index, key, item.item)
    if entry is None:
        return Checked()
    [value] = yield kv.Get(((index.space, entry.key.key),))
    problem = None
    if value != row_value(entry):
        what = "is missing" if value is None else "differs from its item"
        problem = f"row {entry.key.key.hex()} {what}"
    return Checked(entry.key, entry.size, problem)


def owner(table: Table, row: Row) -> RowKey:
    return owner_key(table, row.raw)


def count(
    table: Table, index: VectorIndex, key: RowKey, rows: int, size: int, counters: Counters
) -> None:
    count_rows(counters, index, key.key, rows, size)
