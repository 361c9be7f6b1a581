"""The row of an item in a vector index, and the log of the rows that have changed.

    key      digest of the HASH value (16), if there is one | digest of the item's raw key (16)
    value    as in every row: the item's raw key, then the vector as 32-bit little-endian numbers,
             then the values of the filters as a JSON list, if the index has filters

    log key    slot of the store (2) | number (8), see `engine.keyspace.logs`
    log value  as in every row: the key of the changed row as raw key, then the time (8)

A row does not contain the item: a search reads the items that it returns from the table. With a
HASH attribute, the log record of a row is in the slot of the row's HASH value, so that a search
reads one slot. Without a HASH attribute, the records are in sixteen slots. These are enough for
writers seldom to wait for each other, and few enough for a search to read.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct, json

from hashrange import kv
from hashrange.engine.keyspace import logs
from hashrange.engine.keyspace.keys import RowKey, canonical, digest, length_bytes, owner_key
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.engine.vectors import sizes
from hashrange.model import floats
from hashrange.model.limits import PARTITION_KEY_BYTES_MAX
from hashrange.model.tables import Table, VectorIndex
from hashrange.model.values import AttributeValue, Item

_LANE_BITS = 0xF0
SLOTS_WITHOUT_HASH = tuple(kv.slot_of(bytes([lane << 4])) for lane in range(16))


class Entry(Struct, gc=False):
    """An item's entry in a vector index. `size` is in bytes, with vectors in packed form."""

    key: RowKey
    content: bytes
    size: int


class Content(Struct, gc=False):
    """The content of a row: the packed vector, and the value of each filter."""

    packed: bytes
    filters: Sequence[AttributeValue | None]


def entry_of(table: Table, index: VectorIndex, owner: RowKey, item: Item) -> Entry | None:
    """The entry of an item; None if the item has none.

    An item that was written before the index was added may have an unsuitable vector or HASH value.
    """
    packed = vector_in(index, item)
    group = group_of(table, index, item)
    if packed is None or group is None:
        return None
    shown = item if index.projection == "ALL" else projected(table, index, item)
    key = RowKey(group + digest(owner.raw), owner.raw)
    content = packed + _filters(table, index, item)
    return Entry(key, content, sizes.stored_size(table, shown))


def vector_in(index: VectorIndex, item: Item) -> bytes | None:
    """The packed vector of an item; None if the item has no vector that fits the index."""
    value = item.get(index.attribute)
    numbers = None if value is None else floats.numbers_of(value)
    if numbers is None or len(numbers) != index.dimensions or not floats.fits(numbers):
        return None
    return floats.pack(numbers)


def group_of(table: Table, index: VectorIndex, item: Item) -> bytes | None:
    """The start of the keys of all rows with the item's HASH value.

    None if the item has no HASH value that can be a key. Empty if the index has no HASH attribute.
    """
    for name in index.hash:
        value = item.get(name)
        if value is None or not value.get(table.types[name]):
            return None
        if length_bytes(value) > PARTITION_KEY_BYTES_MAX:
            return None
        return group_with([value])
    return b""


def group_with(values: Iterable[AttributeValue]) -> bytes:
    """The start of the keys of all rows with a HASH value.

    `values` has the HASH value. It is empty if the index has no HASH attribute.
    """
    return b"".join(digest(canonical(value)) for value in values)


def projected(table: Table, index: VectorIndex, item: Item) -> Item:
    """The attributes of an item that are in its entry, if the projection is not ALL."""
    names = {*table.key, index.attribute, *index.hash, *index.filters, *index.include}
    return {name: value for name, value in item.items() if name in names}


def _filters(table: Table, index: VectorIndex, item: Item) -> bytes:
    if not index.filters:
        return b""
    return json.encode([_filter(table, name, item) for name in index.filters])


def _filter(table: Table, name: str, item: Item) -> AttributeValue | None:
    value = item.get(name)
    return value if value is not None and table.types[name] in value else None


def owner(table: Table, raw: bytes) -> RowKey:
    """The key of the item to which a row with this raw key belongs."""
    return owner_key(table, raw)


def row_value(entry: Entry) -> bytes:
    return encode_row(entry.key.raw, entry.content, entry.size)


def content_of(index: VectorIndex, row: Row) -> Content:
    end, content = floats.BYTES * index.dimensions, row.json
    return Content(content[:end], json.decode(content[end:]) if index.filters else ())


# ---- the log ----


def slots(index: VectorIndex, group: bytes) -> tuple[int, ...]:
    """The slots of the log that have the records of a group.

    A group is all rows with one HASH value or, without a HASH attribute, all rows.
    """
    return (kv.slot_of(group),) if index.hash else SLOTS_WITHOUT_HASH


def record(index: VectorIndex, key: bytes, milliseconds: int) -> kv.Append:
    """The write of a log record which says that the row `key` has changed."""
    slot = kv.slot_of(key if index.hash else bytes([key[0] & _LANE_BITS]))
    value = encode_row(key, milliseconds.to_bytes(8, "big"), 0)
    return kv.Append(index.log, slot, logs.index_prefix(slot), value)


def changed_key(value: bytes) -> bytes:
    """The key of the row that a log record is about."""
    return Row(value).raw


def time_of(value: bytes) -> int:
    """The time of a log record, in milliseconds."""
    return int.from_bytes(Row(value).json, "big")
