"""Plain JSON: an array of objects, or one object per line, with values as in `plain`."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from hashrange.formats.files import Input, not_utf8
from hashrange.formats.items import (
    ITEM_JSON_BYTES_MAX,
    DataError,
    Record,
    decode,
    encode,
    one_line,
)
from hashrange.formats.plain import NotPlain, Number, from_plain, to_plain

_SPACE = " \t\r\n"


def _no_number(text: str) -> Any:
    raise NotPlain(f"{text} is not a number that DynamoDB can store")


_decoder = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_no_number)
_FAULTS = (ValueError, RecursionError)


def read_lines(source: Input, line: int = 1) -> Iterator[Record]:
    for number, text in source.lines(line):
        try:
            item = encode(from_plain(_decoder.decode(text.decode())))
        except UnicodeDecodeError as error:
            raise not_utf8(source.name, number, text[error.start]) from None
        except _FAULTS as error:
            raise DataError(
                f"{source.name}:{number}: not an item in JSON: {_what(error)}"
            ) from None
        yield Record(item, number)


def read_array(source: Input) -> Iterator[Record]:
    text = _Text(source)
    if text.skip(_SPACE) != "[":
        raise text.fault("not an array of JSON objects")
    text.advance(1)
    first = True
    while (character := text.skip(_SPACE)) != "]":
        if not first:
            if character != ",":
                raise text.fault(
                    "the array is cut short" if not character else "a comma is missing"
                )
            text.advance(1)
            text.skip(_SPACE)
        first = False
        line = text.line
        yield Record(text.item(), line)
    text.advance(1)
    if text.skip(_SPACE):
        raise text.fault("there is text after the end of the array")


class _Text:
    """A window that moves forward over the text of a file."""

    def __init__(self, source: Input) -> None:
        self.line = 1
        self._source = source
        self._chunks = source.chunks()
        self._decoder = _utf8()
        self._window = ""
        self._at = 0
        self._ended = False

    def fault(self, message: str) -> DataError:
        return DataError(f"{self._source.name}:{self.line}: {message}")

    def skip(self, letters: str) -> str:
        """Skip these characters, and return the next one, or "" at the end of the file."""
        while True:
            rest = self._window[self._at : self._at + 64]
            left = rest.lstrip(letters)
            self.advance(len(rest) - len(left))
            if left:
                return left[0]
            if self._at >= len(self._window) and not self._more():
                return ""

    def advance(self, count: int) -> None:
        self.line += self._window.count("\n", self._at, self._at + count)
        self._at += count

    def item(self) -> bytes:
        """Read the object that begins at the next character."""
        while True:
            try:
                content, end = _decoder.raw_decode(self._window, self._at)
                item = encode(from_plain(content))
            except json.JSONDecodeError as error:
                if len(self._window) - self._at > ITEM_JSON_BYTES_MAX:
                    raise self.fault(f"not an item in JSON: {_what(error)}") from None
                if not self._more():
                    self.advance(error.pos - self._at)
                    raise self.fault(f"not an item in JSON, or cut short: {error.msg}") from None
            except _FAULTS as error:
                raise self.fault(f"not an item in JSON: {_what(error)}") from None
            else:
                self.advance(end - self._at)
                return item

    def _more(self) -> bool:
        """Read more of the file into the window. Returns False at the end of the file."""
        if self._ended:
            return False
        chunk = next(self._chunks, b"")
        self._ended = not chunk
        try:
            text = self._decoder.decode(chunk, self._ended)
        except UnicodeDecodeError as error:
            before = self._window.count("\n", self._at) + error.object.count(b"\n", 0, error.start)
            byte = error.object[error.start]
            raise not_utf8(self._source.name, self.line + before, byte) from None
        self._window = self._window[self._at :] + text
        self._at = 0
        return not self._ended


def _utf8() -> Any:
    import codecs

    return codecs.getincrementaldecoder("utf-8-sig")()


def _what(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return one_line(error)


_encode = msgspec.json.Encoder().encode


def _object(item: bytes) -> bytes:
    return _encode(to_plain(decode(item), lambda text: Raw(text.encode())))


def write_lines(items: Iterable[bytes]) -> Iterator[bytes]:
    for item in items:
        yield _object(item) + b"\n"


def write_array(items: Iterable[bytes]) -> Iterator[bytes]:
    separator = b"[\n"
    for item in items:
        yield separator + _object(item)
        separator = b",\n"
    yield b"\n]\n" if separator == b",\n" else b"[]\n"
