"""Attribute values as text: for people, as JSON and as CSV.

Values are those of boto3's client: `{"S": "a"}`, `{"N": "1"}`, `{"B": b"..."}`. Text for people is
safe on a terminal, whatever a value contains. It is also bounded: only the visible part of a large
value is processed.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

AttributeValue = Mapping[str, Any]

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NOT_PLAIN = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|(true|false|null|missing)"
    r"|['\"<\[{].*|binary\(.*|\s.*|.*\s|",
    re.DOTALL | re.IGNORECASE,
)
"""Matches strings that would look like other values if they were shown without quotes."""
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def printable(text: str) -> str:
    """The text with an escape sequence for each character that would control the terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def cell(value: AttributeValue | None, length: int) -> str:
    """A value on one line of a table, with at most `length` characters; empty if there is no value.

    Strings are quoted only if they could be mistaken for another type. A nested value is in
    PartiQL's notation.
    """
    if value is None:
        return ""
    text = value.get("S")
    if text is not None and not _NOT_PLAIN.fullmatch(text[: length + 1]):
        return shortened(printable(text[: length + 1]), length)
    shown = ""
    for piece in _pieces(value, length + 1):
        shown += piece
        if len(shown) > length:
            break
    return shortened(shown, length)


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _pieces(value: AttributeValue, length: int) -> Iterator[str]:
    """A value in PartiQL's notation, piece by piece, so that the caller can stop early."""
    [(kind, content)] = islice(value.items(), 1)
    match kind:
        case "S":
            yield _quoted(content, length)
        case "N":
            yield printable(str(content)[:length])
        case "B":
            yield _binary(content, length)
        case "BOOL":
            yield "true" if content else "false"
        case "NULL":
            yield "null"
        case "SS" | "NS" | "BS":
            yield from _joined("<<", ({kind[0]: member} for member in content), ">>", length)
        case "L":
            yield from _joined("[", content, "]", length)
        case "M":
            yield "{"
            for number, (name, member) in enumerate(content.items()):
                yield f"{', ' if number else ''}{_quoted(name, length)}: "
                yield from _pieces(member, length)
            yield "}"
        case _:
            yield printable(f"{kind}?")


def _joined(start: str, members: Iterator[AttributeValue], end: str, length: int) -> Iterator[str]:
    yield start
    for number, member in enumerate(members):
        if number:
            yield ", "
        yield from _pieces(member, length)
    yield end


def _quoted(text: str, length: int) -> str:
    end = "'" if len(text) <= length else ""
    return "'" + printable(text[:length].replace("'", "''")) + end


def _binary(content: bytes, length: int) -> str:
    """A binary value as `binary(3) AQID`: the number of bytes, and base64."""
    return f"binary({len(content):,}) {b64encode(content[:length]).decode('ascii')}"


def json_text(value: AttributeValue) -> str:
    """A value as plain JSON: numbers with all their digits, sets as arrays, binary as base64."""
    [(kind, content)] = islice(value.items(), 1)
    match kind:
        case "N" if _JSON_NUMBER.fullmatch(str(content)):
            return str(content)
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return "null"
        case "B":
            return json_string(b64encode(content).decode("ascii"))
        case "SS" | "NS" | "BS":
            return f"[{', '.join(json_text({kind[0]: member}) for member in content)}]"
        case "L":
            return f"[{', '.join(map(json_text, content))}]"
        case "M":
            return json_item(content)
    return json_string(str(content))


def json_item(item: Mapping[str, AttributeValue]) -> str:
    """An item, or a map, as a JSON object on one line."""
    members = (f"{json_string(name)}: {json_text(value)}" for name, value in item.items())
    return f"{{{', '.join(members)}}}"


def json_string(text: str) -> str:
    """A JSON string in which characters that would control the terminal are escaped."""
    plain = json.dumps(text, ensure_ascii=not text.isprintable())
    return plain.replace("\x7f", "\\u007f")


def csv_text(value: AttributeValue | None) -> str:
    """A value as a field of CSV: scalars unchanged; sets, lists and maps as JSON."""
    if value is None:
        return ""
    [(kind, content)] = islice(value.items(), 1)
    return str(content) if kind in ("S", "N") else json_text(value).strip('"')
