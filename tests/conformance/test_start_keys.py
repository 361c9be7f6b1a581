"""ExclusiveStartKey: which are refused, with which message, and in which order of faults."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, gsi, item, lsi, plains

BAD = "ValidationException: The provided starting key is invalid"
MISMATCH = (
    "ValidationException: One or more parameter values were invalid: Type mismatch for Index…"
)
EMPTY = "ValidationException: One or more parameter values are not valid. The AttributeValue for a…"
OUTSIDE = (
    "ValidationException: The provided starting key is outside query boundaries based on"
    " provided conditions"
)
OUTSIDE_OF_RANGE = (
    "ValidationException: The query can return at most one row and cannot be restarted"
)
NOT_IN_RANGE = (
    "ValidationException: The provided starting key does not match the range key predicate"
)
MISSED = "ValidationException: Query condition missed key schema element: "
NOT_ALL = (
    "ValidationException: One or more parameter values were invalid: Select type ALL_ATTRIBUTES"
    " is not supported for global secondary index byGroup because its projection type is not ALL"
)


@pytest.fixture(scope="module")
def table(new_shared_table: NewTable) -> Table:
    return new_shared_table(
        "pk/sk", lsi("byRank", "pk/rank"), gsi("byGroup", "team/rank", "KEYS_ONLY")
    )


def by(name: str, value: Any = "b") -> dict[str, Any]:
    return {
        "KeyConditionExpression": f"{name} = :v",
        "ExpressionAttributeValues": item({":v": value}),
    }


def ranged(condition: str) -> dict[str, Any]:
    return {
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": item({":v": "b"}),
    }


def no_key(index: str | None = None) -> dict[str, Any]:
    """A key condition on an attribute that is no key."""
    return {**by("x"), **({"IndexName": index} if index else {})}


LOCAL = {"IndexName": "byRank"}
GLOBAL = {"IndexName": "byGroup"}
EVERYTHING = {**GLOBAL, "Select": "ALL_ATTRIBUTES"}

# (name, parameters, starting key, refusal)
QUERIES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    # The number of attributes and the partition key come before the key condition ...
    ("empty", no_key(), {}, BAD),
    ("too few", no_key(), {"pk": "a"}, BAD),
    ("too many", no_key(), {"pk": "a", "sk": "a", "x": "a"}, BAD),
    ("no partition key", no_key(), {"sk": "a", "x": "a"}, BAD),
    ("partition key of another type", no_key(), {"pk": 1, "x": "a"}, BAD),
    ("partition key that is a set", no_key(), {"pk": {"a"}, "sk": "a"}, BAD),
    ("of an index, the table's only", no_key("byRank"), {"pk": "a", "sk": "a"}, BAD),
    (
        "of an index, no partition key",
        no_key("byGroup"),
        {"pk": "a", "sk": "a", "rank": "a", "x": "a"},
        BAD,
    ),
    # ... and the rest after it.
    ("no sort key", no_key(), {"pk": "a", "x": "a"}, MISSED + "pk"),
    ("sort key of another type", no_key(), {"pk": "a", "sk": 1}, MISSED + "pk"),
    ("no sort key, all else well", by("pk"), {"pk": "b", "x": "a"}, BAD),
    ("sort key of another type, all else well", by("pk"), {"pk": "b", "sk": 1}, BAD),
    ("empty sort key", by("pk"), {"pk": "b", "sk": ""}, EMPTY),
    (
        "of an index, sort key of another type",
        {**LOCAL, **by("pk")},
        {"pk": "b", "sk": 1, "rank": 1},
        BAD,
    ),
    (
        "of an index, the table's sort key of another type",
        {**LOCAL, **by("pk")},
        {"pk": "b", "sk": 1, "rank": "a"},
        BAD,
    ),
    (
        "of an index, no key of the table",
        {**GLOBAL, **by("team")},
        {"x": "a", "y": "a", "team": "b", "rank": "a"},
        BAD,
    ),
    ("no sort key before Select", {**EVERYTHING, **by("team")}, {"team": "b"}, BAD),
    (
        "a key of the index missed before Select",
        {**EVERYTHING, **ranged("team = :v AND x = :v")},
        {"pk": "b", "sk": "b", "team": "b", "rank": "b"},
        MISSED + "rank",
    ),
    # Then it has to lie where the key condition says, its sort key first.
    ("another partition", by("pk"), {"pk": "a", "sk": "a"}, OUTSIDE),
    ("before the range", ranged("pk = :v AND sk > :v"), {"pk": "b", "sk": "a"}, NOT_IN_RANGE),
    ("before another's range", ranged("pk = :v AND sk > :v"), {"pk": "a", "sk": "a"}, NOT_IN_RANGE),
    ("in another's range", ranged("pk = :v AND sk < :v"), {"pk": "a", "sk": "a"}, OUTSIDE_OF_RANGE),
    (
        "at another's one row of an index",
        {**GLOBAL, **ranged("team = :v AND #r = :v"), "ExpressionAttributeNames": {"#r": "rank"}},
        {"pk": "a", "sk": "a", "team": "a", "rank": "b"},
        OUTSIDE_OF_RANGE,
    ),
    (
        "another partition before a filter on the key",
        {**by("pk"), "FilterExpression": "pk = :v"},
        {"pk": "a", "sk": "a"},
        OUTSIDE,
    ),
]


@cases("name, parameters, start, refusal", QUERIES)
def test_a_query_refuses_a_start_key(
    table: Table, name: str, parameters: dict[str, Any], start: dict[str, Any], refusal: str
) -> None:
    table.refused(refusal, "Query", ExclusiveStartKey=item(start), **parameters)


SCANS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    # First no key of an index may have another type, whichever index is scanned.
    ("empty", {}, {}, BAD),
    ("too few", {}, {"pk": "a"}, BAD),
    ("too many", {}, {"pk": "a", "sk": "a", "x": "a"}, BAD),
    ("partition key of another type", {}, {"pk": 1, "sk": "a"}, MISMATCH),
    ("sort key of another type", {}, {"pk": "a", "sk": 1}, MISMATCH),
    ("another type, and too few", {}, {"team": 1}, MISMATCH),
    ("of an index, empty", LOCAL, {}, BAD),
    ("of an index, the table's only", LOCAL, {"pk": "a", "sk": "a"}, BAD),
    ("of an index, no sort key", LOCAL, {"pk": "a", "sk": "a", "x": "a"}, BAD),
    ("of an index, another type", LOCAL, {"pk": "a", "sk": "a", "rank": 1}, MISMATCH),
    ("of an index, the table's", LOCAL, {"pk": "a", "sk": 1, "rank": "a"}, MISMATCH),
    ("Select before too few", EVERYTHING, {"team": "a"}, NOT_ALL),
    (
        "Select before the table's key",
        EVERYTHING,
        {"x": 1, "y": 1, "team": "a", "rank": "a"},
        NOT_ALL,
    ),
    (
        "no key of the table",
        GLOBAL,
        {"x": 1, "y": 1, "team": "a", "rank": "a"},
        BAD,
    ),
    (
        "before a path into the key",
        {"FilterExpression": "attribute_exists(pk.a)"},
        {"pk": "a", "x": "a"},
        BAD,
    ),
]


@cases("name, parameters, start, refusal", SCANS)
def test_a_scan_refuses_a_start_key(
    table: Table, name: str, parameters: dict[str, Any], start: dict[str, Any], refusal: str
) -> None:
    table.refused(refusal, "Scan", ExclusiveStartKey=item(start), **parameters)


INVALID = "One or more parameter values were invalid: "
# (name, value, refusal)
VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("no type", {}, f"{BAD}: Supplied AttributeValue is empty, must contain exactly one of…"),
    (
        "no type inside",
        {"M": {"x": {}}},
        f"{BAD}: Supplied AttributeValue is empty, must contain exactly one of…",
    ),
    (
        "two types",
        {"S": "a", "N": "1"},
        f"{BAD}: Supplied AttributeValue has more than one datatypes set, must contain exactly…",
    ),
    # The prefix is not put before these, which the newer layer of validation finds.
    (
        "NULL",
        {"NULL": False},
        f"ValidationException: {INVALID}Null attribute value types …",
    ),
    ("no strings", {"SS": []}, f"ValidationException: {INVALID}An string set  may not be empty"),
    ("no binaries", {"BS": []}, f"ValidationException: {INVALID}Binary sets should not be empty"),
    ("no numbers", {"NS": []}, f"ValidationException: {INVALID}An number set  may not be empty"),
    ("twice", {"SS": ["a", "a"]}, f"ValidationException: {INVALID}Input collection …"),
    (
        "no number",
        {"N": "b"},
        "ValidationException: The parameter cannot be converted to a numeric value: b",
    ),
]


@pytest.mark.parametrize("operation", ["Query", "Scan"])
@cases("name, value, refusal", VALUES)
def test_values_of_a_start_key_are_refused_before_the_expressions(
    table: Table, operation: str, name: str, value: dict[str, Any], refusal: str
) -> None:
    text = "KeyConditionExpression" if operation == "Query" else "FilterExpression"
    table.refused(refusal, operation, ExclusiveStartKey={"pk": value}, **{text: ""})


def test_a_start_key_of_another_item_of_a_table_without_sort_key(new_table: NewTable) -> None:
    table = new_table("pk")
    refusal = "ValidationException: The provided exclusive start key is invalid"
    table.refused(refusal, "Query", ExclusiveStartKey=item(pk="a"), **by("pk"))
    assert table.call("Query", ExclusiveStartKey=item(pk="b"), **by("pk"))["Count"] == 0


def test_a_page_of_one_row_may_be_followed(table: Table) -> None:
    """Only the message about another partition's key says that there is only one row."""
    start = item(pk="b", sk="b")
    page = table.call("Query", ExclusiveStartKey=start, **ranged("pk = :v AND sk = :v"))
    assert plains(page) == []
