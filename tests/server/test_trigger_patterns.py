"""The filter patterns of triggers, by Lambda's guide."""

from typing import Any

import pytest

from hashrange.server.triggers.patterns import PatternError, matcher

RECORD = {
    "eventName": "INSERT",
    "dynamodb": {
        "ApproximateCreationDateTime": 100,
        "Keys": {"pk": {"S": "order#1"}},
        "NewImage": {"kind": {"S": "Order"}, "n": {"N": "5"}, "paid": {"BOOL": True}},
        "tags": ["a", "b"],
        "empty": "",
        "nothing": None,
    },
}


def image(name: str, rules: list[Any], type_: str = "S") -> dict[str, Any]:
    return {"dynamodb": {"NewImage": {name: {type_: rules}}}}


def content(name: str, *rules: Any) -> dict[str, Any]:
    return {"dynamodb": {name: [*rules]}}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["REMOVE"]}, False),
        ({"eventName": ["insert"]}, False),
        ({"eventName": [{"equals-ignore-case": "insert"}]}, True),
        (image("kind", ["Order"]) | {"eventName": ["REMOVE"]}, False),
        (image("n", ["5"], "N"), True),
        (image("n", [{"numeric": ["=", 5]}], "N"), False),  # DynamoDB's numbers are texts
        (image("paid", [True], "BOOL"), True),
        (image("paid", [1], "BOOL"), False),
        ({"dynamodb": {"Keys": {"pk": {"S": [{"prefix": "order#"}]}}}}, True),
        ({"dynamodb": {"Keys": {"pk": {"S": [{"suffix": "#2"}]}}}}, False),
        (image("kind", [{"anything-but": ["Invoice"]}]), True),
        (image("kind", [{"anything-but": "Order"}]), False),
        (image("kind", [{"anything-but": {"prefix": "Ord"}}]), False),
        (image("gone", [{"anything-but": ["Invoice"]}]), False),
        (image("gone", [{"exists": False}]), True),
        (image("kind", [{"exists": False}]), False),
        (image("kind", [{"exists": True}]), True),
        ({"dynamodb": {"NewImage": [{"exists": True}]}}, False),  # only leaves exist
        (content("ApproximateCreationDateTime", {"numeric": [">", 0, "<=", 100]}), True),
        (content("ApproximateCreationDateTime", {"numeric": ["<", 100]}), False),
        (content("ApproximateCreationDateTime", 100.0), True),
        (content("tags", "b"), True),
        (content("tags", "c"), False),
        (content("empty", ""), True),
        (content("nothing", None), True),
        (content("gone", None), False),
        ({"$or": [{"eventName": ["REMOVE"]}, {"eventName": ["INSERT"]}]}, True),
        ({"dynamodb": {"$or": [{"empty": ["x"]}, {"nothing": ["x"]}]}}, False),
    ],
)
def test_patterns(pattern: Any, expected: bool) -> None:
    assert matcher(pattern)(RECORD) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        [],
        {},
        "x",
        {"a": "x"},
        {"a": []},
        {"a": [["x"]]},
        {"a": [{"like": "x"}]},
        {"a": [{"prefix": 1}]},
        {"a": [{"prefix": "a", "suffix": "b"}]},
        {"a": [{"exists": "yes"}]},
        {"a": [{"numeric": [">"]}]},
        {"a": [{"numeric": ["~", 1]}]},
        {"a": [{"numeric": [">", "1"]}]},
        {"a": [{"anything-but": []}]},
        {"$or": []},
        {"$or": {"a": ["x"]}},
    ],
)
def test_what_makes_no_sense(pattern: Any) -> None:
    with pytest.raises(PatternError):
        matcher(pattern)
