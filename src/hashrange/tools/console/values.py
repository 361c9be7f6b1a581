"""Attribute values as text: DynamoDB JSON, previews, and text that is safe in a browser."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot
from typing import Any

from markupsafe import Markup, escape

from hashrange.amounts import size
from hashrange.tools.console.shapes import Item

Value = Mapping[str, Any]

TYPES = {
    "S": "String",
    "N": "Number",
    "B": "Binary",
    "BOOL": "Boolean",
    "NULL": "Null",
    "M": "Map",
    "L": "List",
    "SS": "String set",
    "NS": "Number set",
    "BS": "Binary set",
}

CELL_CHARS = 160
"""The largest number of characters of a value in a cell."""

_EMOJI = "[\u2190-\u2bff\u3030-\u303d\ufe0f\U0001f000-\U0001faff]"
_UNSEEN = re.compile(
    f"(?<!{_EMOJI})\u200d|\u200d(?!{_EMOJI})|"
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Matches characters that are invisible, or that change how the text around them is shown. U+200D
is not matched between two emoji, because it joins them into one picture."""

_JOINED = re.compile("[\u0300-\u036f\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]")
"""Matches characters that are drawn together with the character before them."""


# A text in JSON has no unescaped line end, so `.*` stays within one text.
_SCALAR = re.compile(r'\{\n *"(S|N|B|BOOL|NULL)": (.*)\n *\}')


class ValueMistake(ValueError):
    """A text is not an attribute value. The message is one line for the user."""


# ---- DynamoDB JSON ----


def plain(value: Any) -> Any:
    """An item or a value in DynamoDB JSON, where binary is base64."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def dumps(value: Any, *, indent: int | None = None) -> str:
    separators = None if indent else (",", ":")
    return json.dumps(plain(value), ensure_ascii=False, indent=indent, separators=separators)


def pretty(value: Any) -> str:
    """JSON over several lines, with each scalar value on the line of its type."""
    return _SCALAR.sub(r'{"\1": \2}', dumps(value, indent=2))


def item_of(text: str) -> Item:
    """Read an item from DynamoDB JSON. Raises `ValueMistake`."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueMistake(f"this is not JSON: {problem}") from None
    if not isinstance(members, dict):
        raise ValueMistake('an item is an object: {"name": {"S": "value"}}')
    return {name: typed(value, name) for name, value in members.items()}


@dataclass(frozen=True)
class _Number:
    """A number of plain JSON that keeps its digits as they were written."""

    text: str


def entered_item(text: str) -> Item:
    """The item that a user wrote, in DynamoDB JSON or in plain JSON. Raises `ValueMistake`."""
    members = entered(text)
    if not isinstance(members, dict):
        raise ValueMistake('an item is an object: {"name": "value"} or {"name": {"S": "value"}}')
    return {name: typed(value, name) for name, value in members.items()}


def entered(text: str) -> Any:
    """The content of a map or a list that a user wrote, with its members in DynamoDB JSON.

    If no member of the text has a type, the text is read as plain JSON. So {"cup": 6} is plain
    JSON, but {"cup": {"N": "6"}} is not.
    """
    try:
        value = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as problem:
        raise ValueMistake(f"this is not JSON: {problem}") from None
    if not isinstance(value, dict | list):
        return value
    if any(map(_has_type, value.values() if isinstance(value, dict) else value)):
        return value
    if isinstance(value, list):
        return [_of_plain(each) for each in value]
    return {name: _of_plain(each) for name, each in value.items()}


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a value")


def _has_type(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in TYPES


def _of_plain(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case _Number():
            return {"N": value.text}
        case str():
            return {"S": value}
        case list():
            return {"L": [_of_plain(each) for each in value]}
    return {"M": {name: _of_plain(each) for name, each in value.items()}}


def typed(value: Any, where: str) -> dict[str, Any]:
    """A value of DynamoDB JSON in boto3's form. `where` is its path, for messages."""
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in TYPES:
        raise ValueMistake(f'{where}: a value has one type: {{"S": "text"}}')
    [(kind, content)] = value.items()
    if kind in ("M", "L"):
        return {kind: _document(kind, content, where)}
    if kind in ("SS", "NS", "BS"):
        if not isinstance(content, list):
            raise ValueMistake(f"{where}: {kind} needs a list of texts")
        return {kind: [_scalar(kind[0], each, where) for each in content]}
    return {kind: _scalar(kind, content, where)}


def _document(kind: str, content: Any, where: str) -> Any:
    if kind == "M":
        if not isinstance(content, dict):
            raise ValueMistake(f"{where}: M needs an object")
        return {name: typed(each, f"{where}.{name}") for name, each in content.items()}
    if not isinstance(content, list):
        raise ValueMistake(f"{where}: L needs a list")
    return [typed(each, f"{where}[{at}]") for at, each in enumerate(content)]


def _scalar(kind: str, content: Any, where: str) -> Any:
    if kind in ("BOOL", "NULL"):
        if not isinstance(content, bool):
            raise ValueMistake(f"{where}: {kind} needs true or false")
        return content
    if not isinstance(content, str):
        raise ValueMistake(f"{where}: {kind} needs a text in quotes")
    if kind != "B":
        return content
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise ValueMistake(f"{where}: this is not base64") from None


def cursor(key: Item) -> str:
    """A key as text, for a parameter of a URL."""
    return base64.urlsafe_b64encode(dumps(key).encode()).decode().rstrip("=")


def key_at(text: str) -> Item:
    """The key that `cursor` turned into this text. Raises `ValueMistake`."""
    try:
        return item_of(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    except ValueError:
        raise ValueMistake("the address of this page does not contain a valid key") from None


# ---- text that is shown ----


def shown(text: str) -> Markup:
    """The escaped text, with a visible mark for each invisible character.

    Without marks, a browser would replace U+0000, and characters that set the text's direction
    would move the text around them.
    """
    if text.isprintable():
        return escape(text)
    parts: list[Markup] = []
    end = 0
    for match in _UNSEEN.finditer(text):
        parts += escape(text[end : match.start()]), _mark(match[0])
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def unseen_count(text: str) -> int:
    """The number of invisible characters in a text, without line breaks."""
    return sum(1 for each in _UNSEEN.finditer(text) if each[0] != "\n")


@lru_cache(1_000)
def _mark(character: str) -> Markup:
    name = {"\n": "\u23ce", "\t": "\u21e5"}.get(character, f"U+{ord(character):04X}")
    return Markup('<span class="unseen">{}</span>').format(name)


@dataclass(frozen=True)
class Cell:
    """A short form of a value that fits on one line."""

    kind: str
    text: str
    rest: str = ""
    """The size of a value that the cell does not show completely, e.g. "of 400 KB"."""

    @property
    def type(self) -> str:
        return TYPES[self.kind]

    @property
    def numeric(self) -> bool:
        return self.kind == "N"


def start_of(text: str, most: int) -> str:
    """The start of a text, with at most `most` characters. Combined characters are not split."""
    end = most
    while 0 < end < len(text) and (_JOINED.match(text, end) or text[end - 1] == "\u200d"):
        end -= 1
    return text[: end or most]


VECTOR_NUMBERS_MIN = 32
"""The least length of a list of numbers that is shown as a vector."""


def vector_text(elements: Sequence[Value]) -> str:
    """A list of numbers as "vector of 768, length 1.0000"; empty for any other list."""
    if len(elements) < VECTOR_NUMBERS_MIN or not all("N" in each for each in elements):
        return ""
    length = hypot(*(float(each["N"]) for each in elements))
    return f"vector of {len(elements):,}, length {length:.5g}"


def cell(value: Value) -> Cell:
    [(kind, content)] = value.items()
    if kind == "S" and len(content) <= CELL_CHARS:
        return Cell(kind, content)
    if kind == "S":
        return Cell(kind, start_of(content, CELL_CHARS), f"of {size(len(content.encode()))}")
    text = "".join(_pieces(value, [CELL_CHARS]))
    if kind == "B":
        return Cell(kind, text, size(len(content)))
    if kind in ("BOOL", "NULL", "N"):
        return Cell(kind, text)
    if kind == "L" and (summary := vector_text(content)):
        return Cell(kind, summary)
    rest = f"{len(content):,} {'entry' if len(content) == 1 else 'entries'}"
    cut = len(text) > CELL_CHARS
    return Cell(kind, text[:CELL_CHARS], rest if cut else "")


def cell_markup(value: Value) -> Markup:
    """The HTML of a value's cell. Python code builds it rather than a template, because a page may
    have thousands of cells."""
    short = cell(value)
    text = shown(short.text) if short.text or short.kind != "S" else _EMPTY
    rest = f'<span class="rest"> {"" if short.kind == "B" else "… "}{short.rest}</span>'
    return Markup(
        f'<span class="v v-{short.kind}" dir="auto" title="{short.type}">{text}</span>'
        + (rest if short.rest else "")
    )


_EMPTY = Markup('<span class="rest">empty</span>')


def _pieces(value: Value, budget: list[int]) -> Iterator[str]:
    """The parts of a value's short form. They end soon after `budget[0]` characters."""
    [(kind, content)] = value.items()
    if kind == "S":
        yield _spend(json.dumps(content[: budget[0] + 1], ensure_ascii=False), budget)
    elif kind == "N":
        yield _spend(str(content), budget)
    elif kind == "B":
        yield _spend(bytes(content[:24]).hex(), budget)
    elif kind in ("BOOL", "NULL"):
        yield _spend("null" if kind == "NULL" else str(content).lower(), budget)
    elif kind == "M":
        yield from _listed("{", "}", content.items(), budget)
    else:
        members = content if kind == "L" else [{kind[0]: each} for each in content]
        start, end = "[]" if kind == "L" else "\u27e8\u27e9"
        yield from _listed(start, end, [("", each) for each in members], budget)


def _listed(start: str, end: str, members: Any, budget: list[int]) -> Iterator[str]:
    yield start
    for number, (name, each) in enumerate(members):
        if budget[0] <= 0:
            return
        yield (", " if number else "") + (_spend(f"{name}: ", budget) if name else "")
        yield from _pieces(each, budget)
    yield end


def _spend(text: str, budget: list[int]) -> str:
    budget[0] -= len(text)
    return text


def item_bytes(item: Mapping[str, Value]) -> int:
    """The approximate size of an item by DynamoDB's rules: numbers are measured by their digits."""
    return sum(len(name.encode()) + _bytes(value) for name, value in item.items())


def _bytes(value: Value) -> int:
    [(kind, content)] = value.items()
    if kind == "S":
        return len(content.encode(errors="replace"))
    if kind == "N":
        return len(content.strip("-.0")) // 2 + 2
    if kind == "B":
        return len(content)
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "M":
        return 3 + len(content) + item_bytes(content)
    members: Sequence[Value] = content if kind == "L" else [{kind[0]: each} for each in content]
    extra = 3 + len(members) if kind == "L" else 0
    return extra + sum(map(_bytes, members))
