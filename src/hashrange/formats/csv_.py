"""CSV with a header that has the type of each column: `pk:S,count:N,tags:SS`.

    S              the string; one that is empty or begins with `"` is written as JSON
    N, B           the number, the base64
    BOOL, NULL     true, false
    SS, NS, BS     a JSON array of strings
    L, M           the content as DynamoDB JSON

An empty cell means that the item lacks the attribute. An attribute with several types in a table
has a column for each type. Files of other programs have no types in the header, and may have
another delimiter (see `csv_columns`).
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from hashrange.formats.csv_columns import Column, Hints, columns_in, delimiter_of
from hashrange.formats.csv_rows import rows
from hashrange.formats.files import Input
from hashrange.formats.items import (
    DataError,
    Record,
    WireItem,
    decode,
    encode,
    one_line,
)

COLUMNS_MAX = 10_000
_FLUSH_CHARACTERS = 1 << 16


class TooManyColumns(DataError):
    def __init__(self) -> None:
        super().__init__(
            f"the items have more than {COLUMNS_MAX:,} attributes, too many for the columns "
            "of a CSV file; use another format"
        )


def columns_of(items: Iterable[bytes]) -> list[Column]:
    """The columns for all attributes of the items, in the order in which they first occur."""
    columns: dict[Column, None] = {}
    for item in items:
        for name, value in decode(item).items():
            columns[name, next(iter(value))] = None
        if len(columns) > COLUMNS_MAX:
            raise TooManyColumns
    return list(columns)


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a CSV file. The items are read twice: first for the header."""
    columns = columns_of(items)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")  # quotes cells that contain \r or \n
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
    return encode(content).decode()  # an empty binary is "" too


def read(source: Input, hints: Hints) -> Iterator[Record]:
    """The items of a CSV file. Raises DataError, for example if a column without a type has cells
    of several types."""
    delimiter = delimiter_of(source, hints)
    columns = columns_in(source, delimiter, hints)
    if len(columns) > COLUMNS_MAX:
        raise TooManyColumns
    numbered = rows(source, delimiter)
    next(numbered, None)
    for line, row in numbered:
        if row:
            try:
                item = encode(_item(columns, row))
            except (ValueError, RecursionError) as error:
                raise DataError(f"{source.name}:{line}: {one_line(error)}") from None
            yield Record(item, line)


def _item(columns: list[Column], row: list[str]) -> WireItem:
    if len(row) > len(columns):
        raise ValueError(f"the row has {len(row)} cells, but the header has {len(columns)}")
    item: WireItem = {}
    for (name, kind), cell in zip(columns, row, strict=False):
        if cell:
            if name in item:
                raise ValueError(f"{name} has two values, of different types")
            item[name] = _value(name, kind, cell)
    return item


def _value(name: str, kind: str, cell: str) -> dict[str, Any]:
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
