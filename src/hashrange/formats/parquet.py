"""Parquet, written and read by pyarrow: a column for each attribute and each of its types.

    S, B, BOOL     string, binary, bool
    N              int64 if all numbers of the column fit; else decimal128 if they do; else string
    SS, BS         lists of strings and of binary
    NS             a list of strings
    NULL           bool, true where the attribute is null
    L, M           string: the content as DynamoDB JSON

A column's metadata `dynamodb` has its type and its attribute's name. A column of another program,
without this metadata, is read by its Parquet type: numbers, strings, binary, booleans, times (as
ISO strings), lists and structs. A null means that the item lacks the attribute.
"""

import datetime
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import msgspec

from hashrange.formats.csv_ import COLUMNS_MAX, TooManyColumns
from hashrange.formats.files import Input
from hashrange.formats.items import (
    DataError,
    Record,
    WireItem,
    decode,
    encode,
    one_line,
)
from hashrange.formats.parquet_sizes import opened, pieces, rows_at_once

GROUP_ROWS = 20_000
GROUP_BYTES = 32 * 1024 * 1024
_META = b"dynamodb"
_INT64 = range(-(1 << 63), 1 << 63)
_DECIMAL_DIGITS = 38


def library() -> Any:
    """Import pyarrow. Raises DataError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError("Parquet needs pyarrow: pip install 'hashrange[parquet]'") from None
    return pyarrow


class _Column:
    """An attribute's values of one DynamoDB type, and the facts that determine the Parquet type."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.integers = True
        self.whole = 0
        self.fraction = 0

    def note(self, text: str) -> None:
        """Note a number of the column, which may affect the Parquet type."""
        whole, _, fraction = text.lstrip("-").partition(".")
        self.whole = max(self.whole, len(whole))
        self.fraction = max(self.fraction, len(fraction))
        self.integers &= not fraction and (len(whole) < 19 or int(text) in _INT64)

    def type(self, arrow: Any) -> Any:
        if self.kind == "N":
            if self.integers:
                return arrow.int64()
            digits = self.whole + self.fraction
            if digits <= _DECIMAL_DIGITS:
                return arrow.decimal128(digits, self.fraction)
            return arrow.string()
        return {
            "B": arrow.binary(),
            "BOOL": arrow.bool_(),
            "NULL": arrow.bool_(),
            "SS": arrow.list_(arrow.string()),
            "NS": arrow.list_(arrow.string()),
            "BS": arrow.list_(arrow.binary()),
        }.get(self.kind, arrow.string())

    def cell(self, value: dict[str, Any], number: Any) -> Any:
        if self.kind not in value:
            return None
        content = value[self.kind]
        match self.kind:
            case "N":
                return number(content)
            case "B":
                return b64decode(content)
            case "BS":
                return [b64decode(each) for each in content]
            case "L" | "M":
                return encode(content).decode()
            case _:
                return content


def _columns(items: Iterable[bytes]) -> list[_Column]:
    columns: dict[tuple[str, str], _Column] = {}
    for item in items:
        for name, value in decode(item).items():
            [(kind, content)] = value.items()
            column = columns.get((name, kind))
            if column is None:
                column = columns[name, kind] = _Column(name, kind)
                if len(columns) > COLUMNS_MAX:
                    raise TooManyColumns
            if kind == "N":
                column.note(content)
    return list(columns.values())


def _fields(columns: list[_Column], arrow: Any) -> list[Any]:
    names = [column.name for column in columns]
    fields = []
    for column in columns:
        several = names.count(column.name) > 1
        meta = encode({"type": column.kind, "attribute": column.name})
        fields.append(
            arrow.field(
                f"{column.name}:{column.kind}" if several else column.name,
                column.type(arrow),
                metadata={_META: meta},
            )
        )
    return fields


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a Parquet file. The items are read twice: first for the columns."""
    arrow = library()
    columns = _columns(items)
    fields = _fields(columns, arrow)
    # A file needs at least one column, even if the table is empty.
    schema = arrow.schema(fields or [arrow.field("empty", arrow.bool_())])
    sink = _Sink()
    with arrow.parquet.ParquetWriter(arrow.PythonFile(sink, mode="w"), schema) as writer:
        rest = iter(items)
        while group := _group(rest):
            arrays = [
                arrow.array(
                    [column.cell(item.get(column.name, {}), _number(field)) for item in group],
                    type=field.type,
                )
                for column, field in zip(columns, fields, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def _number(field: Any) -> Any:
    if str(field.type) == "int64":
        return int
    return Decimal if str(field.type).startswith("decimal") else str


def _group(rest: Iterator[bytes]) -> list[WireItem]:
    group: list[WireItem] = []
    size = 0
    while size < GROUP_BYTES and len(group) < GROUP_ROWS:
        item = next(rest, None)
        if item is None:
            break
        group.append(decode(item))
        size += len(item)
    return group


class _Sink:
    """An output file for pyarrow. `take` returns the bytes written since its last call."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def read(source: Input) -> Iterator[Record]:
    arrow = library()
    try:
        file = opened(arrow, source.path)
        kinds = [_known(field) for field in file.schema_arrow]
        names = file.schema_arrow.names
        rows = rows_at_once(file.metadata, any(kinds))
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{source.name}: not a Parquet file: {one_line(error)}") from None
    number = 0
    with file:
        batches = file.iter_batches(batch_size=rows)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                parts = list(pieces(arrow, batch))
            except (arrow.ArrowException, OSError, ValueError) as error:
                raise DataError(f"{source.name}: damaged: {one_line(error)}") from None
            for part in parts:
                try:
                    columns = [part.column(at).to_pylist() for at in range(part.num_columns)]
                except (arrow.ArrowException, ValueError, OverflowError) as error:
                    # Times beyond the year 9999 and texts that are not UTF-8 are found here.
                    raise DataError(f"{source.name}: damaged: {one_line(error)}") from None
                for at in range(part.num_rows):
                    number += 1
                    try:
                        item = _item(names, kinds, columns, at)
                    except (ValueError, TypeError, RecursionError) as error:
                        where = f"{source.name}: row {number:,}"
                        raise DataError(f"{where}: {one_line(error)}") from None
                    yield Record(encode(item), number)


class _Meta(msgspec.Struct):
    attribute: str
    type: str


def _known(field: Any) -> tuple[str, str] | None:
    """The attribute's name and type, if hashrange wrote the column; otherwise None."""
    meta = (field.metadata or {}).get(_META)
    if meta is None:
        return None
    known = msgspec.json.decode(meta, type=_Meta)
    return known.attribute, known.type


def _item(
    names: list[str], kinds: list[tuple[str, str] | None], columns: list[list[Any]], at: int
) -> WireItem:
    item: WireItem = {}
    for name, known, column in zip(names, kinds, columns, strict=True):
        cell = column[at]
        if cell is None:
            continue
        if known is None:
            item[name] = _foreign(name, cell)
        else:
            attribute, kind = known
            item[attribute] = {kind: _content(kind, cell)}
    return item


def _content(kind: str, cell: Any) -> Any:
    match kind:
        case "N":
            return _digits(cell)
        case "B":
            return b64encode(cell).decode()
        case "BS":
            return [b64encode(each).decode() for each in cell]
        case "L" | "M":
            return msgspec.json.decode(cell)
        case _:
            return cell


def _digits(number: Any) -> str:
    return f"{number:f}" if isinstance(number, Decimal) else str(number)


def _foreign(name: str, cell: Any) -> dict[str, Any]:
    match cell:
        case bool():
            return {"BOOL": cell}
        case int() | Decimal():
            return {"N": _digits(cell)}
        case float():
            if cell != cell or cell in (float("inf"), float("-inf")):
                raise ValueError(f"{name}: {cell} is not a number that DynamoDB can store")
            return {"N": repr(cell)}
        case str():
            return {"S": cell}
        case bytes():
            return {"B": b64encode(cell).decode()}
        case datetime.datetime() | datetime.date() | datetime.time():
            return {"S": cell.isoformat()}
        case list():
            return {"L": [_foreign(name, each) for each in cell if each is not None]}
        case dict():
            return {
                "M": {key: _foreign(name, each) for key, each in cell.items() if each is not None}
            }
        case _:
            raise ValueError(f"{name}: a {type(cell).__name__} is not an attribute value")
