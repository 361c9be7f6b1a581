"""Keys sort as their values do, and each kind of bound selects exactly the rows of a filter."""

from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.engine.keyspace import bounds
from hashrange.engine.keyspace.keys import RowKey, component, ordered_number, parse_raw, raw_key
from hashrange.engine.keyspace.rows import DamagedRow, Row, contents, encode_row, row_at
from hashrange.model import numbers

PREFIX = b"\x07" * 16

decimals = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(-(10**20), 10**20),
    st.integers(-120, 80),
)
numbers_ = decimals.map(lambda value: {"N": numbers.canonical(format(value, "f"))})
# Bytes that have a meaning in the encoding are drawn more often.
edges = st.sampled_from(["\x00", "\x01", "\x00\x01", "a", "ab", "a\x00", "ÿ", "\U0010ffff"])
strings = (st.lists(edges, min_size=1).map("".join) | st.text(min_size=1)).map(lambda s: {"S": s})
blobs = (
    st.lists(st.sampled_from([b"\x00", b"\x01", b"\xff", b"a"]), min_size=1).map(b"".join)
    | st.binary(min_size=1)
).map(lambda b: {"B": b64encode(b).decode()})
SAME_TYPE = st.one_of(*(st.tuples(kind, kind) for kind in (numbers_, strings, blobs)))


def plain(value: dict[str, str]) -> Any:
    """Something that Python orders as DynamoDB does."""
    from base64 import b64decode

    [(type_, content)] = value.items()
    if type_ == "N":
        return Decimal(content)
    return content.encode() if type_ == "S" else b64decode(content)


@given(SAME_TYPE)
def test_components_order_as_values(pair: Any) -> None:
    a, b = pair
    assert (component(a) < component(b)) == (plain(a) < plain(b))
    assert (component(a) == component(b)) == (plain(a) == plain(b))


@given(SAME_TYPE)
def test_no_component_is_a_prefix_of_another(pair: Any) -> None:
    a, b = pair
    if plain(a) != plain(b):
        assert not component(b).startswith(component(a))


@pytest.mark.parametrize("text", ["0", "1", "-1", "0.1", "-0.001", "9" * 38, "-" + "9" * 38])
def test_numbers_of_every_size_have_an_encoding(text: str) -> None:
    assert ordered_number(text) == ordered_number(numbers.canonical(text))


def test_extreme_exponents_order() -> None:
    texts = ["-9.99e125", "-1", "-1e-130", "0", "1e-130", "1", "9.99e125"]
    encoded = [ordered_number(numbers.canonical(text)) for text in texts]
    assert encoded == sorted(encoded)


@given(st.lists(st.one_of(numbers_, strings, blobs), min_size=1, max_size=4))
def test_raw_keys_give_their_values_back(values: Any) -> None:
    assert parse_raw(raw_key(values)) == values


OPERATORS: dict[str, Any] = {
    "<": lambda key, a: key < a,
    "<=": lambda key, a: key <= a,
    ">": lambda key, a: key > a,
    ">=": lambda key, a: key >= a,
    "BETWEEN": lambda key, a, b: a <= key <= b,
    "begins_with": lambda key, a: key.startswith(a),
}
LISTS = st.one_of(*(st.lists(kind, min_size=2, max_size=8) for kind in (numbers_, strings, blobs)))


@given(LISTS, st.sampled_from(sorted(OPERATORS)), st.integers(0, 3), st.booleans())
def test_bounds_hold_the_rows_that_a_filter_selects(
    values: Any, operator: str, parts_before: int, tied: bool
) -> None:
    """The last value is the operand. Rows may have parts before it and a tie-breaker after it."""
    *stored, operand = values
    if operator == "begins_with" and "N" in operand:
        operator = ">="
    operands = [operand, operand] if operator == "BETWEEN" else [operand]
    prefix = PREFIX + component({"S": "a"}) * parts_before
    tie = b"\xff" * 16 if tied else b""
    bound = bounds.SORT_BOUNDS[operator](prefix, *operands)  # type: ignore[operator]
    for value in stored:
        expected = OPERATORS[operator](plain(value), *map(plain, operands))
        assert bounds.holds(bound, prefix + component(value) + tie) == expected


@given(st.lists(st.one_of(strings), min_size=1, max_size=10), st.booleans(), st.data())
def test_resume_leaves_the_rows_that_were_not_read(values: Any, reverse: bool, data: Any) -> None:
    keys = sorted({PREFIX + component(value) for value in values}, reverse=reverse)
    read = data.draw(st.integers(1, len(keys)))
    left = bounds.resume(bounds.everything(PREFIX), keys[read - 1], reverse)
    assert [key for key in keys if bounds.holds(left, key)] == keys[read:]


def test_a_partition_of_ff_bytes_ends_with_the_space() -> None:
    last = b"\xff" * 16
    assert bounds.everything(last).end is None
    assert bounds.holds(bounds.everything(last), last + b"\xff")


@given(st.integers(1, 1_000_000), st.binary(min_size=16, max_size=16))
def test_segments_part_the_hash_without_gap_or_overlap(total: int, key: bytes) -> None:
    guess = int.from_bytes(key[:8], "big") * total >> 64
    holding = [
        number
        for number in range(max(0, guess - 2), min(total, guess + 3))
        if bounds.holds(bounds.segment(number, total), key)
    ]
    assert len(holding) == 1
    assert bounds.segment(0, total).start == b""
    assert bounds.segment(total - 1, total).end is None


@given(st.binary(), st.binary(min_size=1), st.integers(0, 400_000), st.data())
def test_a_changed_byte_is_found(raw: bytes, item: bytes, size: int, data: Any) -> None:
    value = encode_row(raw, item, size)
    row = Row(value)
    assert (row.raw, row.json, row.size) == (raw, item, size)
    at = data.draw(st.integers(0, len(value) - 1))
    damaged = bytearray(value)
    damaged[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedRow):
        Row(bytes(damaged))


@pytest.mark.parametrize("length", range(12))
def test_a_row_that_is_cut_short_is_found(length: int) -> None:
    row = encode_row(b"raw", b"{}", 3)
    with pytest.raises(DamagedRow):
        Row(row[:length])
    with pytest.raises(DamagedRow):
        contents([(b"", row), (b"", row[:length])])


def test_a_page_with_a_damaged_row_is_no_answer() -> None:
    row = encode_row(b"raw", b"{}", 3)
    with pytest.raises(DamagedRow, match="checksum"):
        contents([(b"", row), (b"", row[:-1] + b"?")])


def test_a_row_under_another_key_is_no_answer() -> None:
    row = encode_row(b"raw", b"{}", 3)
    assert row_at(RowKey(b"key", b"raw"), None) is None
    found = row_at(RowKey(b"key", b"raw"), row)
    assert found
    assert found.item == {}
    with pytest.raises(DamagedRow, match="another row's key"):
        row_at(RowKey(b"key", b"war"), row)
