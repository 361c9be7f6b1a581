"""The rows of a CSV file, and the numbers of the lines where they begin."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from hashrange.formats.files import Source, not_utf8
from hashrange.formats.items import ITEM_JSON_BYTES_MAX, DataError, one_line

_undecoded = re.compile("[\udc80-\udcff]").search
"""Finds the character into which `surrogateescape` decodes a byte that is not UTF-8."""


def rows(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows from the beginning of the file, each with the number of its first line.

    Raises DataError.
    """
    csv.field_size_limit(ITEM_JSON_BYTES_MAX)
    source.rewind()
    lines = _Lines(source)
    line = 1
    try:
        for row in csv.reader(lines, strict=True, delimiter=delimiter):
            yield line, row
            line = lines.end_row()
    except csv.Error as error:
        raise DataError(f"{source.name}:{line}: {one_line(error)}") from None


class _Lines:
    """The lines of a file, for the csv module, which may read several lines for one row."""

    def __init__(self, source: Source) -> None:
        self._number = 0
        self._row_characters = 0
        self._source = source
        self._stream = io.TextIOWrapper(
            _Chunked(source),  # type: ignore[type-var]
            encoding="utf-8-sig",
            errors="surrogateescape",
            newline="",
        )

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        text = self._stream.readline(ITEM_JSON_BYTES_MAX)
        if not text:
            raise StopIteration
        self._row_characters += len(text)
        if self._row_characters >= ITEM_JSON_BYTES_MAX:
            raise DataError(
                f"{self._source.name}:{self._number + 1}: the row is longer than "
                f"{ITEM_JSON_BYTES_MAX:,} characters"
            )
        self._number += 1
        if not text.isascii() and (undecoded := _undecoded(text)):
            raise not_utf8(self._source.name, self._number, ord(undecoded[0]) & 0xFF)
        return text

    def end_row(self) -> int:
        """Call this at the end of a row. Returns the number of the line where the next row
        begins."""
        self._row_characters = 0
        return self._number + 1


class _Chunked(io.RawIOBase):
    """The bytes of a file. Raises DataError if they cannot be read."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._source.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def read1(self, size: int = -1) -> bytes:
        return self._source.read(size if size > 0 else 1 << 16)
