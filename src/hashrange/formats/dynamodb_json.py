"""DynamoDB JSON lines, as in DynamoDB's own exports.

Each line has an item: `{"Item":{"pk":{"S":"x"}}}`. Every type is kept exactly.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import msgspec
from msgspec import Raw, Struct

from hashrange.formats.files import Source
from hashrange.formats.items import ITEM_JSON_BYTES_MAX, DataError, Record, one_line

NONE = Raw(b"")


class _Line(Struct, forbid_unknown_fields=True, gc=False):
    Item: Raw


class _Put(_Line, forbid_unknown_fields=True, gc=False):
    ConditionExpression: Raw = NONE
    ExpressionAttributeNames: Raw = NONE
    ExpressionAttributeValues: Raw = NONE


_decode = msgspec.json.Decoder(_Line).decode
_decode_put = msgspec.json.Decoder(_Put).decode
_CONDITION = ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")


_decode_any = msgspec.json.Decoder(Raw).decode
_structure = re.compile(rb'[\\"{}]').finditer


def read(source: Source, line: int = 1) -> Iterator[Record]:
    for number, text in source.lines(line):
        yield _record(source, number, text)


def _record(source: Source, number: int, text: bytes) -> Record:
    try:
        item = bytes(_decode(text).Item)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DataError(
            f"{source.name}:{number}: not a line of DynamoDB JSON, "
            f'{{"Item":{{…}}}}: {one_line(error)}'
        ) from None
    if item[:1] != b"{":
        raise DataError(f"{source.name}:{number}: the item is not an object")
    return Record(item, number)


def _put(source: Source, number: int, text: bytes) -> Record:
    """A record with an item and, if there is one, the condition of its put."""
    try:
        record = _record(source, number, text)
    except DataError:
        try:
            put = _decode_put(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
        else:
            members = ((name, bytes(getattr(put, name))) for name in _CONDITION)
            parts = [b',"%b":%b' % (name.encode(), value) for name, value in members if value]
            return Record(bytes(put.Item), number, condition=b"".join(parts))
        raise
    return record


def read_values(source: Source, conditions: bool = False) -> Iterator[Record | DataError]:
    """Read JSON values, which may share lines or take several, as the service's import does.

    Yields a DataError in place of the record for a value that is not an item. Raises DataError for
    text that is not JSON, because the beginning of the next value is not known. With `conditions`,
    an item may have a condition.
    """
    read = _put if conditions else _record
    cutter = _Cutter()
    for number, text in source.lines():
        if not cutter.begun:
            try:
                yield read(source, number, text)
                continue  # the usual case: the value has a line of its own
            except DataError:
                pass
        for first, value in cutter.objects(number, text):
            yield _record_or_error(read, source, first, value)
        if cutter.lost or len(cutter.begun) > ITEM_JSON_BYTES_MAX:
            break
    if cutter.begun:
        yield _record_or_error(read, source, cutter.first, bytes(cutter.begun))


def _record_or_error(
    read: Callable[[Source, int, bytes], Record], source: Source, number: int, text: bytes
) -> Record | DataError:
    """The record in a text. Returns a DataError if the text is JSON but not an item, and raises it
    if the text is not JSON."""
    try:
        return read(source, number, text)
    except DataError as error:
        with suppress(msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            _decode_any(text)
            return error
        raise


class _Cutter:
    """Cuts lines into JSON objects. `begun` is the text of an unfinished object, from line `first`
    on.

    The cutter is `lost` if there is anything but white space between two objects.
    """

    def __init__(self) -> None:
        self.begun = bytearray()
        self.first = 0
        self.lost = False
        self._depth = 0
        self._in_string = False

    def objects(self, number: int, text: bytes) -> Iterator[tuple[int, bytes]]:
        start, skipped = 0, -1
        for match in _structure(text):
            letter, at = match[0], match.start()
            if at == skipped:
                continue
            if self._in_string:
                self._in_string = letter != b'"'
                skipped = at + 1 if letter == b"\\" else -1
            elif self._depth == 0 and (letter != b"{" or text[start:at].strip()):
                self.lost = True
                break
            elif letter == b"{":
                self.first = self.first if self._depth else number
                self._depth += 1
            elif letter == b"}":
                self._depth -= 1
                if self._depth == 0:
                    yield self.first, bytes(self.begun + text[start : at + 1])
                    self.begun.clear()
                    start = at + 1
            else:
                self._in_string = letter == b'"'
        rest = text[start:]
        if self.begun or rest.strip():
            self.first = self.first if self._depth else number
            self.begun += rest + b"\n"
        self.lost = self.lost or (self._depth == 0 and bool(self.begun))


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    for item in items:
        yield b'{"Item":%b}\n' % item
