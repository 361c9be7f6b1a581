"""The condition on the sort key in the Query of a pattern."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Any

from hashrange.design.declare.keys.ends import Nearest, stored_ends
from hashrange.design.declare.keys.formats import UNITS, Format
from hashrange.design.declare.keys.templates import HIGHEST
from hashrange.design.declare.markers import PERIODS
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.types import FieldType, encode
from hashrange.design.errors import BadValue
from hashrange.design.plan.routes import SortTest
from hashrange.model.values import AttributeValue

Arguments = Mapping[str, Any]
Comparison = tuple[str, tuple[AttributeValue, ...]]


def comparison(
    test: SortTest, values: Mapping[str, Any], arguments: Arguments
) -> Comparison | None:
    """(operator, operands) of the condition on the sort key; None if no key can satisfy it."""
    if test.column.natural is not None:
        return _natural(test, arguments)
    known = test.column.template.render_known(test.parts, values)
    if test.begins is not None:
        return "begins_with", ({"S": known + _beginning(test, test.begins, arguments)},)
    if not test.ranged:
        return "begins_with", ({"S": known},)
    return _bounded(test, known, arguments)


def _beginning(test: SortTest, begins: Argument, arguments: Arguments) -> str:
    """The text with which the keys begin, for an argument that is a prefix or a period of time."""
    value = arguments[begins.name]
    units = PERIODS.get(begins.operator)
    written = test.column.template.formats[test.placeholder]
    leading = written.leading
    if units is None or leading is None:
        return _rendered(written, test, value) if isinstance(value, tuple) else str(value)
    text = leading(value, units)
    assert text is not None
    return text


def _bounded(test: SortTest, known: str, arguments: Arguments) -> Comparison | None:
    """The condition for a range, usually BETWEEN. Both of its operands begin with `known`.

    BETWEEN includes both operands, so an excluded end is replaced by the next text inside the
    range.
    """
    written = test.column.template.formats[test.placeholder]
    first, last = (1, 0) if written.descending else (0, 1)
    low, high = known, known + HIGHEST
    if test.end(first) is not None:
        value, excluded = _stored_end(test, first, arguments, written)
        if value is None:
            return None
        if value != "":  # every text is above the empty one
            low = known + _rendered(written, test, value)
            if excluded:
                low += HIGHEST if test.rest else "\0"
    if test.end(last) is not None:
        value, excluded = _stored_end(test, last, arguments, written)
        if excluded and not test.rest:
            assert written.before is not None
            value = written.before(value)
        if value is None:
            return None
        high = known + _rendered(written, test, value)
        if test.rest and not excluded:
            high += HIGHEST
    if not low:
        return "<=", ({"S": high},)
    return ("BETWEEN", ({"S": low}, {"S": high})) if low <= high else None


def _stored_end(
    test: SortTest, side: int, arguments: Arguments, written: Format
) -> tuple[Any, bool]:
    """(value, excluded) of one end of a range, in the values that the key can show.

    `side` is 0 for the lower end and 1 for the upper end. If the key cannot show the end itself
    (e.g. a second, in a key of days), `value` is the nearest one inside the range; None if there is
    none. `excluded` is True if `value` is the end itself and the operator is `after` or `before`.
    """
    end = test.end(side)
    assert end is not None
    asked = _end(end, arguments, side, test)
    near = written.ends.down if side else written.ends.up
    value = _nearest(near, test.placeholder.field, asked)
    return value, end.operator in ("after", "before") and value == asked


def _nearest(nearest: Nearest, field: str, value: Any) -> Any:
    try:
        return nearest(value)
    except BadValue as error:
        raise error.of(field=field, value=value) from None


def _rendered(written: Format, test: SortTest, value: Any) -> str:
    try:
        return written.render(value)
    except BadValue as error:
        raise error.of(field=test.placeholder.field, value=value) from None


def _end(argument: Argument, arguments: Arguments, side: int, test: SortTest) -> Any:
    value = arguments[argument.name]
    if argument.operator == "between":
        value = value[side]
    written = test.column.template.formats[test.placeholder]
    return value if written.units <= UNITS[date] else _moment(value)


def _moment(value: Any) -> Any:
    """Convert a date to a datetime: its midnight in UTC. Other values are unchanged."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time_of_day(), UTC)
    return value


def _natural(test: SortTest, arguments: Arguments) -> Comparison | None:
    kind = test.column.kind
    assert kind is not None
    if test.begins is not None:
        if test.begins.operator in PERIODS:
            return "begins_with", ({"S": _beginning(test, test.begins, arguments)},)
        return "begins_with", (encode(arguments[test.begins.name]),)
    ends = [_asked(end, arguments, side, kind) for side, end in enumerate((test.low, test.high))]
    near, field = stored_ends(kind), test.placeholder.field
    (low_operator, low_asked), (high_operator, high_asked) = ends
    low = low_operator and _nearest(near.up, field, low_asked)
    high = high_operator and _nearest(near.down, field, high_asked)
    if low is None or high is None:
        return None
    excludes_low = low_operator == "after" and low == low_asked
    excludes_high = high_operator == "before" and high == high_asked
    if not high_operator:
        return ">" if excludes_low else ">=", (kind.encode(low),)
    if not low_operator:
        return "<" if excludes_high else "<=", (kind.encode(high),)
    if excludes_low:
        low = near.above(low)
    if excludes_high:
        high = near.below(high)
    if low is None or high is None or low > high:
        return None
    return "BETWEEN", (kind.encode(low), kind.encode(high))


def _asked(
    end: Argument | None, arguments: Arguments, side: int, kind: FieldType
) -> tuple[str, Any]:
    """(operator, value) of one end of a range; the operator is "" if the range has no such end."""
    if end is None:
        return "", None
    value = arguments[end.name]
    value = value[side] if end.operator == "between" else value
    return end.operator, _moment(value) if kind.python is datetime else value
