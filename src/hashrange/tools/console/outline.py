"""An item as lines with depths, and the difference between two items."""

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hashrange.amounts import size
from hashrange.tools.console.hexdump import WIDTH, hexdump
from hashrange.tools.console.shapes import Item
from hashrange.tools.console.values import Value, pretty, start_of, vector_text

LINES_MAX = 2_000
TEXT_CHARS = 2_000
"""The largest numbers of lines of an item, and of characters of a text, on a page. The JSON of the
item shows everything."""

DUMPED_BYTES = 16 * WIDTH
"""The largest number of bytes of a binary value on the page of an item."""

COMPARED_LINES_MAX = 2_000
CONTEXT_CHARS = 40


_LISTED = ("L", "SS", "NS", "BS")


@dataclass(frozen=True)
class Line:
    """A line for one value. `text` is None for a map or a list, whose members follow one level
    deeper.

    `at` is the path from the item to the value: names, and positions in lists and sets.
    """

    at: tuple[str | int, ...]
    name: str
    kind: str
    text: str | None
    rest: str = ""
    whole: bool = True
    """Whether `text` is the whole value."""

    @property
    def depth(self) -> int:
        return len(self.at) - 1

    @property
    def address(self) -> str:
        """The path as text, for a parameter of a URL."""
        return json.dumps(self.at)


def outline(item: Item) -> tuple[list[Line], bool]:
    """The first lines of an item, in the stored order of keys, and whether there are more."""
    lines = [
        line for name in item for line in islice(_lines((name,), name, item[name]), LINES_MAX + 1)
    ]
    return lines[:LINES_MAX], len(lines) > LINES_MAX


def value_at(item: Item, at: Sequence[str | int]) -> Value | None:
    """The value at the end of a path, or None if there is no value."""
    value: Value = {"M": item}
    for step in at:
        [(kind, content)] = value.items()
        if kind == "M" and isinstance(step, str) and step in content:
            value = content[step]
        elif kind in _LISTED and isinstance(step, int) and 0 <= step < len(content):
            value = content[step] if kind == "L" else {kind[0]: content[step]}
        else:
            return None
    return value


def _lines(at: tuple[str | int, ...], name: str, value: Value) -> Iterator[Line]:
    [(kind, content)] = value.items()
    if kind == "L" and (text := vector_text(content)):
        yield Line(at, name, kind, text, whole=False)
    elif kind in ("M", "L"):
        count = f"{len(content):,} {'entry' if len(content) == 1 else 'entries'}"
        yield Line(at, name, kind, None, count)
        members = content.items() if kind == "M" else enumerate(content)
        for step, each in members:
            yield from _lines((*at, step), str(step), each)
    elif kind in _LISTED:
        yield Line(at, name, kind, None, f"{len(content):,}")
        for number, each in enumerate(content):
            yield from _lines((*at, number), "", {kind[0]: each})
    else:
        yield Line(at, name, kind, *_text(kind, content))


def _text(kind: str, content: Any) -> tuple[str, str, bool]:
    """The text of a scalar value, its size, and whether the text has the whole value."""
    if kind == "B":
        start = hexdump(bytes(content[:DUMPED_BYTES]))
        return start, size(len(content)), len(content) <= DUMPED_BYTES
    if kind in ("BOOL", "NULL"):
        return ("null" if kind == "NULL" else str(content).lower()), "", True
    if len(content) > TEXT_CHARS:
        return start_of(content, TEXT_CHARS), f"of {size(len(content.encode()))}", False
    return content, "", True


@dataclass(frozen=True)
class Change:
    """The change of one attribute. `sign` is "+" for a new attribute, "-" for a removed one and "~"
    for a changed one.

    `lines` are pairs of a sign and a text: "-" marks an old text, "+" a new one, and " " one that
    both items have.
    """

    name: str
    sign: str
    lines: list[tuple[str, str]]
    old: str
    new: str
    """The type after the change, as `old` is the type before it. Empty if there is no value."""


def difference(old: Item, new: Item, first: Sequence[str] = ()) -> list[Change]:
    """The attributes that differ: first the attributes in `first`, then all others by name."""
    names = dict.fromkeys((*first, *sorted({*old, *new})))
    return [
        _change(name, old.get(name), new.get(name)) for name in names if _differs(name, old, new)
    ]


def _differs(name: str, old: Item, new: Item) -> bool:
    return bool(_canonical(old.get(name)) != _canonical(new.get(name)))


def _canonical(value: Any) -> Any:
    """The value in a form for comparison, in which the order of a set's members does not matter."""
    if value is None:
        return None
    [(kind, content)] = value.items()
    if kind in ("SS", "NS", "BS"):
        return kind, sorted(content)
    if kind == "M":
        return kind, {name: _canonical(each) for name, each in content.items()}
    if kind == "L":
        return kind, [_canonical(each) for each in content]
    return kind, content


def _change(name: str, old: Value | None, new: Value | None) -> Change:
    sign = "+" if old is None else "-" if new is None else "~"
    before, after = _kind(old), _kind(new)
    return Change(name, sign, list(_compared(old, new)), before, after)


def _kind(value: Value | None) -> str:
    return next(iter(value)) if value else ""


def _compared(old: Value | None, new: Value | None) -> Iterator[tuple[str, str]]:
    before, after = _texts(old), _texts(new)
    if len(before) > 1 or len(after) > 1:
        if max(len(before), len(after)) <= COMPARED_LINES_MAX:
            difference = difflib.unified_diff(before, after, n=2, lineterm="")
            for line in islice(difference, 3, 300):
                yield line[0].replace("@", " "), "…" if line.startswith("@@") else line[1:]
            return
        before, after = before[:20], after[:20]
    start = _first_difference("\n".join(before), "\n".join(after))
    for sign, texts in (("-", before), ("+", after)):
        for text in texts:
            yield sign, _around(text, start)


def _texts(value: Value | None) -> list[str]:
    if not value:
        return []
    [(kind, content)] = value.items()
    if kind in ("S", "N"):
        return [content]
    if kind == "B":
        return [content.hex(" ")]
    return pretty(content).splitlines()


def _first_difference(old: str, new: str) -> int:
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return at
    return min(len(old), len(new)) if old and new else 0


def _around(text: str, at: int) -> str:
    """The part of a text that begins a little before the position `at`. A short text is returned
    whole."""
    if len(text) <= TEXT_CHARS:
        return text
    start = max(0, at - CONTEXT_CHARS)
    cut = text[start : start + TEXT_CHARS]
    return f"{'… ' if start else ''}{cut}{' …' if start + TEXT_CHARS < len(text) else ''}"
