"""The value of a row: crc32 (4) | weight (4) | raw key's length (2) | raw key | item as JSON.

The checksum covers everything after it. The weight is the size in bytes of the item, or of the
index entry, by DynamoDB's rules. It is the only part of a value that stores read.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw
from zlib_ng.zlib_ng import crc32

from hashrange.engine.keyspace.keys import RowKey
from hashrange.model.values import Item

_SIZES = struct.Struct(">IH")
_HEAD = struct.Struct(">IIH")
_RAW_AT = _HEAD.size
_head = _HEAD.unpack_from
encode_item: Callable[[Item], bytes] = msgspec.json.Encoder().encode
"""Encodes an item as the JSON that a row stores."""
_decode = msgspec.json.Decoder(dict[str, dict[str, Any]]).decode


def encode_row(raw: bytes, item: bytes, size_bytes: int) -> bytes:
    body = b"%b%b%b" % (_SIZES.pack(size_bytes, len(raw)), raw, item)
    return crc32(body).to_bytes(4, "big") + body


class DamagedRow(Exception):
    """A row's bytes have changed since they were written, or are stored under another row's key."""


def check(value: bytes) -> None:
    """Raises DamagedRow unless the checksum at the start of a value is that of the other bytes."""
    if crc32(value[4:]) != int.from_bytes(value[:4], "big"):
        raise _wrong_checksum()


def _wrong_checksum() -> DamagedRow:
    return DamagedRow("a row's checksum is wrong")


def _cut_short() -> DamagedRow:
    return DamagedRow("a row is cut short")


class Row:
    """A stored row. `json` is the item as stored; `item` is decoded when it is first needed.

    The constructor raises DamagedRow.
    """

    __slots__ = ("_item", "_item_at", "_value", "size", "stored_bytes")

    def __init__(self, value: bytes) -> None:
        try:
            checksum, self.size, raw_length = _head(value)
        except struct.error:
            raise _cut_short() from None
        if crc32(value[4:]) != checksum:
            raise _wrong_checksum()
        self._item_at = _RAW_AT + raw_length
        self._value = value
        self.stored_bytes = len(value)
        self._item: Item | None = None

    @property
    def raw(self) -> bytes:
        return self._value[_RAW_AT : self._item_at]

    @property
    def json(self) -> bytes:
        return self._value[self._item_at :]

    @property
    def item(self) -> Item:
        if self._item is None:
            self._item = _decode(self.json)
        return self._item

    def forget(self) -> None:
        """Free the decoded item. It is decoded again when it is needed."""
        self._item = None


def contents(stored: Sequence[tuple[bytes, bytes]]) -> tuple[list[int], list[Raw]]:
    """The sizes of stored rows by DynamoDB's rules, in bytes, and the items of the rows as JSON.

    This is faster than making a `Row` of each row; a page may have thousands of rows.
    """
    sizes, items = [], []
    try:
        for _, value in stored:
            checksum, size, raw_length = _head(value)
            if crc32(value[4:]) != checksum:
                raise _wrong_checksum()
            sizes.append(size)
            items.append(Raw(value[_RAW_AT + raw_length :]))
    except struct.error:
        raise _cut_short() from None
    return sizes, items


def row_at(key: RowKey, value: bytes | None) -> Row | None:
    """The row with the key `key` and this value; None if the value is None.

    Raises DamagedRow if the value is that of another row.
    """
    if value is None:
        return None
    row = Row(value)
    if value[_RAW_AT : row._item_at] != key.raw:
        raise DamagedRow("a row is stored under another row's key")
    return row
