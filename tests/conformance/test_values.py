"""Attribute values: every type is returned as it was written, and other JSON is refused."""

from typing import Any

import pytest

from .support import Table, cases, item

DEEP_32: dict[str, Any] = {"S": "leaf"}
for _ in range(31):
    DEEP_32 = {"L": [DEEP_32]}
DEEP_33 = {"M": {"m": DEEP_32}}

# (name, value): what is read is what was written
ROUND_TRIPS: list[tuple[str, dict[str, Any]]] = [
    ("S", {"S": "text"}),
    ("S, empty", {"S": ""}),
    ("S beyond the basic plane", {"S": "snow \u2603, clef \U0001d11e, é"}),
    ("S with control characters", {"S": 'nul \x00 tab \t quote " backslash \\ del \x7f'}),
    ("S with line separators", {"S": "a\u2028b\u2029c\r\n"}),
    ("N", {"N": "-1.5"}),
    ("B", {"B": b"\x00\xff\x10"}),
    ("B, empty", {"B": b""}),
    ("BOOL true", {"BOOL": True}),
    ("BOOL false", {"BOOL": False}),
    ("NULL", {"NULL": True}),
    ("M, empty", {"M": {}}),
    ("M of every type", {"M": {"s": {"S": ""}, "n": {"N": "1"}, "l": {"L": [{"BOOL": True}]}}}),
    ("M with names like types", {"M": {"S": {"N": "1"}, "M": {"M": {"L": {"L": []}}}}}),
    ("L, empty", {"L": []}),
    ("L of mixed types", {"L": [{"S": "a"}, {"N": "1"}, {"NULL": True}, {"L": []}, {"S": "a"}]}),
    ("SS", {"SS": ["a", "b"]}),
    ("SS with an empty member", {"SS": ["", "b"]}),
    ("NS", {"NS": ["-1", "2.5"]}),
    ("BS", {"BS": [b"\x00", b"\xff"]}),
    ("BS with an empty member", {"BS": [b"", b"\xff"]}),
    ("32 levels", DEEP_32),
]


@cases("name, value", ROUND_TRIPS)
def test_a_value_comes_back_as_it_went_in(table: Table, name: str, value: dict[str, Any]) -> None:
    table.call("PutItem", Item={**item(pk="a"), "v": value})
    found = table.call("GetItem", Key=item(pk="a"))["Item"]["v"]
    for members in found.values():
        if isinstance(members, list) and "L" not in found:
            members.sort()
    assert found == value


def test_a_set_comes_back_in_the_order_of_its_members(table: Table) -> None:
    sets = {
        "s": {"SS": ["b", "", "a"]},
        "n": {"NS": ["10", "9", "-1"]},
        "b": {"BS": [b"\xff", b"\x00\x01", b"\x00"]},
    }
    table.call("PutItem", Item={**item(pk="a"), **sets})
    table.call(
        "UpdateItem",
        Key=item(pk="a"),
        UpdateExpression="ADD s :s, n :n",
        ExpressionAttributeValues={":s": {"SS": ["aa"]}, ":n": {"NS": ["9.5"]}},
    )
    assert table.call("GetItem", Key=item(pk="a"))["Item"] == {
        **item(pk="a"),
        "s": {"SS": ["", "a", "aa", "b"]},
        "n": {"NS": ["-1", "9", "9.5", "10"]},
        "b": {"BS": [b"\x00", b"\x00\x01", b"\xff"]},
    }


def test_an_attribute_has_a_name(table: Table) -> None:
    refusal = "ValidationException: Empty attribute name"
    table.refused(refusal, "PutItem", Item={**item(pk="a"), "": {"N": "x"}})


def test_an_attribute_name_may_be_any_text(table: Table) -> None:
    names = [" ", "a.b", "a[0]", "#a", ":a", "ünïcödé", "\U0001d11e", "\x00", "select", "x" * 1000]
    values = {"pk": "a"} | {name: rank for rank, name in enumerate(names)}
    table.put(values)
    assert table.get(pk="a") == values


SUPPLIED = "ValidationException: Supplied AttributeValue "
INVALID = "ValidationException: One or more parameter values were invalid: "
NS_DUPLICATES = INVALID + "Input collection contains duplicates."

# (name, value, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "no type",
        {},
        SUPPLIED + "is empty, must contain exactly one of the supported datatypes",
    ),
    (
        "two types",
        {"S": "a", "N": "1"},
        SUPPLIED + "has more than one datatypes set, must contain exactly one of the"
        " supported datatypes",
    ),
    ("SS, empty", {"SS": []}, INVALID + "An string set  may not be empty"),
    ("NS, empty", {"NS": []}, INVALID + "An number set  may not be empty"),
    ("BS, empty", {"BS": []}, INVALID + "Binary sets should not be empty"),
    (
        "SS, duplicate",
        {"SS": ["a", "b", "a"]},
        INVALID + 'Input collection ["a", "b", "a"] contains duplicates.',
    ),
    ("NS, duplicate", {"NS": ["1", "2", "1"]}, NS_DUPLICATES),
    ("NS, duplicate in value", {"NS": ["1", "1.0"]}, NS_DUPLICATES),
    ("BS, duplicate", {"BS": [b"a", b"b", b"a"]}, INVALID + "Input collection …"),
    (
        "NULL false",
        {"NULL": False},
        INVALID + "Null attribute value types must have the value of true",
    ),
    ("33 levels", DEEP_33, "ValidationException: Nesting Levels have exceeded supported limits: …"),
]


@cases("name, value, refusal", REFUSED)
def test_a_value_is_refused(table: Table, name: str, value: dict[str, Any], refusal: str) -> None:
    table.refused(refusal, "PutItem", Item={**item(pk="a"), "v": value})
    assert table.get(pk="a") is None


@cases("name, value, refusal", [case for case in REFUSED if case[0] != "33 levels"])
@pytest.mark.parametrize("around", ["L", "M"])
def test_a_nested_value_is_refused(
    table: Table, around: str, name: str, value: dict[str, Any], refusal: str
) -> None:
    nested = {"L": [{"S": "x"}, value]} if around == "L" else {"M": {"x": value}}
    table.refused(refusal, "PutItem", Item={**item(pk="a"), "v": nested})


@cases("name, value, refusal", [case for case in REFUSED if case[0] != "33 levels"])
def test_a_value_of_an_expression_is_refused(
    table: Table, name: str, value: dict[str, Any], refusal: str
) -> None:
    if len(value) != 1:  # which legacy validation reads; it names the value
        refusal = refusal.replace("Supplied", "ExpressionAttributeValues … value: Supplied") + "…"
    table.refused(
        refusal,
        "UpdateItem",
        Key=item(pk="a"),
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues={":v": value},
    )


EQUAL = [
    ("numbers of other spelling", {"N": "1"}, {"N": "1.00"}, True),
    ("numbers", {"N": "1"}, {"N": "2"}, False),
    ("types", {"N": "1"}, {"S": "1"}, False),
    ("sets in another order", {"SS": ["a", "b"]}, {"SS": ["b", "a"]}, True),
    ("number sets of other spelling", {"NS": ["1", "2"]}, {"NS": ["2.0", "1e0"]}, True),
    ("a part of a set", {"SS": ["a", "b"]}, {"SS": ["a"]}, False),
    ("lists", {"L": [{"N": "1"}, {"N": "2"}]}, {"L": [{"N": "1.0"}, {"N": "2"}]}, True),
    ("lists of another length", {"L": [{"S": "a"}, {"S": ""}]}, {"L": [{"S": "a"}]}, False),
    ("maps", {"M": {"a": {"SS": ["x", "y"]}}}, {"M": {"a": {"SS": ["y", "x"]}}}, True),
    ("maps with one name more", {"M": {"a": {"S": "x"}}}, {"M": {}}, False),
    ("empty text and empty bytes", {"S": ""}, {"B": b""}, False),
    ("a list and a set", {"L": [{"S": "a"}]}, {"SS": ["a"]}, False),
]  # fmt: skip


@cases("name, stored, other, equal", EQUAL)
def test_equality_compares_nested_values_numbers_by_value_and_sets_in_any_order(
    table: Table, name: str, stored: dict[str, Any], other: dict[str, Any], equal: bool
) -> None:
    table.call("PutItem", Item={**item(pk="a"), "v": stored})
    found = table.call(
        "Scan", FilterExpression="v = :other", ExpressionAttributeValues={":other": other}
    )
    assert found["Count"] == int(equal)
    found = table.call(
        "Scan", FilterExpression="v <> :other", ExpressionAttributeValues={":other": other}
    )
    assert found["Count"] == int(not equal)
