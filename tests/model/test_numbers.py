"""Numbers: every spelling has one canonical text, nothing is rounded, sizes are as measured."""

import re
from collections.abc import Callable
from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.model import numbers
from hashrange.model.errors import ValidationException

NINES = "9" * 38

CANONICAL = {
    "0": "0",
    "-0": "0",
    "+5": "5",
    ".5": "0.5",
    "5.": "5",
    "-.50": "-0.5",
    "007": "7",
    "0042.1200": "42.12",
    "1.e5": "100000",
    "1e+5": "100000",
    "1E-2": "0.01",
    "12.5e1": "125",
    "0.0e126": "0",
    "0e125": "0",
    "0e-130": "0",
    "1e00000000000000000003": "1000",
    "-1.0": "-1",
    "10": "10",
    "1000.001": "1000.001",
}

NOT_NUMBERS = ["", " ", "1 ", " 1", "abc", "NaN", "Infinity", "0x1", "1e", "1.2.3", ".", "-", "e5"]
NOT_NUMBERS += ["1_000", "1,000", "٣", "+-1", "--1", "1e1.5", "1\n", "\x001"]

OUT_OF_RANGE = {
    "1e126": numbers.OVERFLOW,
    "-1e126": numbers.OVERFLOW,
    "10e125": numbers.OVERFLOW,
    "0e126": numbers.OVERFLOW,
    "1" * 127: numbers.OVERFLOW,
    "1e2147483647": numbers.OVERFLOW,
    "1e9223372036854775807": numbers.OVERFLOW,
    "1e-131": numbers.UNDERFLOW,
    "0e-131": numbers.UNDERFLOW,
    "0." + "0" * 131: numbers.UNDERFLOW,
    "1e-9223372036854775808": numbers.UNDERFLOW,
    "1" * 39: numbers.TOO_MANY_DIGITS,
    "1." + "1" * 38: numbers.TOO_MANY_DIGITS,
    "-" + "1" * 39: numbers.TOO_MANY_DIGITS,
}

# Measured on the service, each at the limit of an item's size.
SIZES = {"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "12345678901234567890123456789012345678": 20}
SIZES |= {"0042": 2, "100": 2, "1010": 3, "0.0000001": 2, "1E125": 2, "1E-100": 2, "1.5": 3}
SIZES |= {"15": 2, "1.2": 3, "1.200": 3, "1.234": 4, "3.14159": 5, "123456": 4, "100.5": 4}
SIZES |= {"0.15": 2, "-42": 3, "-0": 1}

numbers_of_38_digits = st.builds(
    lambda sign, digits, exponent: Decimal(f"{sign}{digits}E{exponent - len(str(digits)) + 1}"),
    st.sampled_from(["", "-"]),
    st.integers(1, 10**38 - 1),
    st.integers(-130, 125),
)


@pytest.mark.parametrize(("written", "canonical"), CANONICAL.items())
def test_canonical_text(written: str, canonical: str) -> None:
    assert numbers.canonical(written) == canonical


@pytest.mark.parametrize("text", [NINES, "-" + NINES, "0." + NINES, "9." + NINES[1:]])
def test_38_digits_are_kept(text: str) -> None:
    assert numbers.canonical(text) == text


def test_the_extremes_of_the_range() -> None:
    assert numbers.canonical("1e125") == "1" + "0" * 125
    assert numbers.canonical(f"9.{NINES[1:]}e125") == NINES + "0" * 88
    assert numbers.canonical("-1e-130") == "-0." + "0" * 129 + "1"


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_texts_that_are_not_numbers(text: str) -> None:
    expected = f"{numbers.NOT_A_NUMBER}: {text}"
    with pytest.raises(ValidationException, match=f"^{re.escape(expected)}$"):
        numbers.canonical(text)


@pytest.mark.parametrize(("text", "message"), OUT_OF_RANGE.items())
def test_out_of_range(text: str, message: str) -> None:
    with pytest.raises(ValidationException, match=f"^{re.escape(message)}$"):
        numbers.canonical(text)


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_size(text: str, size: int) -> None:
    assert numbers.size(numbers.canonical(text)) == size


@given(numbers_of_38_digits, st.sampled_from(["", "+"]), st.sampled_from("eE"))
def test_one_number_has_one_canonical_text(number: Decimal, plus: str, e: str) -> None:
    plain = format(number, "f")
    canonical = numbers.canonical(plain)
    assert numbers.to_decimal(canonical) == number
    assert numbers.canonical(canonical) == canonical
    assert numbers.canonical(str(number).replace("E", e)) == canonical
    assert numbers.canonical(("" if number < 0 else plus) + plain) == canonical
    assert not re.search(r"[eE+]|^-?0[0-9]|\.$|\..*0$|^-0$", canonical)


def outcome(compute: Callable[..., str], *arguments: str) -> str:
    """The result, or the error."""
    try:
        return compute(*arguments)
    except ValidationException as refusal:
        return refusal.message


@given(numbers_of_38_digits, numbers_of_38_digits, st.booleans())
def test_arithmetic_is_exact_or_refused(a: Decimal, b: Decimal, plus: bool) -> None:
    unlimited = Context(prec=600)
    exact = unlimited.add(a, b) if plus else unlimited.subtract(a, b)
    compute = numbers.add if plus else numbers.subtract
    written = [numbers.canonical(str(operand)) for operand in (a, b)]
    expected = outcome(numbers.canonical, format(exact, "f")) if exact else "0"
    assert outcome(compute, *written) == expected


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("1e50", "1", numbers.TOO_MANY_DIGITS),
        ("1", "1e50", numbers.TOO_MANY_DIGITS),
        ("9" * 38, "2", numbers.TOO_MANY_DIGITS),
        ("9e125", "9e125", numbers.OVERFLOW),
        ("-1e-130", "1.1e-130", numbers.UNDERFLOW),
    ],
)
def test_sums_that_are_refused(a: str, b: str, message: str) -> None:
    with pytest.raises(ValidationException, match=f"^{re.escape(message)}$"):
        numbers.add(numbers.canonical(a), numbers.canonical(b))


def test_sums_are_canonical() -> None:
    assert numbers.add("0.1", "-0.1") == "0"
    assert numbers.add("1.5", "1.5") == "3"
    assert numbers.subtract("1", "1.5") == "-0.5"
    assert numbers.add("1" + "0" * 37, "9" + "0" * 37) == "1" + "0" * 38
