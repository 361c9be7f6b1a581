"""Attribute values: which are valid, their canonical form, their size, and equality."""

import copy
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.model import limits, numbers, values
from hashrange.model.errors import ApiError, SerializationException, ValidationException
from hashrange.model.values import AttributeValue

INVALID = "One or more parameter values were invalid: "

SIZES: list[tuple[AttributeValue, int]] = [
    ({"S": ""}, 0),
    ({"S": "héé"}, 5),
    ({"S": "😀"}, 4),
    ({"S": "\0"}, 1),
    ({"N": "-42"}, 3),
    ({"B": ""}, 0),
    ({"B": "YQ=="}, 1),
    ({"B": "YWI="}, 2),
    ({"B": "YWJj"}, 3),
    ({"BOOL": False}, 1),
    ({"NULL": True}, 1),
    ({"SS": ["", "a", "bé"]}, 4),
    ({"NS": ["-2.5", "1"]}, 2 + 4),
    ({"BS": ["", "YQ=="]}, 1),
    ({"L": []}, 3),
    ({"M": {}}, 3),
    ({"L": [{"S": "ab"}, {"NULL": True}]}, 3 + 2 + 1 + 1 + 1),
    ({"M": {"né": {"S": "ab"}}}, 3 + 1 + 3 + 2),
    ({"L": [{"M": {"k": {"L": [{"N": "12"}]}}}]}, 3 + 1 + (3 + 1 + 1 + (3 + 1 + 2))),
]

# In order of precedence, if one value has several faults.
REFUSED: list[tuple[Any, type[ApiError], str]] = [
    ({}, ValidationException, values.EMPTY),
    ({"L": [{}]}, ValidationException, values.EMPTY),
    ({"M": {"a": {}}}, ValidationException, values.EMPTY),
    ({"S": "a", "N": "1"}, ValidationException, values.SEVERAL),
    ({"S": "a", "N": "x"}, ValidationException, f"{numbers.NOT_A_NUMBER}: x"),
    ({"S": "", "SS": []}, ValidationException, INVALID + "An string set  may not be empty"),
    ({"S": "a", "L": [{"S": "a", "N": "b"}]}, ValidationException, f"{numbers.NOT_A_NUMBER}: b"),
    ({"N": ""}, ValidationException, f"{numbers.NOT_A_NUMBER}: "),
    ({"NS": ["1", ""]}, ValidationException, f"{numbers.NOT_A_NUMBER}: "),
    (
        {"NULL": False},
        ValidationException,
        INVALID + "Null attribute value types must have the value of true",
    ),
    ({"SS": []}, ValidationException, INVALID + "An string set  may not be empty"),
    ({"NS": []}, ValidationException, INVALID + "An number set  may not be empty"),
    ({"BS": []}, ValidationException, INVALID + "Binary sets should not be empty"),
    (
        {"SS": ["a", "b", "a"]},
        ValidationException,
        INVALID + 'Input collection ["a", "b", "a"] contains duplicates.',
    ),
    (
        {"SS": ["c", "a", "c", "b", "a"]},
        ValidationException,
        INVALID + 'Input collection ["a", "c", "c", "b", "a"] contains duplicates.',
    ),
    (
        {"NS": ["1", "2", "1.0"]},
        ValidationException,
        INVALID + "Input collection contains duplicates.",
    ),
    (
        {"BS": ["/w==", "AA==", "AA=="]},
        ValidationException,
        INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
    ),
    (
        {"B": "a"},
        SerializationException,
        "Base64 encoded length is expected a multiple of 4 bytes but found: 1",
    ),
    *(
        ({"B": text}, SerializationException, values.BAD_BASE64)
        for text in ["====", "a===", "abc!", "ab=c", "Yh==", "YmJ=", "aébc", "YWJj\n\n\n\n", "YW-_"]
    ),
    ({"BS": ["YQ==", "Yh=="]}, SerializationException, values.BAD_BASE64),
]


def nested(levels: int, leaf: AttributeValue) -> AttributeValue:
    """A value of this many levels, the leaf included."""
    for level in range(levels - 1):
        leaf = {"L": [leaf]} if level % 2 else {"M": {"a": leaf}}
    return leaf


@pytest.mark.parametrize(("value", "size"), SIZES)
def test_size(value: AttributeValue, size: int) -> None:
    before = copy.deepcopy(value)
    assert values.normalize(value) == size
    assert value == before
    assert values.value_size(value) == size
    assert values.normalize_item({"né": value}) == values.item_size({"né": value}) == 3 + size


@pytest.mark.parametrize(("value", "error", "message"), REFUSED)
def test_refused(value: Any, error: type[ApiError], message: str) -> None:
    for place in (value, nested(3, value)):
        with pytest.raises(error) as raised:
            values.normalize_item({"fine": {"S": "x"}, "a": copy.deepcopy(place)})
        assert raised.value.message == message


def test_numbers_become_canonical_in_place() -> None:
    item: values.Item = {
        "a": {"N": "+01.50"},
        "b": {"NS": ["1e2", "-0"]},
        "c": {"L": [{"M": {"d": {"N": ".5"}}}]},
    }
    values.normalize_item(item)
    assert item == {
        "a": {"N": "1.5"},
        "b": {"NS": ["0", "100"]},
        "c": {"L": [{"M": {"d": {"N": "0.5"}}}]},
    }


def test_sets_are_kept_in_the_order_of_their_members() -> None:
    item: values.Item = {
        "s": {"SS": ["b", "ÿ", "\U0001d11e", "B", "\ufb01"]},
        "n": {"NS": ["10", "9", "-1", "1e-3"]},
        "b": {"BS": ["/w==", "AAA=", "AA=="]},
    }
    values.normalize_item(item)
    assert item == {
        "s": {"SS": ["B", "b", "ÿ", "\ufb01", "\U0001d11e"]},
        "n": {"NS": ["-1", "0.001", "9", "10"]},
        "b": {"BS": ["AA==", "AAA=", "/w=="]},
    }


# (value, what operations with legacy validation say of it)
LEGACY: list[tuple[AttributeValue, str]] = [
    ({"SS": ["b", "a", "b"]}, INVALID + "Input collection [b, a, b] contains duplicates."),
    ({"NS": ["2", "1", "2"]}, "Input collection contains duplicates"),
    (
        {"BS": ["/w==", "AA==", "AA=="]},
        INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
    ),
    ({"N": ""}, numbers.NOT_A_NUMBER),
    ({"N": "abc"}, f"{numbers.NOT_A_NUMBER}: abc"),
    ({"N": "1e126"}, numbers.OVERFLOW),
    ({"N": "1e-131"}, numbers.UNDERFLOW),
    ({"N": "0e126"}, numbers.OVERFLOW),
    ({"N": "1e2147483646"}, numbers.OVERFLOW),
    ({"N": "1e2147483647"}, numbers.UNDERFLOW),
    ({"N": "10e2147483646"}, numbers.UNDERFLOW),
    ({"N": "1e-2147483647"}, numbers.UNDERFLOW),
    ({"N": "1e-2147483648"}, f"{numbers.NOT_A_NUMBER}: 1e-2147483648"),
    ({"N": "1e2147483648"}, f"{numbers.NOT_A_NUMBER}: 1e2147483648"),
    ({"N": "-1e99999999999"}, f"{numbers.NOT_A_NUMBER}: -1e99999999999"),
]


@pytest.mark.parametrize(("value", "message"), LEGACY)
def test_messages_of_legacy_validation(value: AttributeValue, message: str) -> None:
    with pytest.raises(ValidationException) as raised:
        values.normalize(value)
    assert raised.value.legacy == message


@pytest.mark.parametrize("leaf", [{"S": "x"}, {"L": []}, {"M": {}}, {"SS": ["a"]}])
def test_nesting(leaf: AttributeValue) -> None:
    values.normalize_item({"a": nested(limits.NESTING_LEVELS_MAX, leaf)})
    with pytest.raises(ValidationException) as raised:
        values.normalize_item({"a": nested(limits.NESTING_LEVELS_MAX + 1, leaf)})
    assert raised.value.message == values.NESTED_TOO_DEEP


EQUAL = [
    ({"S": "a"}, {"S": "a"}),
    ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
    ({"BS": ["YQ==", "Yg=="]}, {"BS": ["Yg==", "YQ=="]}),
    ({"L": [{"M": {"a": {"NS": ["1", "2"]}}}]}, {"L": [{"M": {"a": {"NS": ["2", "1"]}}}]}),
    ({"M": {"a": {"S": "x"}, "b": {"N": "1"}}}, {"M": {"b": {"N": "1"}, "a": {"S": "x"}}}),
]
UNEQUAL = [
    ({"S": "1"}, {"N": "1"}),
    ({"S": "a"}, {"S": "b"}),
    ({"SS": ["1"]}, {"NS": ["1"]}),
    ({"SS": ["a"]}, {"SS": ["a", "b"]}),
    ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
    ({"L": []}, {"L": [{"S": "a"}]}),
    ({"L": [{"SS": ["a", "b"]}, {"S": "x"}]}, {"L": [{"SS": ["b", "a"]}, {"S": "y"}]}),
    ({"M": {"a": {"S": "x"}}}, {"M": {"b": {"S": "x"}}}),
    ({"BOOL": True}, {"BOOL": False}),
    ({"L": []}, {"M": {}}),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equal(a: AttributeValue, b: AttributeValue) -> None:
    assert values.equal(a, b)
    assert values.equal(b, a)
    assert values.is_among([{"S": "x"}, a], b)


@pytest.mark.parametrize(("a", "b"), UNEQUAL)
def test_unequal(a: AttributeValue, b: AttributeValue) -> None:
    assert not values.equal(a, b)
    assert not values.equal(b, a)
    assert not values.is_among([{"S": "x"}, a], b)


def ordered(tag: str, *contents: str) -> list[AttributeValue]:
    return [{tag: content} for content in contents]


@pytest.mark.parametrize(
    "rising",
    [
        ordered("S", "", "A", "a", "a\0", "aa", "b", "é", "\uffff", "😀"),
        ordered("N", "-10", "-9.5", "-0.1", "0", "0.1", "2", "10", "100"),
        ordered("B", "", "AA==", "AP8=", "fw==", "gA==", "/w=="),
    ],
)
def test_order(rising: list[AttributeValue]) -> None:
    for i, a in enumerate(rising):
        for j, b in enumerate(rising):
            order = values.compare(a, b)
            assert order is not None
            assert (order > 0, order == 0, order < 0) == (i > j, i == j, i < j)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"BOOL": True}, {"BOOL": True}),
        ({"L": []}, {"L": []}),
        ({"SS": ["a"]}, {"SS": ["a"]}),
        ({"NULL": True}, {"NULL": True}),
    ],
)
def test_values_without_an_order(a: AttributeValue, b: AttributeValue) -> None:
    assert values.compare(a, b) is None


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)
binaries = st.binary(max_size=8).map(lambda content: b64encode(content).decode())
number_texts = st.integers(-(10**40), 10**40).map(lambda n: f"{n}e-5").filter(lambda t: len(t) < 40)
attribute_values: st.SearchStrategy[AttributeValue] = st.recursive(
    st.one_of(
        st.fixed_dictionaries({"S": texts}),
        st.fixed_dictionaries({"N": number_texts}),
        st.fixed_dictionaries({"B": binaries}),
        st.fixed_dictionaries({"BOOL": st.booleans()}),
        st.just({"NULL": True}),
        st.fixed_dictionaries({"SS": st.lists(texts, min_size=1, unique=True)}),
        st.fixed_dictionaries({"BS": st.lists(binaries, min_size=1, unique=True)}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"M": st.dictionaries(names, inner, max_size=3)}),
    ),
    max_leaves=8,
)


@given(attribute_values)
def test_canonical_values_stay_unchanged(value: AttributeValue) -> None:
    size = values.normalize(value)
    again = copy.deepcopy(value)
    assert values.normalize(again) == size == values.value_size(value)
    assert again == value
    assert values.equal(again, value)
