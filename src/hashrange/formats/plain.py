"""Attribute values as plain JSON or YAML values that keep their DynamoDB types.

    S, N, BOOL, NULL, L, M    a string, a number, true or false, null, a list, an object
    B                         {"$B": "base64"}
    SS, NS, BS                {"$SS": ["a"]}, {"$NS": [1, 2.5]}, {"$BS": ["base64"]}

A map whose only member has such a name, for example `$B`, is written as {"$M": {...}}. Numbers are
written with all of their digits, but another program may round them when it reads the file.
"""

from collections.abc import Callable
from typing import Any

from hashrange.formats.items import WireItem

MARKS = frozenset({"$B", "$SS", "$NS", "$BS", "$M"})


class Number(str):
    """A number as it is written in a file."""

    __slots__ = ()


class NotPlain(ValueError):
    """A value does not represent an attribute value. The message gives the reason."""


def to_plain(item: WireItem, number: Callable[[str], Any]) -> dict[str, Any]:
    """An item's attributes as plain values. `number` makes a plain number from its text."""
    return {name: _plain(value, number) for name, value in item.items()}


def _plain(value: dict[str, Any], number: Callable[[str], Any]) -> Any:
    [(kind, content)] = value.items()
    match kind:
        case "N":
            return number(content)
        case "NULL":
            return None
        case "L":
            return [_plain(element, number) for element in content]
        case "M":
            members = to_plain(content, number)
            return {"$M": members} if len(members) == 1 and MARKS & members.keys() else members
        case "NS":
            return {"$NS": [number(each) for each in content]}
        case "B" | "SS" | "BS":
            return {f"${kind}": content}
        case _:
            return content


def from_plain(content: Any) -> WireItem:
    """The attributes of an item, from plain values. Raises NotPlain."""
    if not isinstance(content, dict):
        raise NotPlain("an item must be an object")
    return {_name(name): _value(value) for name, value in content.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str) or isinstance(name, Number):
        raise NotPlain(f"the name of an attribute must be a string, not {name!r}")
    return name


def _value(content: Any) -> dict[str, Any]:
    if isinstance(content, Number):
        return {"N": str(content)}
    if isinstance(content, str):
        return {"S": content}
    if content is None:
        return {"NULL": True}
    if isinstance(content, bool):
        return {"BOOL": content}
    if isinstance(content, list):
        return {"L": [_value(element) for element in content]}
    if isinstance(content, dict):
        if len(content) == 1 and MARKS & content.keys():
            return _marked(*next(iter(content.items())))
        return {"M": from_plain(content)}
    raise NotPlain(f"a value of type {type(content).__name__} is not an attribute value")


def _marked(mark: str, content: Any) -> dict[str, Any]:
    kind = mark[1:]
    if kind == "M" and isinstance(content, dict):
        return {"M": {_name(name): _value(value) for name, value in content.items()}}
    if kind == "B" and isinstance(content, str):
        return {"B": content}
    if kind in ("SS", "NS", "BS") and isinstance(content, list):
        wanted = Number if kind == "NS" else str
        if all(isinstance(each, wanted) for each in content):
            return {kind: [str(each) for each in content]}
    raise NotPlain(f"the content of {mark} is not a {kind}")
