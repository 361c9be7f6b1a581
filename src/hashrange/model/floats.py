"""Lists of 32-bit numbers in three forms: DynamoDB's lists of numbers, bytes, and decimal texts."""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from struct import Struct

from hashrange.model.values import AttributeValue

LARGEST = 3.4028235e38
"""The largest 32-bit number, rounded to eight digits as in the service's messages."""
BYTES = 4
_DIGITS_MAX = 9
"""The number of significant digits that distinguish any two 32-bit numbers."""
_ONE = Struct("<f")


@lru_cache(maxsize=64)
def layout(dimensions: int) -> Struct:
    return Struct(f"<{dimensions}f")


def numbers_of(value: AttributeValue) -> list[float] | None:
    """The elements of a canonical list of numbers; None if the value is anything else.

    `pack` rounds numbers that have more digits than 32 bits can hold.
    """
    try:
        return [float(element["N"]) for element in value["L"]]
    except KeyError:
        return None


def fits(numbers: Sequence[float]) -> bool:
    """Whether there is at least one number, and each is in the range of 32-bit numbers."""
    return max(numbers) <= LARGEST and min(numbers) >= -LARGEST


def pack(numbers: Sequence[float]) -> bytes:
    """The numbers, rounded to 32 bits. They must be in the range of 32-bit numbers (see `fits`)."""
    return layout(len(numbers)).pack(*numbers)


def unpack(packed: bytes) -> tuple[float, ...]:
    return layout(len(packed) // BYTES).unpack(packed)


def as_list(packed: bytes) -> AttributeValue:
    """DynamoDB's list of the numbers, each with the fewest digits that identify it."""
    return {"L": [{"N": _shortest(number)} for number in unpack(packed)]}


def _shortest(number: float) -> str:
    if number.is_integer() and abs(number) < 1 << 24:
        return str(int(number))
    for digits in range(6, _DIGITS_MAX + 1):
        text = f"{number:.{digits}g}"
        if _ONE.unpack(_ONE.pack(float(text)))[0] == number:
            break
    return f"{Decimal(text).normalize():f}"
