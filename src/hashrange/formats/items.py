"""Items in files, and the error for data that cannot be read or written."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

WireItem = dict[str, dict[str, Any]]
"""An item in DynamoDB's JSON: maps names to {type: content}, with base64 text for binary."""

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, dict[str, Any]]).decode

ITEM_JSON_BYTES_MAX = 8 * 1024 * 1024
"""The longest JSON text of one item. An item of 400 KB takes less than half of this size, even if
all of its characters are escaped."""


class DataError(Exception):
    """Data cannot be read or written. The message is one line for the user."""


class Record(Struct, frozen=True, gc=False):
    """An item from a file: its DynamoDB JSON, and the number of the line or value where it begins.

    With `delete`, `item` is the key of an item to delete. `condition` has the condition of a put,
    as members of a PutItem request, each preceded by a comma.
    """

    item: bytes
    line: int
    delete: bool = False
    condition: bytes = b""


def decode(item: bytes) -> WireItem:
    """Decode the DynamoDB JSON of an item."""
    return _decode(item)


def shown(item: bytes, names: Iterable[str]) -> str:
    """The key of an item as JSON, for a message. `names` are the key attributes."""
    content = decode(item)
    return encode({name: content[name] for name in names if name in content}).decode()


def one_line(text: object) -> str:
    """A message of another program on one line: line breaks and control characters become
    spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text)).strip()
