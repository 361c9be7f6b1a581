"""The ends of ranges. If an end cannot be stored itself, the nearest storable value replaces it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from typing import Any

from hashrange.design.declare.types import FieldType
from hashrange.design.errors import BadValue

Nearest = Callable[[Any], Any]
DIGITS_MAX = 38
_MOST = Decimal("9." + "9" * (DIGITS_MAX - 1) + "E+125")
_LEAST_ABOVE_0 = Decimal("1E-130")
_EXACT = Context(prec=1000)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Ends:
    """Functions that find the storable ends of a range, for one type or format.

    `up` gives the smallest storable value at or above an end, `down` the largest at or below it.
    For an end that the range excludes, `above` gives the smallest value above it, `below` the
    largest below it. None means that there is no such value.
    """

    up: Nearest = lambda value: value
    down: Nearest = lambda value: value
    above: Nearest = lambda value: None
    below: Nearest = lambda value: None


def in_steps(least: Decimal, most: Decimal, step: Decimal, python: Any) -> Ends:
    """The `Ends` of a format whose numbers are the multiples of `step` from `least` to `most`."""

    def up(value: Any) -> Any:
        exact = _number(value)
        if exact > most:
            return None
        return python(max(exact, least).quantize(step, ROUND_CEILING, _EXACT))

    def down(value: Any) -> Any:
        exact = _number(value)
        if exact < least:
            return None
        return python(min(exact, most).quantize(step, ROUND_FLOOR, _EXACT))

    return Ends(up, down)


def stored_ends(kind: FieldType) -> Ends:
    """The `Ends` of a field that is itself a key attribute."""
    if kind.expires:
        down = _whole_second
        return Ends(
            _second_above, down, partial(stepped, by=_SECOND), partial(stepped, by=-_SECOND)
        )
    return _STORED.get(kind.python, Ends())


def stepped(value: Any, by: Any) -> Any:
    """The date or time plus the time difference `by`; None if that is beyond the type's range."""
    try:
        return value + by
    except OverflowError:
        return None


def _number(value: Any) -> Decimal:
    exact = Decimal(value)
    if exact.is_nan():
        raise BadValue("it is not a number")
    return exact


def _decimal_above(value: Any) -> Decimal | None:
    exact = _number(value)
    if exact > _MOST:
        return None
    if 0 < exact < _LEAST_ABOVE_0:
        return _LEAST_ABOVE_0
    if -_LEAST_ABOVE_0 < exact < 0:
        return Decimal(0)
    return Context(prec=DIGITS_MAX, rounding=ROUND_CEILING).plus(max(exact, _MOST.copy_negate()))


def _decimal_below(value: Any) -> Decimal | None:
    above = _decimal_above(_number(value).copy_negate())
    return None if above is None else above.copy_negate()


def _whole_second(value: datetime) -> datetime:
    return value.replace(microsecond=0)


def _second_above(value: datetime) -> Any:
    whole = _whole_second(value)
    return whole if whole == value else stepped(whole, _SECOND)


def _is_outside(value: Any) -> bool:
    """Whether a datetime, converted to UTC, would be before year 1 or after year 9999."""
    try:
        value.astimezone(UTC)
    except OverflowError:
        return True
    except AttributeError:  # a date
        return False
    return False


def _moment_above(value: Any) -> Any:
    if not _is_outside(value):
        return value
    return datetime.min.replace(tzinfo=UTC) if value.year == date.min.year else None


def _moment_below(value: Any) -> Any:
    if not _is_outside(value):
        return value
    return datetime.max.replace(tzinfo=UTC) if value.year == date.max.year else None


MOMENTS = Ends(_moment_above, _moment_below)
TEXTS = Ends(down=lambda value: value or None)
"""The ends of ranges of texts. No stored text is empty, so all of them are above ""."""

_SECONDS = Ends(
    _second_above, _whole_second, partial(stepped, by=_SECOND), partial(stepped, by=-_SECOND)
)
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_WHOLE_MOST = Decimal(10**DIGITS_MAX - 1)
_WHOLE = in_steps(_WHOLE_MOST.copy_negate(), _WHOLE_MOST, Decimal(1), int)
_STORED = {
    int: replace(
        _WHOLE, above=lambda value: _WHOLE.up(value + 1), below=lambda value: _WHOLE.down(value - 1)
    ),
    Decimal: Ends(_decimal_above, _decimal_below),
    date: Ends(above=partial(stepped, by=_DAY), below=partial(stepped, by=-_DAY)),
    datetime: replace(
        MOMENTS, above=partial(stepped, by=_MICROSECOND), below=partial(stepped, by=-_MICROSECOND)
    ),
    str: Ends(lambda value: value or "\0", TEXTS.down, lambda value: value + "\0"),
}
