"""The condition operators: each compares a value of a request with a value of a policy.

Source: IAM user guide, "IAM JSON policy elements: Condition operators".
"""

import ipaddress
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from hashrange.access.patterns import NOTHING, Context, Known, Pattern

Test = Callable[[str, Pattern, Context], Known]
"""A test of a request's value against a policy's pattern. It may raise MissingVariable."""
Fits = Callable[[str, Context], Known]
"""A test of a request's value against all values of a condition; one must match."""


class Operator(Struct, frozen=True):
    """A condition operator. If it is `negated`, the result of `test` is inverted.

    `check` raises ValueError for a value that is not allowed in a policy. `fixed` makes a faster
    test for several values without variables.
    """

    test: Test
    negated: bool = False
    check: Callable[[str], Any] = str
    fixed: Callable[[Sequence[Pattern]], Fits] | None = None


def _equals(value: str, wanted: Pattern, context: Context) -> bool:
    return value == wanted.value(context)


def _equals_in_any_case(value: str, wanted: Pattern, context: Context) -> bool:
    return value.casefold() == wanted.value(context).casefold()


def _like(value: str, wanted: Pattern, context: Context) -> Known:
    return wanted.matches(value, context)


def _one_of(values: Sequence[Pattern]) -> Fits:
    texts = frozenset(each.value(NOTHING) for each in values)
    return lambda value, context: value in texts


def _like_one_of(values: Sequence[Pattern]) -> Fits:
    prefixes = tuple(each.prefix for each in values if each.prefix is not None)
    others = [each for each in values if each.prefix is None]
    if not others:
        return lambda value, context: value.startswith(prefixes)
    return lambda value, context: (
        value.startswith(prefixes) or any(each.matches(value, context) for each in others)
    )


def _compared(read: Callable[[str], Any], holds: Callable[[Any, Any], bool]) -> Test:
    """A test that compares two values after conversion by `read`. An invalid value never
    matches."""

    def test(value: str, wanted: Pattern, context: Context) -> bool:
        try:
            return bool(holds(read(value), read(wanted.value(context))))
        except ValueError:
            return False

    return test


_DIGITS_MAX = 400
"""The largest number of digits in a number. Longer numbers take too much time, and no condition key
has such a number."""


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text.strip()) if len(text) <= _DIGITS_MAX else Decimal("nan")
    except InvalidOperation:
        raise ValueError("the value is not a number") from None
    if not number.is_finite() or abs(number.adjusted()) > _DIGITS_MAX:
        raise ValueError("the value is not a number")
    return number


_EPOCH = re.compile(r"-?\d{1,12}")


def _date(text: str) -> datetime:
    try:
        if _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text.upper().replace("Z", "+00:00"))
    except (ValueError, OverflowError, OSError):
        raise ValueError("the value is not a date such as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("the value is neither true nor false")
    return text.lower() == "true"


def _binary(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raise ValueError("the value is not base64") from None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError("the value is not an address or a range such as 10.0.0.0/8") from None


def _in_network(value: str, wanted: Pattern, context: Context) -> bool:
    try:
        return ipaddress.ip_address(value) in _network(wanted.value(context))
    except ValueError:
        return False


_ARN = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:.+|\*", re.DOTALL)


def _arn(text: str) -> None:
    if not _ARN.fullmatch(text):
        raise ValueError("the value is not an ARN, which has six parts between colons")


def _ordered(name: str, read: Callable[[str], Any]) -> dict[str, Operator]:
    equals = _compared(read, lambda a, b: a == b)
    return {
        f"{name}Equals": Operator(equals, check=read),
        f"{name}NotEquals": Operator(equals, negated=True, check=read),
        f"{name}LessThan": Operator(_compared(read, lambda a, b: a < b), check=read),
        f"{name}LessThanEquals": Operator(_compared(read, lambda a, b: a <= b), check=read),
        f"{name}GreaterThan": Operator(_compared(read, lambda a, b: a > b), check=read),
        f"{name}GreaterThanEquals": Operator(_compared(read, lambda a, b: a >= b), check=read),
    }


NULL = "Null"
"""The operator that tests whether a request lacks a condition key. It compares no values, so
`conditions` handles it separately."""

OPERATORS = {
    "StringEquals": Operator(_equals, fixed=_one_of),
    "StringNotEquals": Operator(_equals, negated=True, fixed=_one_of),
    "StringEqualsIgnoreCase": Operator(_equals_in_any_case),
    "StringNotEqualsIgnoreCase": Operator(_equals_in_any_case, negated=True),
    "StringLike": Operator(_like, fixed=_like_one_of),
    "StringNotLike": Operator(_like, negated=True, fixed=_like_one_of),
    **_ordered("Numeric", _number),
    **_ordered("Date", _date),
    "Bool": Operator(_compared(_boolean, lambda a, b: a is b), check=_boolean),
    "BinaryEquals": Operator(_compared(_binary, lambda a, b: a == b), check=_binary),
    "IpAddress": Operator(_in_network, check=_network),
    "NotIpAddress": Operator(_in_network, negated=True, check=_network),
    # ArnEquals behaves like ArnLike, and ArnNotEquals like ArnNotLike: all match wildcards.
    "ArnEquals": Operator(_like, check=_arn, fixed=_like_one_of),
    "ArnLike": Operator(_like, check=_arn, fixed=_like_one_of),
    "ArnNotEquals": Operator(_like, negated=True, check=_arn, fixed=_like_one_of),
    "ArnNotLike": Operator(_like, negated=True, check=_arn, fixed=_like_one_of),
    NULL: Operator(_compared(_boolean, lambda a, b: a is b), check=_boolean),
}
