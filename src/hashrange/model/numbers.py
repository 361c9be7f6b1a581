"""DynamoDB's numbers: exact decimals of 38 digits, always held as their canonical text.

The canonical text is plain decimal: no exponent, no `+`, no needless zero, no `-0`. So numbers are
equal if and only if their canonical texts are equal. Numbers are never rounded. Source of ranges
and spellings: the guide's page of service quotas; observed.
"""

import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact, Overflow, Subnormal

from hashrange.model import limits
from hashrange.model.errors import ValidationException

NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"
TOO_MANY_DIGITS = "Attempting to store more than 38 significant digits in a Number"
OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)

_canonical = re.compile(r"-?(?:0\.(?=0*[1-9])|[1-9][0-9]{0,18}\.)[0-9]{0,18}[1-9]").fullmatch
"""Matches canonical texts with a fraction that are too short to exceed any limit."""
_spelling = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+))?"
).fullmatch
_EXPONENT_BITS = 64
_LEGACY_BITS = 32
"""The width of exponents in legacy validation. If the exponent of the leading digit overflows, a
number that is too large may be refused as too small.

In all operations, a text whose exponent needs more than `_EXPONENT_BITS` is not a number.
"""

_SHORT = 38
"""The number of digits below which whole numbers and their sums are within every limit."""

_exact = Context(
    prec=limits.NUMBER_DIGITS_MAX,
    Emax=limits.NUMBER_EXPONENT_MAX,
    Emin=limits.NUMBER_EXPONENT_MIN,
    traps=[Inexact, Overflow, Subnormal],
)


def canonical(text: str) -> str:
    """The canonical text of a number, from any spelling that DynamoDB accepts.

    Raises ValidationException if the text is not a number, has over 38 digits, or is out of range.
    """
    if text.isdigit() and text.isascii() and text[0] != "0" and len(text) < _SHORT:
        return text
    if _canonical(text):
        return text
    return _rewrite(text)


def scale(text: str) -> int:
    """The number of digits after the point, less the exponent as written; 0 for a malformed text.

    1.0 and 1 are equal, but have different scales.
    """
    spelling = _spelling(text)
    if spelling is None or len(spelling["exponent"] or "") > _SHORT:
        return 0
    return len(spelling["fraction"] or "") - int(spelling["exponent"] or 0)


def to_decimal(text: str) -> Decimal:
    """The exact value of a canonical text."""
    return Decimal(text)


def add(a: str, b: str) -> str:
    """The sum of two canonical texts. Raises ValidationException if it cannot be stored exactly."""
    if len(a) < _SHORT and len(b) < _SHORT and a.isdigit() and b.isdigit():
        return str(int(a) + int(b))  # the usual case: a counter
    return _plain(_compute(_exact.add, a, b))


def subtract(a: str, b: str) -> str:
    """The difference of two canonical texts. Raises ValidationException if it cannot be stored
    exactly."""
    return _plain(_compute(_exact.subtract, a, b))


def size(text: str) -> int:
    """The size in bytes of a number with this canonical text.

    The size is one byte, plus one for each two digits before the point, plus one for each two
    digits after it, plus one for a minus sign. Leading and trailing zeros do not count. Observed;
    the documented formula is an approximation.
    """
    if text.isdigit():
        return 1 + (len(text.rstrip("0")) + 1) // 2
    whole, _, fraction = text.lstrip("-").partition(".")
    if not fraction:
        whole = whole.rstrip("0")
    elif whole == "0":
        whole, fraction = "", fraction.lstrip("0")
    return 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2 + (text[0] == "-")


def _rewrite(text: str) -> str:
    match = _spelling(text)
    if match is None:
        raise ValidationException(_not_a_number(text), legacy=None if text else NOT_A_NUMBER)
    sign, whole, fraction, exponent_text = match.groups("")
    written = _exponent(exponent_text)
    if not _fits(written, _EXPONENT_BITS):
        raise ValidationException(_not_a_number(text))
    exponent = written - len(fraction)
    mantissa = (whole + fraction).lstrip("0")
    # A zero has no digits left here, so only its exponent is checked.
    leading = exponent + max(len(mantissa), 1) - 1
    if not limits.NUMBER_EXPONENT_MIN <= leading <= limits.NUMBER_EXPONENT_MAX:
        counted = _fits(written, _LEGACY_BITS) and _fits(-exponent, _LEGACY_BITS)
        legacy = _out_of_range(_wrapped(leading + 1) - 1) if counted else _not_a_number(text)
        raise ValidationException(_out_of_range(leading), legacy)
    digits = mantissa.rstrip("0")
    if len(digits) > limits.NUMBER_DIGITS_MAX:
        raise ValidationException(TOO_MANY_DIGITS)
    if not digits:
        return "0"
    point = exponent + len(mantissa)
    return ("-" if sign == "-" else "") + _place_point(digits, point)


def _exponent(text: str) -> int:
    """The exponent as written. Digits after the 64th are dropped; the exponent is still out of
    range."""
    digits = text.lstrip("+-").lstrip("0")[:_EXPONENT_BITS] or "0"
    return -int(digits) if text.startswith("-") else int(digits)


def _fits(number: int, bits: int) -> bool:
    return -1 << (bits - 1) <= number < 1 << (bits - 1)


def _wrapped(number: int) -> int:
    """The 32-bit number to which a larger number overflows."""
    half = 1 << (_LEGACY_BITS - 1)
    return (number + half) % (2 * half) - half


def _not_a_number(text: str) -> str:
    return f"{NOT_A_NUMBER}: {text}"


def _out_of_range(exponent: int) -> str:
    return OVERFLOW if exponent > limits.NUMBER_EXPONENT_MAX else UNDERFLOW


def _place_point(digits: str, point: int) -> str:
    """Write digits with the point after the first `point` of them."""
    if point >= len(digits):
        return digits.ljust(point, "0")
    if point > 0:
        return f"{digits[:point]}.{digits[point:]}"
    return "0." + "0" * -point + digits


def _compute(operation: Callable[[Decimal, Decimal], Decimal], a: str, b: str) -> Decimal:
    try:
        return operation(Decimal(a), Decimal(b))
    except Overflow:
        raise ValidationException(OVERFLOW) from None
    except Subnormal:
        raise ValidationException(UNDERFLOW) from None
    except Inexact:
        raise ValidationException(TOO_MANY_DIGITS) from None


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if number else "0"
