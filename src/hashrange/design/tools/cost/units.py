"""DynamoDB's arithmetic of capacity units, as the developer guide explains it.

A read takes one unit for each 4 KB, or half a unit if it is eventually consistent. A write takes
one unit for each 1 KB. The size is rounded up for each item that is read by its key, but only once
for a page of a Query.
"""

import math
from collections.abc import Mapping

from hashrange.design.declare.schema import Source
from hashrange.design.declare.table_model import TableModel
from hashrange.model import floats, limits
from hashrange.model.values import Item, equal, item_size, value_size

TABLE = "table"
OVERHEAD_BYTES = 100
"""The bytes that DynamoDB adds to the size of each stored item and index entry."""


def read_units(size: float, consistent: bool) -> float:
    """The read units for one item, or one page, of `size` bytes. 0 bytes cost as much as 1 byte."""
    units = max(1, math.ceil(size / limits.READ_UNIT_BYTES))
    return units if consistent else units / 2


def page_units(items: float, size: float, consistent: bool) -> tuple[float, int]:
    """(units, pages) of a Query that reads `items` items of `size` bytes on average.

    A page ends with the item that takes it beyond 1 MB.
    """
    a_page = int(limits.PAGE_BYTES_MAX // size) + 1 if size else math.inf
    if items <= a_page:
        return read_units(items * size, consistent), 1
    pages = math.ceil(items / a_page)
    last = items - (pages - 1) * a_page
    units = (pages - 1) * read_units(a_page * size, consistent)
    return units + read_units(last * size, consistent), pages


def write_units(size: float) -> int:
    return max(1, math.ceil(size / limits.WRITE_UNIT_BYTES))


def entry(model: TableModel, source: Source, item: Item | None) -> Item | None:
    """The item's entry in the index `source`; None if the index leaves the item out."""
    if item is None or any(column.attribute not in item for column in source.columns):
        return None
    if source.project == "ALL":
        return item
    names = {column.attribute for column in (*model.table.columns, *source.columns)}
    if source.project != "KEYS_ONLY":
        names |= set(source.project)
    return {name: value for name, value in item.items() if name in names}


def stored_size(model: TableModel, item: Item) -> int:
    """The bytes of an item that writes and storage are charged for.

    Each number of a vector in an index counts as four bytes.
    """
    size = item_size(item)
    for attribute, vector in {index.attribute: index for index in model.vectors}.items():
        if attribute in item and all(c.attribute in item for c in vector.partition):
            size += floats.BYTES * vector.dimensions - value_size(item[attribute])
    return size


def charges(
    model: TableModel, old: Item | None, new: Item | None, *, transaction: bool
) -> dict[str, float]:
    """The write units of one item's change, in the table and in each index.

    A transaction doubles the units of the table, but not those of the indexes.
    """
    sizes = [stored_size(model, item) for item in (old, new) if item is not None]
    units = write_units(max(sizes, default=0))
    charges: dict[str, float] = {TABLE: units * (2 if transaction else 1)}
    for source in model.indexes:
        charged = _index_charge(source, entry(model, source, old), entry(model, source, new))
        if charged:
            charges[str(source.name)] = charged
    return charges


def _index_charge(source: Source, old: Item | None, new: Item | None) -> float:
    sizes = [item_size(item) for item in (old, new) if item is not None]
    if not sizes:
        return 0
    if old is None or new is None:
        return write_units(sizes[0])
    if any(not equal(old[c.attribute], new[c.attribute]) for c in source.columns):
        return write_units(sizes[0]) + write_units(sizes[1])
    return 0 if equal({"M": old}, {"M": new}) else write_units(max(sizes))


def added(*all_charges: Mapping[str, float]) -> dict[str, float]:
    """The sum of charges, by table and index."""
    total: dict[str, float] = {}
    for one in all_charges:
        for name, units in one.items():
            total[name] = total.get(name, 0) + units
    return total
