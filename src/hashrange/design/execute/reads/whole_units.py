"""Ranges of whole months, days or hours, as ranges of dates and times."""

from calendar import monthrange
from datetime import UTC, date, datetime, time
from typing import Any

from hashrange.design.declare.patterns import Argument


def whole_units(argument: Argument, value: Any, python: Any) -> Any:
    """Move the end of a range so that the range has only whole units.

    For `between`, `value` is a pair of both ends, and so is the result. `python` is the type of the
    field: date or datetime.
    """
    unit = argument.unit
    assert unit is not None
    if argument.operator == "between":
        return _first(unit, value[0]), _last(unit, value[1], python)
    if argument.operator in ("at least", "before"):
        return _first(unit, value)
    return _last(unit, value, python)


def _first(unit: str, value: date) -> date:
    if unit == "hour":
        assert isinstance(value, datetime)
        return value.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return _day(value).replace(day=1) if unit == "month" else _day(value)


def _last(unit: str, value: date, python: Any) -> date:
    if unit == "hour":
        assert isinstance(value, datetime)
        return value.astimezone(UTC).replace(minute=59, second=59, microsecond=999_999)
    day = _day(value)
    if unit == "month":
        day = day.replace(day=monthrange(day.year, day.month)[1])
    return datetime.combine(day, time.max, UTC) if python is datetime else day


def _day(value: date) -> date:
    return value.astimezone(UTC).date() if isinstance(value, datetime) else value
