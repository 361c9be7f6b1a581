"""The size of an item as its table stores it: an indexed vector has four bytes a dimension.

Writes and TableSizeBytes are counted so. Reads, and the limit of 400 KB, count the numbers of the
list as they were sent. Seen on the service in October 2026.
"""

from hashrange.model import floats
from hashrange.model.tables import Table
from hashrange.model.values import Item, text_size, value_size


def stored_size(table: Table, item: Item) -> int:
    """The size in bytes of an item, or of the part of it that an index shows."""
    size = 0
    for name, value in item.items():
        dimensions = _indexed_dimensions(table, name, item)
        size += text_size(name)
        size += value_size(value) if dimensions is None else floats.BYTES * dimensions
    return size


def _indexed_dimensions(table: Table, name: str, item: Item) -> int | None:
    """The dimensions of an attribute because of which an index has an entry for the item."""
    for index in table.vector_indexes:
        if (
            index.attribute == name
            and len(item[name].get("L", ())) == index.dimensions
            and all(item.get(key, {}).get(table.types[key]) for key in index.hash)
        ):
            return index.dimensions
    return None
