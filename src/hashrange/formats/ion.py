"""Amazon Ion, as in the service's exports and imports: `{Item:{pk:"x",n:12.}}` for each item.

    S, BOOL, NULL     string, bool, null
    N                 decimal, or an integer
    B                 blob
    SS, NS, BS        a list with the annotation $dynamodb_SS, $dynamodb_NS, $dynamodb_BS
    L, M              list, struct

Source: developer guide, "DynamoDB table export output format". The library reads text Ion and
binary Ion, and decimals of any precision.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import msgspec

from hashrange.formats.files import Source
from hashrange.formats.items import (
    ITEM_JSON_BYTES_MAX,
    DataError,
    Record,
    decode,
    encode,
    one_line,
)

HEAD = b"$ion_1_0 "
_SETS = {"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}
_ELEMENTS = {"SS": "S", "NS": "N", "BS": "B"}
_DEPTH_MAX = 100
_exactly = Context(prec=200, Emax=999_999, Emin=-999_999)


def library() -> Any:
    """Import the library amazon.ion. Raises DataError if it is not installed."""
    try:
        from amazon.ion import simpleion
    except ModuleNotFoundError:
        raise DataError("Ion needs amazon.ion: pip install 'hashrange[transfers]'") from None
    return simpleion


class _Bounded:
    """A source that raises DataError if a single value has too many bytes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.since = 0

    def read(self, size: int = 1 << 16) -> bytes:
        chunk = self._source.read(size if size > 0 else 1 << 16)
        self.since += len(chunk)
        if self.since > 2 * ITEM_JSON_BYTES_MAX:
            raise DataError(
                f"{self._source.name}: a value is longer than {ITEM_JSON_BYTES_MAX:,} bytes"
            )
        return chunk


def read_values(source: Source, conditions: bool = False) -> Iterator[Record | DataError]:
    """Like `dynamodb_json.read_values`, for Ion. The number of a record counts values, not
    lines."""
    simpleion = library()
    stream = _Bounded(source)
    number = 0
    values = simpleion.load(stream, single_value=False, parse_eagerly=False)
    while True:
        number += 1
        try:
            value = next(values)
        except StopIteration:
            return
        except (DataError, MemoryError):
            raise
        except Exception as error:  # of many kinds, for text that is not Ion
            raise DataError(f"{source.name}:{number}: not Ion: {one_line(error)[:200]}") from None
        stream.since = 0
        try:
            members = _members(value)
            condition = _condition(members) if conditions else b""
            yield Record(encode(_item(members)), number, condition=condition)
        except (ValueError, RecursionError) as error:
            yield DataError(f"{source.name}:{number}: {one_line(error)[:200]}")


def read(source: Source) -> Iterator[Record]:
    """The items of a file. Raises DataError for a value that is not an item."""
    for record in read_values(source):
        if isinstance(record, DataError):
            raise record
        yield record


def _condition(members: dict[str, Any]) -> bytes:
    """Removes the condition of a record from `members`, and returns it as JSON members, each
    preceded by a comma."""
    condition: dict[str, Any] = {}
    if "ConditionExpression" in members:
        condition["ConditionExpression"] = str(members.pop("ConditionExpression"))
    if "ExpressionAttributeNames" in members:
        names = _members(members.pop("ExpressionAttributeNames"))
        condition["ExpressionAttributeNames"] = {name: str(part) for name, part in names.items()}
    if "ExpressionAttributeValues" in members:
        values = _members(members.pop("ExpressionAttributeValues"))
        condition["ExpressionAttributeValues"] = {
            name: _wire(part, 1) for name, part in values.items()
        }
    return b"," + encode(condition)[1:-1] if condition else b""


def _item(content: dict[str, Any]) -> dict[str, Any]:
    if list(content) != ["Item"]:
        raise ValueError("not a struct with the single field Item")
    return {name: _wire(part, 1) for name, part in _members(content["Item"]).items()}


def _members(value: Any) -> dict[str, Any]:
    if getattr(value, "ion_type", None) is None or value.ion_type.name != "STRUCT":
        raise ValueError("not a struct")
    return {str(name): part for name, part in value.items()}


def _wire(value: Any, level: int) -> dict[str, Any]:
    """An Ion value as DynamoDB JSON. `level` is its nesting level. Raises ValueError."""
    if level > _DEPTH_MAX:
        raise ValueError("a value is nested too deeply")
    kind = value.ion_type.name
    if kind == "NULL" or type(value).__name__ == "IonPyNull":  # each type has a null
        return {"NULL": True}
    notes = [note.text for note in value.ion_annotations]
    if kind == "LIST" and notes and notes[0] in _SETS:
        type_ = _SETS[notes[0]]
        elements = [_wire(each, level + 1) for each in value]
        if any(list(each) != [_ELEMENTS[type_]] for each in elements):
            raise ValueError(f"a set of type {type_} has an element of another type")
        return {type_: [next(iter(each.values())) for each in elements]}
    match kind:
        case "STRING" | "SYMBOL":
            return {"S": str(value if kind == "STRING" else value.text)}
        case "INT" | "DECIMAL":
            return {"N": _number(value)}
        case "BOOL":
            return {"BOOL": bool(value)}
        case "BLOB" | "CLOB":
            return {"B": base64.b64encode(bytes(value)).decode()}
        case "LIST" | "SEXP":
            return {"L": [_wire(each, level + 1) for each in value]}
        case "STRUCT":
            return {"M": {name: _wire(part, level + 1) for name, part in _members(value).items()}}
    raise ValueError(f"a value has the Ion type {kind.lower()}, which no attribute can have")


def _number(value: Any) -> str:
    try:
        return str(_exactly.create_decimal(value if isinstance(value, Decimal) else int(value)))
    except (InvalidOperation, ValueError):
        raise ValueError("a number is too large") from None


# ---- writing ----


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    """A line of Ion text for each item."""
    for item in items:
        yield b"%b{Item:{%b}}\n" % (HEAD, _fields(decode(item)).encode())


def write_changes(changes: Iterable[bytes]) -> Iterator[bytes]:
    """A line of Ion text for each change of an incremental export."""
    for change in changes:
        members = _decode_change(change)
        parts = ",".join(f"{name}:{{{_fields(part)}}}" for name, part in members.items())
        yield b"%b{%b}\n" % (HEAD, parts.encode())


_decode_change = msgspec.json.Decoder(dict[str, dict[str, dict[str, Any]]]).decode


def _fields(members: dict[str, Any]) -> str:
    return ",".join(f"{_name(name)}:{_text(value)}" for name, value in members.items())


def _text(value: dict[str, Any]) -> str:
    [(type_, content)] = value.items()
    match type_:
        case "S":
            return _string(content)
        case "N":
            return _decimal(content)
        case "B":
            return f"{{{{{content}}}}}"
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return "null"
        case "L":
            return f"[{','.join(_text(each) for each in content)}]"
        case "M":
            return f"{{{_fields(content)}}}"
    elements = ",".join(_text({_ELEMENTS[type_]: each}) for each in content)
    return f"$dynamodb_{type_}::[{elements}]"


def _decimal(text: str) -> str:
    """A number in the form of an Ion decimal: `103.`, `1.5`, `1d+30`."""
    if "E" in text:
        return text.replace("E", "d")
    return text if "." in text else f"{text}."


def _string(text: str) -> str:
    return f'"{_escaped(text)}"'


def _name(text: str) -> str:
    """The name of a field in Ion text: quoted, unless it is an identifier and not a keyword."""
    plain = text.isascii() and text.isidentifier()
    return text if plain and text not in ("null", "true", "false", "nan") else f"'{_escaped(text)}'"


_needs_escape = re.compile(r"[\"'\\\x00-\x1f\x7f-\x9f]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(text: str) -> str:
    """The text with escaped quotes, backslashes and control characters."""
    return _needs_escape.sub(lambda match: _escape(match[0]), text)


def _escape(letter: str) -> str:
    if letter in "\"'\\":
        return f"\\{letter}"
    return _ESCAPES.get(letter) or f"\\x{ord(letter):02x}"
