"""CSV with a header that has the type of each column: `pk:S,count:N,tags:SS`.

    S              the text; one that is empty or begins with `"` is written as a JSON string
    N, B           the number, the base64
    BOOL, NULL     true, false
    SS, NS, BS     a JSON array of texts
    L, M           the content as DynamoDB JSON

An empty cell means that the item has no such attribute. An attribute that has several types in a
table has a column for each. In a file from elsewhere, columns have no types. If a type is given for
a column, such as that of a key attribute, it is used. Otherwise each cell is a number if it has the
usual spelling of one, `true`, `false`, or a text.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from hashrange.interfaces.data.files import Input
from hashrange.interfaces.data.items import (
    ITEM_JSON_BYTES_MAX,
    DataError,
    Record,
    WireItem,
    decode,
    encode,
    one_line,
)
from hashrange.model.errors import ApiError
from hashrange.model.numbers import canonical

KINDS = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})
COLUMNS_MAX = 10_000
_FLUSH_CHARACTERS = 1 << 16

Column = tuple[str, str | None]
"""An attribute's name, and its type if it is known."""


class TooManyColumns(DataError):
    def __init__(self) -> None:
        super().__init__(
            f"the items have more than {COLUMNS_MAX:,} attributes, which are too many columns; "
            "take another format"
        )


def columns_of(items: Iterable[bytes]) -> list[Column]:
    """The columns that hold all of the items' attributes, in the order in which they appear."""
    found: dict[Column, None] = {}
    for item in items:
        for name, value in decode(item).items():
            found[name, next(iter(value))] = None
        if len(found) > COLUMNS_MAX:
            raise TooManyColumns
    return list(found)


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    """Reads the items twice: first for the header."""
    columns = columns_of(items)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")  # it quotes cells with either of them
    writer.writerow([f"{name}:{kind}" for name, kind in columns])
    for item in items:
        content = decode(item)
        row = [_cell(content.get(name, {}), kind) for name, kind in columns]
        writer.writerow(row)
        if text.tell() > _FLUSH_CHARACTERS:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def _cell(value: dict[str, Any], kind: str | None) -> str:
    if kind not in value:
        return ""
    content = value[kind]
    if kind == "S":
        return encode(content).decode() if content[:1] in ("", '"') else content
    if kind in ("N", "B") and content:
        return str(content)
    return encode(content).decode()  # an empty binary too: it is ""


def read(source: Input, types: Mapping[str, str]) -> Iterator[Record]:
    """`types` are the types of attributes that the header does not have."""
    csv.field_size_limit(ITEM_JSON_BYTES_MAX)
    lines = _Lines(source)
    rows = csv.reader(lines, strict=True)
    columns: list[Column] = []
    line = 1
    try:
        columns = [_column(cell, types) for cell in next(rows, [])]
        _check(source, columns)
        line = lines.end_row()
        for row in rows:
            if row:
                if len(row) > len(columns):
                    raise ValueError(f"{len(row)} cells, but the header has {len(columns)}")
                yield Record(encode(_item(columns, row)), line)
            line = lines.end_row()
    except DataError:
        raise
    except (csv.Error, ValueError, RecursionError) as error:
        raise DataError(f"{source.name}:{line}: {one_line(error)}") from None


class _Lines:
    """The lines of a file as text, for the csv module, which may need several for a row."""

    def __init__(self, source: Input) -> None:
        self._number = 0
        self._row_characters = 0
        self._source = source
        self._stream = io.TextIOWrapper(
            _Chunked(source),  # type: ignore[type-var]
            encoding="utf-8-sig",
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
        return text

    def end_row(self) -> int:
        """A row is complete. Returns the number of the line where the next one begins."""
        self._row_characters = 0
        return self._number + 1


class _Chunked(io.RawIOBase):
    """The bytes of a file, whose faults are DataErrors."""

    def __init__(self, source: Input) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._source.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def read1(self, size: int = -1) -> bytes:
        return self._source.read(size if size > 0 else 1 << 16)


def _column(cell: str, types: Mapping[str, str]) -> Column:
    name, colon, kind = cell.rpartition(":")
    if colon and kind in KINDS:
        return name, kind
    return cell, types.get(cell)


def _check(source: Input, columns: list[Column]) -> None:
    if not columns:
        return
    if len(columns) > COLUMNS_MAX:
        raise TooManyColumns
    if any(not name for name, _ in columns):
        raise DataError(f"{source.name}:1: a column without a name; the first line is the header")
    if len(set(columns)) < len(columns):
        raise DataError(f"{source.name}:1: two columns have the same name")


def _item(columns: list[Column], row: list[str]) -> WireItem:
    item: WireItem = {}
    for (name, kind), cell in zip(columns, row, strict=False):
        if cell:
            if name in item:
                raise ValueError(f"{name} has two values, of different types")
            item[name] = _value(name, kind, cell)
    return item


def _value(name: str, kind: str | None, cell: str) -> dict[str, Any]:
    if kind is None:
        return _guessed(cell)
    if kind == "S" and cell[0] != '"':
        return {"S": cell}
    if kind in ("N", "B") and cell != '""':
        return {kind: cell}
    try:
        return {kind: msgspec.json.decode(cell, type=_CONTENT[kind])}
    except msgspec.DecodeError as error:
        raise ValueError(f"{name} is not a {kind}: {one_line(error)}") from None


_CONTENT: dict[str, Any] = {
    "S": str,
    "N": str,
    "B": str,
    "BOOL": bool,
    "NULL": bool,
    "SS": list[str],
    "NS": list[str],
    "BS": list[str],
    "L": list[dict[str, Any]],
    "M": dict[str, dict[str, Any]],
}


def _guessed(cell: str) -> dict[str, Any]:
    if cell in ("true", "false"):
        return {"BOOL": cell == "true"}
    try:
        return {"N": cell} if canonical(cell) == cell else {"S": cell}
    except ApiError:
        return {"S": cell}
