"""The JSON checks of SearchVectors, which are stricter than those of other operations.

A member of a wrong JSON type, including null, is refused, and so is a missing required member. The
message gives the line and column of the member, or of the end of the object. The service makes
these checks before it looks up the table. Captured in autumn 2026.
"""

import re

import msgspec

from hashrange.model.errors import SerializationException, ValidationException

_TEXT, _WHOLE, _LIST, _MAP = "a string", "i32", "a sequence", "a map"
_TYPES = {
    "TableName": _TEXT,
    "IndexName": _TEXT,
    "SearchVector": _LIST,
    "TopK": _WHOLE,
    "SearchConditionExpression": _TEXT,
    "ProjectionExpression": _TEXT,
    "ExpressionAttributeNames": _MAP,
    "ExpressionAttributeValues": _MAP,
    "ReturnConsumedCapacity": _TEXT,
}
_REQUIRED = ("TableName", "IndexName", "SearchVector", "TopK")
_BY_FIRST = {b'"': _TEXT, b"[": _LIST, b"{": _MAP}
_NAME = re.compile(rb'[\s{,]*"(?:[^"\\]|\\.)*"\s*:\s*')
_INTEGER = re.compile(rb"-?[0-9]+").fullmatch


def check(body: bytes) -> None:
    """Check the types and presence of members. Raises SerializationException or
    ValidationException.

    JSON with a syntax error passes, because the decoder reports it.
    """
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    at = 0
    for name, raw in members.items():
        match = _NAME.match(body, at)
        if match is None:
            return  # a name occurs twice: the places are not known
        value = bytes(raw)
        at = match.end() + len(value)
        expected = _TYPES.get(name)
        if expected is not None and not _fits(value, expected):
            ended = match.end() + 1 if value[:1] in b"[{" else at
            raise SerializationException(
                f"invalid type: {_shown(value)}, expected {expected} {_place(body, ended)}"
            )
    for name in _REQUIRED:
        if name not in members:
            end = body.rindex(b"}") + 1
            raise ValidationException(f"missing field `{name}` {_place(body, end)}")


def _fits(value: bytes, expected: str) -> bool:
    if expected == _WHOLE:
        return _INTEGER(value) is not None
    return _BY_FIRST.get(value[:1]) == expected


def _shown(value: bytes) -> str:
    """A value of a wrong type, in the words of the message."""
    match value[:1]:
        case b"n":
            return "null"
        case b"t" | b"f":
            return f"boolean `{value.decode()}`"
        case b'"':
            return f"string {value.decode()}"
        case b"[":
            return "sequence"
        case b"{":
            return "map"
    kind = "integer" if _INTEGER(value) else "floating point"
    return f"{kind} `{value.decode()}`"


def _place(body: bytes, end: int) -> str:
    """The line and column of the last byte before `end`, both counted from 1."""
    line = body.count(b"\n", 0, end) + 1
    column = end - (body.rfind(b"\n", 0, end) + 1)
    return f"at line {line} column {column}"
