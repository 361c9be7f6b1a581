"""Index entries: what an index shows of an item, and the row that holds it."""

from msgspec import Struct

from hashrange import kv
from hashrange.engine.keyspace.keys import RowKey, index_key
from hashrange.engine.keyspace.rows import encode_item, encode_row
from hashrange.model.tables import Index, Table
from hashrange.model.values import Item, item_size


class Entry(Struct, gc=False):
    """An index row: where it is, the item's view that it shows, and that view's size."""

    key: RowKey
    view: Item
    size: int


def entry(table: Table, index: Index, key: RowKey, item: Item) -> Entry | None:
    """The index row of an item; None where the item lacks a key attribute of the index."""
    row_key = index_key(table, index, item, key)
    if row_key is None:
        return None
    view = project(table, index, item)
    return Entry(row_key, view, item_size(view))


def project(table: Table, index: Index, item: Item) -> Item:
    """The attributes that an index shows of an item: its keys, the table's, the projected."""
    if index.projection == "ALL":
        return item
    names = {*table.key, *index.key, *index.include}
    return {name: value for name, value in item.items() if name in names}


def put_entry(index: Index, entry: Entry) -> kv.Put:
    value = encode_row(entry.key.raw, encode_item(entry.view), entry.size)
    return kv.Put(index.space, entry.key.key, value)


def local_size(table: Table, key: RowKey, item: Item) -> int:
    """Bytes of an item's entries in local indexes, which count towards its 400 KB."""
    found = (entry(table, index, key, item) for index in table.indexes if index.local)
    return sum(entry.size for entry in found if entry)
