"""Keys of rows: partition digest (16 bytes), then order-preserving sort bytes.

    table row   digest(partition key) | component(sort key)?
    index row   digest(index hash attributes) | component(range attribute)* | digest(table key)
    collection  digest(partition key)

A component marks its own end, so that keys of several parts keep their order and `sort = "a"` never
matches `"ab"`. The digest of the table key makes the keys of index rows unique.

A digest is computed from typed, length-prefixed canonical bytes, so that 1 and 1.0 are one key. The
same bytes are kept in each row as its *raw key*. If a row has another raw key than the requested
one, it is reported as damage, never returned.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import Struct

import msgspec

from hashrange import kv
from hashrange.kv import PARTITION_BYTES
from hashrange.model.limits import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.model.values import AttributeValue, Item

_EXPONENT_BIAS = 200
"""Added to the exponent of a number, which is -129 to 126, so that the sum is never negative."""
_NEGATIVE, _ZERO, _POSITIVE = b"\x00", b"\x01", b"\x02"
_TYPES = {"S": b"S", "N": b"N", "B": b"B"}
_head = Struct(">cI").pack
_COMPLEMENT = bytes(255 - byte for byte in range(256))
_digest_of_nothing = blake2b(digest_size=PARTITION_BYTES)
"""A hash object without input. Copying it for each digest takes half the time of a new object."""


def canonical(value: AttributeValue) -> bytes:
    """The bytes that identify a key value: type, length (4 bytes), content."""
    [(type_, content)] = value.items()
    data = b64decode(content) if type_ == "B" else content.encode()
    return _head(_TYPES[type_], len(data)) + data


def length_bytes(value: AttributeValue) -> int:
    """The length in bytes of a key value, for comparison with the limits; 1 for any number."""
    [(type_, content)] = value.items()
    if type_ == "S":
        return len(content) if content.isascii() else len(content.encode())
    return len(b64decode(content)) if type_ == "B" else 1


def raw_key(values: Iterable[AttributeValue]) -> bytes:
    return b"".join(map(canonical, values))


def parse_raw(raw: bytes) -> list[AttributeValue]:
    """The key values in a raw key."""
    values: list[AttributeValue] = []
    at = 0
    while at < len(raw):
        end = at + 5 + int.from_bytes(raw[at + 1 : at + 5], "big")
        type_, data = chr(raw[at]), raw[at + 5 : end]
        values.append({type_: b64encode(data).decode() if type_ == "B" else data.decode()})
        at = end
    return values


def first_of_raw(raw: bytes, count: int) -> bytes:
    """The part of a raw key that has its first `count` values."""
    end = 0
    for _ in range(count):
        end += 5 + int.from_bytes(raw[end + 1 : end + 5], "big")
    return raw[:end]


def digest(raw: bytes) -> bytes:
    hashed = _digest_of_nothing.copy()
    hashed.update(raw)
    return hashed.digest()


def ordered_number(text: str) -> bytes:
    """Encode a canonical number so that the encodings have the order of the numbers.

    An encoding has the sign, the exponent, pairs of digits, and an end. In a negative number every
    byte after the sign is complemented. No encoding is a prefix of another.
    """
    negative = text[0] == "-"
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return _ZERO
    if whole.strip("0"):
        exponent = len(whole.lstrip("0"))
    else:
        exponent = len(fraction.lstrip("0")) - len(fraction)
    digits = digits.rstrip("0")
    if len(digits) % 2:
        digits += "0"
    body = (
        (exponent + _EXPONENT_BIAS).to_bytes(2, "big")
        + bytes([int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2)])
        + b"\x00"
    )
    return _NEGATIVE + body.translate(_COMPLEMENT) if negative else _POSITIVE + body


def prefix_component(value: AttributeValue) -> bytes:
    """The common start of the components of all values that begin with this S or B."""
    [(type_, content)] = value.items()
    data: bytes = b64decode(content) if type_ == "B" else content.encode()
    return data.replace(b"\x00", b"\x00\xff")


def component(value: AttributeValue) -> bytes:
    """The encoding of a value, which keeps the order of values and marks its own end.

    In an S or B, each byte 00 is escaped as 00 FF. The end is 00 01.
    """
    if "S" in value:
        data: bytes = value["S"].encode()
        return data.replace(b"\x00", b"\x00\xff") + b"\x00\x01"
    if "N" in value:
        return ordered_number(value["N"])
    return prefix_component(value) + b"\x00\x01"


class RowKey(msgspec.Struct, gc=False):
    """The key of a row (digest and sort bytes), and its raw key, which identifies the item."""

    key: bytes
    raw: bytes


def partition(values: Sequence[AttributeValue]) -> bytes:
    return digest(raw_key(values))


def table_key(table: Table, item: Item) -> RowKey:
    """The row key in the table of an item with at least the key attributes."""
    raw = canonical(item[table.hash[0]])
    key = digest(raw)
    if table.range:
        sort = item[table.range[0]]
        raw += canonical(sort)
        key += component(sort)
    return RowKey(key, raw)


def owner_key(table: Table, raw: bytes) -> RowKey:
    """The row key of the item with this raw key."""
    return table_key(table, dict(zip(table.key, parse_raw(raw), strict=True)))


def collection_key(table: Table, key: RowKey) -> kv.Key:
    """The key of the row that has the size of the item's collection.

    The table must have local indexes.
    """
    assert table.collections is not None
    return table.collections, key.key[:PARTITION_BYTES]


def index_key(table: Table, index: Index, item: Item, owner: RowKey) -> RowKey | None:
    """The row key of an item's entry in an index. `owner` is the row key of the item.

    None if the item lacks a key attribute of the index, or has a value in it that cannot be a key.
    An item that was written before the index was added may have such a value.
    """
    types, raw, sort = table.types, b"", b""
    for name in index.hash:
        value = item.get(name)
        if value is None or not value.get(types[name]):
            return None
        raw += canonical(value)
    hash_raw = raw
    for name in index.range:
        value = item.get(name)
        if value is None or not value.get(types[name]):
            return None
        raw += canonical(value)
        sort += component(value)
    # If all parts together are short, then so is each.
    if len(raw) > SORT_KEY_BYTES_MAX and not _are_short(index, item):
        return None
    return RowKey(digest(hash_raw) + sort + digest(owner.raw), raw + owner.raw)


def _are_short(index: Index, item: Item) -> bool:
    """Whether an item's values for the key attributes of an index are within the size limits."""
    longest = max(length_bytes(item[name]) for name in index.hash)
    total = sum(length_bytes(item[name]) for name in index.range)
    return longest <= PARTITION_KEY_BYTES_MAX and total <= SORT_KEY_BYTES_MAX


def start_key(table: Table, source: TableOrIndex, key: Item) -> bytes:
    """The key of the row that an ExclusiveStartKey or LastEvaluatedKey of `source` identifies."""
    owner = table_key(table, key)
    if not isinstance(source, Index):
        return owner.key
    entry = index_key(table, source, key, owner)
    assert entry, "a starting key must have all key attributes"
    return entry.key


def key_item(table: Table, source: TableOrIndex, raw: bytes) -> Item:
    """The key attributes in a raw key. The raw key of an index entry also has the table's key."""
    names = source.key + table.key if isinstance(source, Index) else table.key
    return dict(zip(names, parse_raw(raw), strict=True))


def owner_raw(source: TableOrIndex, raw: bytes) -> bytes:
    """The raw key of an item, which is the end of its index entry's raw key."""
    at = 0
    for _ in source.key:
        at += 5 + int.from_bytes(raw[at + 1 : at + 5], "big")
    return raw[at:]
