"""The legacy parameters: what they mean, and their own faults in order of precedence."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple

from hashrange.expressions import KeyQuery, legacy
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import TableOrIndex
from hashrange.model.values import AttributeValue, Item

ITEM: Item = {
    "s": {"S": "abc"},
    "n": {"N": "5"},
    "b": {"B": "AAEC"},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "l": {"L": [{"N": "1"}, {"S": "a"}]},
    "m": {"M": {"a": {"N": "1"}}},
    "z": {"NULL": True},
    "t": {"BOOL": True},
}
INVALID = "One or more parameter values were invalid: "


def compare(operator: str, *values: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


def expect(expected: dict[str, Any], operator: str | None = None) -> bool:
    """Whether the item is as expected."""
    typed = msgspec.convert(expected, dict[str, requests.ExpectedAttributeValue])
    condition = legacy.condition(typed, operator)
    return condition is None or condition.matches(ITEM)


def passes(conditions: dict[str, Any], operator: str | None = None) -> bool:
    """Whether the item passes the filter."""
    typed = msgspec.convert(conditions, dict[str, requests.Condition])
    condition = legacy.filter(typed, operator)
    return condition is None or condition.matches(ITEM)


S: AttributeValue = {"S": "abc"}
N: AttributeValue = {"N": "5.0"}


@pytest.mark.parametrize(
    ("name", "comparison", "outcome"),
    [
        ("s", compare("EQ", S), True),
        ("n", compare("EQ", N), True),
        ("ss", compare("EQ", {"SS": ["b", "a"]}), True),
        ("l", compare("EQ", {"L": [{"N": "1.0"}, {"S": "a"}]}), True),
        ("s", compare("EQ", {"S": "x"}), False),
        ("q", compare("EQ", S), False),
        ("s", compare("NE", {"S": "x"}), True),
        ("s", compare("NE", S), False),
        ("q", compare("NE", S), True),
        ("n", compare("NE", S), True),
        ("n", compare("LT", {"N": "6"}), True),
        ("n", compare("LT", N), False),
        ("n", compare("LE", N), True),
        ("n", compare("GT", {"N": "-6"}), True),
        ("n", compare("GT", N), False),
        ("n", compare("GE", N), True),
        ("n", compare("GT", S), False),
        ("q", compare("GE", N), False),
        ("n", compare("BETWEEN", {"N": "1"}, N), True),
        ("n", compare("BETWEEN", N, N), True),
        ("n", compare("BETWEEN", {"N": "6"}, {"N": "7"}), False),
        ("s", compare("IN", {"S": "x"}, S), True),
        ("s", compare("IN", {"S": "x"}), False),
        ("q", compare("IN", S), False),
        ("s", compare("BEGINS_WITH", {"S": "ab"}), True),
        ("s", compare("BEGINS_WITH", {"S": "b"}), False),
        ("b", compare("BEGINS_WITH", {"B": "AAE="}), True),
        ("s", compare("CONTAINS", {"S": "bc"}), True),
        ("ss", compare("CONTAINS", {"S": "a"}), True),
        ("ns", compare("CONTAINS", {"N": "1.0"}), True),
        ("l", compare("CONTAINS", {"N": "1.0"}), True),
        ("t", compare("CONTAINS", {"BOOL": True}), False),
        ("q", compare("CONTAINS", S), False),
        ("s", compare("NOT_CONTAINS", {"S": "x"}), True),
        ("s", compare("NOT_CONTAINS", {"S": "bc"}), False),
        ("s", compare("NOT_CONTAINS", {"N": "1"}), True),
        ("l", compare("NOT_CONTAINS", {"N": "1.0"}), False),
        ("m", compare("NOT_CONTAINS", {"N": "1"}), True),
        ("q", compare("NOT_CONTAINS", S), False),
        ("q", compare("NULL"), True),
        ("z", compare("NULL"), False),
        ("z", compare("NOT_NULL"), True),
        ("q", compare("NOT_NULL"), False),
        ("q", {"ComparisonOperator": "NULL"}, True),
    ],
)
def test_comparisons(name: str, comparison: dict[str, Any], outcome: bool) -> None:
    assert expect({name: comparison}) is outcome
    assert passes({name: comparison}) is outcome


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        ({}, True),
        ({"s": {"Value": S}}, True),
        ({"s": {"Value": S, "Exists": True}}, True),
        ({"s": {"Value": N}}, False),
        ({"s": {"Exists": False}}, False),
        ({"q": {"Exists": False}}, True),
        ({"s": {"Value": S, "ComparisonOperator": "EQ"}}, True),
        ({"n": {"Value": N, "ComparisonOperator": "LT"}}, False),
    ],
)
def test_value_and_exists(expected: dict[str, Any], outcome: bool) -> None:
    assert expect(expected) is outcome


def test_conditional_operator() -> None:
    mixed = {"s": compare("NOT_NULL"), "q": compare("NOT_NULL")}
    for check in (expect, passes):
        assert not check(mixed)
        assert not check(mixed, "AND")
        assert check(mixed, "OR")


def refusal(act: Any, *arguments: Any) -> str:
    with pytest.raises(ValidationException) as caught:
        act(*arguments)
    return caught.value.message


NUMBER_OF = INVALID + "Invalid number of argument(s) for the {} ComparisonOperator"
NOT_VALID = INVALID + "ComparisonOperator {} is not valid for {} AttributeValue type"
MIXED = INVALID + "AttributeValues inside AttributeValueList must be of same type"
LIST: AttributeValue = {"L": []}
SET: AttributeValue = {"SS": ["a"]}
BOOL: AttributeValue = {"BOOL": True}
NULL: AttributeValue = {"NULL": True}


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        (compare("EQ"), NUMBER_OF.format("EQ")),
        (compare("EQ", S, S), NUMBER_OF.format("EQ")),
        (compare("NE"), NUMBER_OF.format("NE")),
        (compare("BETWEEN", S), NUMBER_OF.format("BETWEEN")),
        (compare("BETWEEN", S, S, S), NUMBER_OF.format("BETWEEN")),
        (compare("IN"), NUMBER_OF.format("IN")),
        (compare("NULL", S), NUMBER_OF.format("NULL")),
        (compare("NOT_NULL", S), NUMBER_OF.format("NOT_NULL")),
        (compare("IN", S, N), MIXED),
        (compare("BETWEEN", S, N), MIXED),
        (compare("LT", SET), NOT_VALID.format("LT", "SS")),
        (compare("LE", BOOL), NOT_VALID.format("LE", "BOOL")),
        (compare("GT", NULL), NOT_VALID.format("GT", "NULL")),
        (compare("GE", LIST), NOT_VALID.format("GE", "L")),
        (compare("BETWEEN", BOOL, BOOL), NOT_VALID.format("BETWEEN", "BOOL")),
        (compare("IN", LIST), NOT_VALID.format("IN", "L")),
        (compare("BEGINS_WITH", N), NOT_VALID.format("BEGINS_WITH", "N")),
        (compare("CONTAINS", SET), NOT_VALID.format("CONTAINS", "SS")),
        (compare("NOT_CONTAINS", LIST), NOT_VALID.format("NOT_CONTAINS", "L")),
        (
            compare("BETWEEN", {"S": "b"}, {"S": "a"}),
            "The BETWEEN condition was provided a range where the lower bound is greater than "
            "the upper bound",
        ),
        (
            compare("EQ", {"N": "x"}, S),
            "The parameter cannot be converted to a numeric value: x",
        ),
        (compare("LT", BOOL, S), NUMBER_OF.format("LT")),
        (compare("BETWEEN", BOOL, S), MIXED),
    ],
)
def test_faults_of_comparisons(comparison: dict[str, Any], message: str) -> None:
    assert refusal(expect, {"a": comparison}) == message
    assert refusal(passes, {"a": comparison}) == message


TOGETHER = INVALID + "{} cannot be used together for Attribute: a"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, INVALID + "Value must be provided when Exists is null for Attribute: a"),
        (
            {"Exists": True},
            INVALID + "Value must be provided when Exists is true for Attribute: a",
        ),
        (
            {"Exists": False, "Value": S},
            INVALID + "Value cannot be used when Exists is false for Attribute: a",
        ),
        ({"Value": S, **compare("EQ", S)}, TOGETHER.format("Value and AttributeValueList")),
        (
            {"Value": S, "AttributeValueList": [S]},
            TOGETHER.format("Value and AttributeValueList"),
        ),
        ({"Exists": True, **compare("EQ", S)}, TOGETHER.format("Exists and ComparisonOperator")),
        (
            {"Exists": False, "ComparisonOperator": "NULL"},
            TOGETHER.format("Exists and ComparisonOperator"),
        ),
        (
            {"AttributeValueList": [S]},
            INVALID + "AttributeValueList can only be used with a ComparisonOperator "
            "for Attribute: a",
        ),
        (
            {"ComparisonOperator": "EQ"},
            INVALID + "Value or AttributeValueList must be used with ComparisonOperator: EQ "
            "for Attribute: a",
        ),
        ({"Value": S, "ComparisonOperator": "NULL"}, NUMBER_OF.format("NULL")),
        ({"Value": S, "ComparisonOperator": "BETWEEN"}, NUMBER_OF.format("BETWEEN")),
        (
            {"Exists": True, "Value": S, **compare("EQ", S)},
            TOGETHER.format("Value and AttributeValueList"),
        ),
        ({"Value": {"SS": []}}, INVALID + "An string set  may not be empty"),
    ],
)
def test_faults_of_expected(given: dict[str, Any], message: str) -> None:
    assert refusal(expect, {"a": given}) == message
    assert refusal(expect, {"a": given, "b": {}}, "OR") == message


def test_conditional_operator_wants_two_conditions() -> None:
    few = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    none = "ConditionalOperator cannot be used without Filter or Expected"
    for check in (expect, passes):
        assert refusal(check, {"s": compare("NOT_NULL")}, "OR") == few
        assert refusal(check, {}, "AND") == none
    assert refusal(legacy.condition, None, "AND") == none


# ---- KeyConditions ----


def resolve(conditions: dict[str, Any]) -> KeyQuery:
    typed = msgspec.convert(conditions, dict[str, requests.Condition])
    condition = legacy.key_conditions(typed)
    view = TableOrIndex(space=1, hash=("pk",), range=("sk",))
    condition.check_partition(view)
    return condition.resolve(view, {"pk": "S", "sk": "N"})


PK = compare("EQ", {"S": "p"})


@pytest.mark.parametrize(
    ("conditions", "query"),
    [
        ({"pk": PK}, ([{"S": "p"}], [], None, [])),
        ({"sk": compare("EQ", N), "pk": PK}, ([{"S": "p"}], [{"N": "5"}], None, [])),
        ({"pk": PK, "sk": compare("GE", N)}, ([{"S": "p"}], [], ">=", [{"N": "5"}])),
        (
            {"pk": PK, "sk": compare("BETWEEN", N, {"N": "6"})},
            ([{"S": "p"}], [], "BETWEEN", [{"N": "5"}, {"N": "6"}]),
        ),
    ],
)
def test_key_conditions(conditions: dict[str, Any], query: tuple[Any, ...]) -> None:
    assert astuple(resolve(conditions)) == query


INDEXABLE = "Attempted conditional constraint is not an indexable operation"


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({"pk": PK, "sk": PK, "a": PK}, "Conditions can be of length 1 or 2 only"),
        ({"pk": compare("EQ")}, NUMBER_OF.format("EQ")),
        ({"pk": {"ComparisonOperator": "EQ"}}, NUMBER_OF.format("EQ")),
        ({"pk": compare("GT", {"S": "p"})}, "Query key condition not supported"),
        *[
            ({"pk": PK, "sk": compare(operator, *values)}, INDEXABLE)
            for operator, values in {
                "NE": [N],
                "IN": [N],
                "CONTAINS": [N],
                "NOT_CONTAINS": [N],
                "NULL": [],
                "NOT_NULL": [],
            }.items()
        ],
        (
            {"pk": compare("EQ", N)},
            INVALID + "Condition parameter type does not match schema type",
        ),
        ({"sk": compare("EQ", N)}, "Query condition missed key schema element: pk"),
        ({"pk": PK, "a": PK}, "Query condition missed key schema element: sk"),
        ({"pk": PK, "sk": compare("BEGINS_WITH", N)}, NOT_VALID.format("BEGINS_WITH", "N")),
        (
            {"pk": PK, "sk": compare("BETWEEN", {"N": "2"}, {"N": "1"})},
            "The BETWEEN condition was provided a range where the lower bound is greater than "
            "the upper bound",
        ),
    ],
)
def test_faults_of_key_conditions(conditions: dict[str, Any], message: str) -> None:
    assert refusal(resolve, conditions) == message


# ---- AttributeUpdates ----


def update(updates: dict[str, Any]) -> dict[str, Any]:
    """The attributes of the item that the update changes, with their new values."""
    typed = msgspec.convert(updates, dict[str, requests.AttributeValueUpdate])
    new = legacy.updates(typed).apply(ITEM)
    return {name: new.get(name) for name in {**ITEM, **new} if new.get(name) != ITEM.get(name)}


@pytest.mark.parametrize(
    ("updates", "changed"),
    [
        ({}, {}),
        ({"q": {"Value": S}}, {"q": S}),
        ({"a.b": {"Value": N}}, {"a.b": {"N": "5"}}),
        ({"s": {"Value": N, "Action": "PUT"}}, {"s": {"N": "5"}}),
        ({"s": {"Action": "DELETE"}}, {"s": None}),
        ({"q": {"Action": "DELETE"}}, {}),
        ({"n": {"Action": "ADD", "Value": N}}, {"n": {"N": "10"}}),
        ({"q": {"Action": "ADD", "Value": N}}, {"q": {"N": "5"}}),
        ({"ss": {"Action": "ADD", "Value": {"SS": ["b", "c"]}}}, {"ss": {"SS": ["a", "b", "c"]}}),
        (
            {"l": {"Action": "ADD", "Value": {"L": [S]}}},
            {"l": {"L": [{"N": "1"}, {"S": "a"}, S]}},
        ),
        ({"q": {"Action": "ADD", "Value": {"L": [S]}}}, {"q": {"L": [S]}}),
        ({"ss": {"Action": "DELETE", "Value": SET}}, {"ss": {"SS": ["b"]}}),
        ({"ss": {"Action": "DELETE", "Value": {"SS": ["b", "a"]}}}, {"ss": None}),
        ({"q": {"Action": "DELETE", "Value": SET}}, {}),
        ({"n": {"Value": S}, "s": {"Action": "DELETE"}}, {"n": S, "s": None}),
    ],
)
def test_updates(updates: dict[str, Any], changed: dict[str, Any]) -> None:
    assert update(updates) == changed


ONLY_DELETE = INVALID + "Only DELETE action is allowed when no attribute value is specified"


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"a": {}}, ONLY_DELETE),
        ({"a": {"Action": "PUT"}}, ONLY_DELETE),
        ({"a": {"Action": "ADD"}}, ONLY_DELETE),
        ({"a": {"Value": {"SS": []}}}, INVALID + "An string set  may not be empty"),
        (
            {"a": {"Action": "ADD", "Value": S}},
            INVALID + "ADD action is not supported for the type S",
        ),
        (
            {"a": {"Action": "ADD", "Value": {"M": {}}}},
            INVALID + "ADD action is not supported for the type M",
        ),
        (
            {"a": {"Action": "DELETE", "Value": LIST}},
            INVALID + "DELETE action with value is not supported for the type L",
        ),
        ({"s": {"Action": "ADD", "Value": N}}, "Type mismatch for attribute to update"),
        ({"ss": {"Action": "ADD", "Value": N}}, "Type mismatch for attribute to update"),
        ({"ns": {"Action": "DELETE", "Value": SET}}, "Type mismatch for attribute to update"),
    ],
)
def test_faults_of_updates(updates: dict[str, Any], message: str) -> None:
    assert refusal(update, updates) == message


# ---- AttributesToGet ----


def test_projection() -> None:
    item: Item = {**ITEM, "a.b": S}
    assert legacy.projection(["s", "a.b", "q", "m[0]"]).project(item) == {"s": S, "a.b": S}
    assert refusal(legacy.projection, ["a", "b", "b", "a"]) == (
        INVALID + "Duplicate value in attribute name: b"
    )
