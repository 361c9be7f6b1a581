"""DynamoDB JSON lines, as in DynamoDB's own exports.

Each line has an item: `{"Item":{"pk":{"S":"x"}}}`. Every type is kept exactly.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct

from hashrange.interfaces.data.files import Input
from hashrange.interfaces.data.items import DataError, Record, one_line


class _Line(Struct, forbid_unknown_fields=True, gc=False):
    Item: Raw


_decode = msgspec.json.Decoder(_Line).decode


def read(source: Input, line: int = 1) -> Iterator[Record]:
    for number, text in source.lines(line):
        try:
            item = bytes(_decode(text).Item)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise DataError(
                f"{source.name}:{number}: not a line of DynamoDB JSON, "
                f'{{"Item":{{…}}}}: {one_line(error)}'
            ) from None
        if item[:1] != b"{":
            raise DataError(f"{source.name}:{number}: the item is not an object")
        yield Record(item, number)


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    for item in items:
        yield b'{"Item":%b}\n' % item
