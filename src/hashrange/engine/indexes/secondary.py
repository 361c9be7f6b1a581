"""Global and local secondary indexes: an entry for each item that has the index's key attributes.

An entry shows the key attributes of the index and of the table, and the projected attributes.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hashrange import kv
from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Counters, Effects, count_collection, count_rows
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes.maintainer import Checked
from hashrange.engine.keyspace.keys import RowKey, index_key, table_key
from hashrange.engine.keyspace.rows import DamagedRow, Row, encode_item, encode_row
from hashrange.model.tables import Index, Table
from hashrange.model.values import Item, item_size


class Entry(Struct, gc=False):
    """An index entry: its key, the attributes that it shows, and their size in bytes."""

    key: RowKey
    shown: Item
    size: int


def derive(index: Index, change: ItemChange, effects: Effects) -> None:
    """Add, move, rewrite or delete the entry of an item, if the change of the item affects it."""
    old, new = change.old, change.new
    if old is None or new is None:
        _move(index, change, effects)
        return
    before = old.item
    if not _agree(index.key, before, new):
        _move(index, change, effects)
    elif not _shows_the_same(index, before, new):
        _replace(index, change, old, new, effects)


def _shows_the_same(index: Index, old: Item, new: Item) -> bool:
    """Whether two images with the same index key agree in all other attributes of the entry."""
    return old == new if index.projection == "ALL" else _agree(index.include, old, new)


def _agree(names: Iterable[str], old: Item, new: Item) -> bool:
    """Whether two images have the same values of the attributes `names`."""
    # Every write comes here, and `all` would call a generator for each name.
    for name in names:  # noqa: SIM110
        if old.get(name) != new.get(name):
            return False
    return True


def _replace(index: Index, change: ItemChange, old: Row, new: Item, effects: Effects) -> None:
    """Rewrite an entry whose key has not changed."""
    table = change.table
    entry = entry_of(table, index, change.key, new, change.new_size)
    if entry is None:
        return
    is_all = index.projection == "ALL"
    old_size = old.size if is_all else item_size(_project(table, index, old.item))
    effects.charge(change, index, entry.key, max(old_size, entry.size))
    effects.writes.append(_put(index, entry, change.json() if is_all else None))
    growth = entry.size - old_size
    count(table, index, entry.key, 0, growth, effects.counters)


def _move(index: Index, change: ItemChange, effects: Effects) -> None:
    """Delete the entry of the old image, if it had one, and add the entry of the new image."""
    table = change.table
    if change.old is not None:
        gone = entry_of(table, index, change.key, change.old.item, change.old.size)
        if gone:
            effects.charge(change, index, gone.key, gone.size)
            effects.writes.append(kv.Delete(index.space, gone.key.key))
            count(table, index, gone.key, -1, -gone.size, effects.counters)
    if change.new is not None:
        come = entry_of(table, index, change.key, change.new, change.new_size)
        if come:
            effects.charge(change, index, come.key, come.size)
            json = change.json() if index.projection == "ALL" else None
            effects.writes.append(_put(index, come, json))
            count(table, index, come.key, 1, come.size, effects.counters)


def settle(index: Index, change: ItemChange, sizes: dict[kv.Key, int], effects: Effects) -> None:
    """Like `derive`, but does not assume that the index has exactly the entry of the old image.

    `sizes` has the sizes in bytes of the existing entries that the change may affect, by space and
    key. It is updated.
    """
    gone, come = entries_of(index, change)
    if gone and (come is None or come.key.key != gone.key.key):
        size = sizes.pop((index.space, gone.key.key), None)
        if size is not None:
            effects.writes.append(kv.Delete(index.space, gone.key.key))
            count(change.table, index, gone.key, -1, -size, effects.counters)
    if come:
        place = index.space, come.key.key
        rows, size = (0, sizes[place]) if place in sizes else (1, 0)
        json = change.json() if index.projection == "ALL" else None
        effects.writes.append(_put(index, come, json))
        count(change.table, index, come.key, rows, come.size - size, effects.counters)
        sizes[place] = come.size


def entries_of(index: Index, change: ItemChange) -> tuple[Entry | None, Entry | None]:
    """The entries of an item before and after a change."""
    table, key, old, new = change.table, change.key, change.old, change.new
    gone = None if old is None else entry_of(table, index, key, old.item, old.size)
    come = None if new is None else entry_of(table, index, key, new, change.new_size)
    return gone, come


def build(table: Table, index: Index, items: Sequence[Row], effects: Effects) -> None:
    for row in items:
        key = RowKey(b"", row.raw)
        entry = entry_of(table, index, key, row.item, row.size)
        if entry:
            json = row.json if index.projection == "ALL" else None
            effects.writes.append(_put(index, entry, json))
            count(table, index, entry.key, 1, entry.size, effects.counters)


def check(table: Table, index: Index, key: RowKey, item: Row) -> Fetch[Checked]:
    entry = entry_of(table, index, key, item.item, item.size)
    if entry is None:
        return Checked()
    [value] = yield kv.Get(((index.space, entry.key.key),))
    problem = None
    if value is None or not _holds(value, entry):
        what = "is missing" if value is None else "differs from its item"
        problem = f"entry {entry.key.key.hex()} {what}"
    return Checked(entry.key, entry.size, problem)


def _holds(value: bytes, entry: Entry) -> bool:
    """Whether a row contains the entry. The order of the attributes does not matter.

    A write that only changes the order of an item's attributes does not rewrite the entry.
    """
    try:
        row = Row(value)
        return (row.raw, row.item, row.size) == (entry.key.raw, entry.shown, entry.size)
    except (DamagedRow, ValueError):
        return False


def owner(table: Table, row: Row) -> RowKey:
    return table_key(table, row.item)


def count(
    table: Table, index: Index, key: RowKey, rows: int, size: int, counters: Counters
) -> None:
    count_rows(counters, index, key.key, rows, size)
    if index.local:
        count_collection(counters, table, key, size)


def entry_of(table: Table, index: Index, owner: RowKey, item: Item, size: int) -> Entry | None:
    """The entry of an item of `size` bytes; None if the item has none (see `index_key`)."""
    row_key = index_key(table, index, item, owner)
    if row_key is None:
        return None
    if index.projection == "ALL":
        return Entry(row_key, item, size)
    shown = _project(table, index, item)
    return Entry(row_key, shown, item_size(shown))


def _project(table: Table, index: Index, item: Item) -> Item:
    """The attributes of an item that are in its entry, if the projection is not ALL."""
    names = {*table.key, *index.key, *index.include}
    return {name: value for name, value in item.items() if name in names}


def _put(index: Index, entry: Entry, json: bytes | None) -> kv.Put:
    """The write of an entry's row. `json` is the stored form of its item; None if not known."""
    if json is None:
        json = encode_item(entry.shown)
    return kv.Put(index.space, entry.key.key, encode_row(entry.key.raw, json, entry.size))


def local_size(table: Table, key: RowKey, item: Item, size: int) -> int:
    """The total size in bytes of an item's entries in local indexes; the item's size is `size`.

    The total counts towards the item's limit of 400 KB.
    """
    entries = (entry_of(table, index, key, item, size) for index in table.indexes if index.local)
    return sum(entry.size for entry in entries if entry)
