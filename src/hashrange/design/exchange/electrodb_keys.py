"""The texts of keys as expressions of TypeScript: see `electrodb`."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any
from uuid import UUID

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.formats import UNITS, Format
from hashrange.design.declare.keys.templates import Part, Placeholder, Template
from hashrange.design.declare.markers import PERIODS
from hashrange.design.declare.patterns import Argument
from hashrange.design.plan.routes import SortTest

_WIDTH = re.compile(r"(\+?)0([1-9]\d*)(?:d|\.(\d+)f)").fullmatch
_BEGINNING = re.compile(r"\.([1-9]\d*)").fullmatch
_DEFAULTS = {datetime: "%Y-%m-%dT%H:%M:%S.%fZ", date: "%Y-%m-%d"}
Values = Mapping[str, str]
"""Maps each field to a TypeScript expression for its value."""


class Refusal(Exception):
    """A pattern cannot be written in TypeScript. The message is the reason."""


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def text_of(entity: Entity, template: Template, parts: tuple[Part, ...], values: Values) -> str:
    """An expression for the text of the leading parts of a template."""
    pieces = []
    for number, part in enumerate(parts):
        if isinstance(part, str):
            pieces.append(quoted(part))
        elif part.shards:
            pieces.append("shard")
        else:
            follows = template.parts[number + 1] if number + 1 < len(template.parts) else ""
            delimiter = follows if isinstance(follows, str) else ""
            pieces.append(_placeholder(entity, template, part, values[part.field], delimiter))
    return " + ".join(pieces) or '""'


def _placeholder(
    entity: Entity, template: Template, part: Placeholder, value: str, delimiter: str = ""
) -> str:
    kind, written = entity.fields[part.field], template.formats[part]
    if kind.tag == "N":
        return f"fixed({value}, {_width(part)})" if part.spec else f"String({value})"
    if kind.python in _DEFAULTS:
        return f"time({value}, {quoted(part.spec or _DEFAULTS[kind.python])})"
    beginning = _BEGINNING(part.spec)
    if beginning is not None:
        return f"beginning({value}, {beginning[1]})"
    if kind.python is str or kind.python is UUID or kind.choices:
        return f"text({value}{f', {quoted(delimiter)}' if written.free and delimiter else ''})"
    raise Refusal(f"{part} in a key has no counterpart in TypeScript")


def _width(part: Placeholder) -> str:
    """The object of type `Width` that describes a placeholder of fixed width."""
    match = _WIDTH(part.spec)
    assert match is not None, part
    width, digits = int(match[2]), int(match[3] or 0)
    most = 10 ** (width - 1 if digits else width)
    least = -most if match[1] else 0
    members = {
        "width": str(width + len(match[1])), "digits": str(digits), "least": f"{least}n",
        "most": f"{most - 1}n", "descending": str(part.descending).lower(),
    }  # fmt: skip
    return f"{{ {', '.join(f'{name}: {value}' for name, value in members.items())} }}"


# ---- values ----


def value_type(python: Any, choices: tuple[str, ...] = ()) -> str:
    """The type of an argument in TypeScript. Raises Refusal."""
    if choices:
        return " | ".join(quoted(choice) for choice in choices)
    types = {str: "string", UUID: "string", bool: "boolean", int: "Whole", Decimal: "Whole"}
    if python in _DEFAULTS:
        return "Moment"
    if isinstance(python, type) and issubclass(python, IntEnum):
        return "Whole"
    if python not in types:
        raise Refusal(f"it has an argument of the type {getattr(python, '__name__', python)}")
    return types[python]


def stored(entity: Entity, field: str, value: str) -> str:
    """A TypeScript expression for the stored form of `value`, an argument for the field."""
    kind = entity.fields[field]
    if kind.python in _DEFAULTS and not kind.expires:
        return f"time({value}, {quoted(_DEFAULTS[kind.python])})"
    if kind.tag == "N" and not kind.expires:
        return f"Number({value})"
    if kind.tag in ("S", "BOOL"):
        return value
    raise Refusal(f"it compares {entity}.{field}, which is stored as {kind.tag or 'any type'}")


# ---- sort keys ----


def sort_test(
    entity: Entity, test: SortTest, values: Values, argument: Callable[[str], str]
) -> str:
    """An expression for a condition on the sort key, as a `Sort` of the exported TypeScript.

    The expression yields `undefined` if the range must be empty. `argument` is called with the name
    of an argument, and returns the expression for its value.
    """
    if test.column.natural is not None:
        return _natural(entity, test, argument)
    template = test.column.template
    known = text_of(entity, template, test.parts, values)
    if test.begins is not None:
        return f"{{ begins: {known} + {_begins(entity, test, argument(test.begins.name))} }}"
    if not test.ranged:
        return f"{{ begins: {known} }}"
    ends = [("low", test.low), ("high", test.high)]
    written = template.formats[test.placeholder]
    members: dict[str, str] = {}
    for side, end in ends:
        if end is not None:
            at = {"low": "high", "high": "low"}[side] if written.descending else side
            members |= _end(entity, test, side, at, end, _value(end, side, argument))
    shown = ", ".join(f"{name}: {value}" for name, value in members.items())
    return f"between({known}, {{ {shown} }})"


def _value(end: Argument, side: str, argument: Callable[[str], str]) -> str:
    value = argument(end.name)
    return f"{value}[{0 if side == 'low' else 1}]" if end.operator == "between" else value


def _end(
    entity: Entity, test: SortTest, side: str, at: str, end: Argument, value: str
) -> dict[str, str]:
    """One end of a range, as members of the type `Ends` of the exported TypeScript.

    `side` is the end of the range of values, and `at` the end of the range of keys: "low" or
    "high". The two differ if the keys are in descending order.
    """
    part, written = test.placeholder, test.column.template.formats[test.placeholder]
    kind, excluded = entity.fields[part.field], end.operator in ("after", "before")
    if kind.tag == "N":
        if not part.spec:
            raise Refusal(f"it has a range of {part}, which has no fixed width")
        ends = {at: f"end({value}, {_width(part)}, {quoted(side)}, {str(excluded).lower()})"}
        return ends | ({"highMore": "HIGHEST"} if at == "high" and test.rest else {})
    text = value if kind.python is str else f"time({value}, {quoted(_spec(kind.python, part))})"
    if kind.python is not str:
        _expect_whole(kind.python, written, part)
    if side == "low":
        more = ("HIGHEST" if test.rest else '"\\0"') if excluded else ""
        return {"low": text, **({"lowMore": more} if more else {})}
    if excluded:
        return {"high": text, **({} if test.rest else {"except": "true"})}
    return {"high": text, **({"highMore": "HIGHEST"} if test.rest else {})}


def _spec(python: Any, part: Placeholder) -> str:
    if python not in _DEFAULTS:
        raise Refusal(f"it has a range of {part}, which is neither a date nor a datetime")
    return part.spec or _DEFAULTS[python]


def _expect_whole(python: Any, written: Format, part: Placeholder) -> None:
    if not UNITS[python] <= written.units:
        raise Refusal(f"it has a range of {part}, which does not show the whole value")


def _begins(entity: Entity, test: SortTest, value: str) -> str:
    assert test.begins is not None
    units = PERIODS.get(test.begins.operator)
    if units is None:
        return value
    part = test.placeholder
    python = entity.fields[part.field].python
    spec, seen = "", set[str]()
    for piece in re.split(r"(%.)", _spec(python, part)):
        spec, seen = spec + piece, seen | ({piece} & UNITS[datetime])
        if seen == units:
            break
    return f"time({value}, {quoted(spec)})"


def _natural(entity: Entity, test: SortTest, argument: Callable[[str], str]) -> str:
    field = test.placeholder.field
    if test.begins is not None:
        value = argument(test.begins.name)
        begins = _begins(entity, test, value) if test.begins.operator in PERIODS else value
        return f"{{ begins: {begins} }}"
    members, excluded = {}, []
    for side, name, end in (("low", "from", test.low), ("high", "to", test.high)):
        if end is None:
            continue
        members[name] = stored(entity, field, _value(end, side, argument))
        if end.operator in ("after", "before"):
            excluded.append(members[name])
    if excluded:
        members["except"] = f"[{', '.join(excluded)}]"
    return f"{{ {', '.join(f'{name}: {value}' for name, value in members.items())} }}"
