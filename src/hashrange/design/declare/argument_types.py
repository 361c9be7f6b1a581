"""Whether an argument of a pattern fits the field that it is compared with."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal, get_args, get_origin

from hashrange.design.declare.markers import PERIODS, OperatorName
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.types import FieldType
from hashrange.design.errors import DeclarationError, suggest

_MIDNIGHT: tuple[OperatorName, ...] = ("at least", "before")
"""Operators that compare a datetime field with a date as if the date were its midnight."""
_PERIOD_TYPES: dict[OperatorName, tuple[type, tuple[type, ...], str]] = {
    "month": (date, (date, datetime), "st.Month compares a date or datetime field with a date"),
    "day": (date, (datetime,), "st.Day compares a datetime field with a date"),
    "hour": (datetime, (datetime,), "st.Hour compares a datetime field with a datetime"),
}
"""Maps operators to (type of the argument, types of the field, error message for other types)."""


def check_argument(argument: Argument, kind: FieldType, at: object) -> None:
    """Raise DeclarationError if the argument's type does not fit the field's type."""
    own, stored = argument.python, kind.python
    if argument.values:  # from the field itself, by @st.scatter
        return
    if argument.operator == "shard":
        if own is not int:
            raise DeclarationError(f"{argument.name!r}: a shard number must be an int", at=at)
        return
    unit = argument.unit or argument.operator
    if unit in PERIODS:
        python, fields, text = _PERIOD_TYPES[unit]
        if stored not in fields or own is not python:
            raise DeclarationError(f"{argument.name!r}: {text}", at=at)
        return
    if own == stored or (kind.choices and own is str):
        return
    if stored is datetime and own is date and argument.operator in _MIDNIGHT:
        return
    both_literal = get_origin(own) is Literal and get_origin(stored) is Literal
    if both_literal and set(get_args(own)) <= set(get_args(stored)):
        return
    raise DeclarationError(
        f"{argument.name!r} is {_name(own)}, but the field {argument.field!r} is {_name(stored)}",
        at=at,
    )


def _name(python: Any) -> str:
    return getattr(python, "__name__", None) or str(python).replace("typing.", "")


def unknown_field_error(
    argument: Argument, known: Mapping[str, Any], at: object
) -> DeclarationError:
    return DeclarationError(
        f"{argument.name!r} is not a field{suggest(argument.field, known)}", at=at, rule="K01"
    )
