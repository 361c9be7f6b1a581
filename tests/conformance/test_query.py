"""Query on a table: which items, in which order, and which key conditions are refused."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, item, plains, refused, unique_name, wire

# ---- one partition, every comparison, every key type ----

# Per type of sort key: its values, ascending; strings are ordered by their UTF-8 bytes.
SORTED: dict[str, list[Any]] = {
    "S": ["A", "B", "a", "aa", "ab", "b", "é", "\uffee", "\U0001d11e"],
    "N": [-1000, -2, -1, 0, 1, 2, 10, 11, 100],
    "B": [b"\x00", b"\x00\x00", b"\x00\x01", b"\x01", b"a", b"a\xff", b"b", b"\xff", b"\xff\xff"],
}

# (operator, with :v the fifth of the nine values and :w the seventh; the ranks that satisfy it)
COMPARISONS = [
    ("sk = :v", [4]),
    ("sk < :v", [0, 1, 2, 3]),
    ("sk <= :v", [0, 1, 2, 3, 4]),
    ("sk > :v", [5, 6, 7, 8]),
    ("sk >= :v", [4, 5, 6, 7, 8]),
    ("sk BETWEEN :v AND :w", [4, 5, 6]),
]


@pytest.fixture(scope="module")
def sorted_tables(new_shared_table: NewTable) -> dict[str, Table]:
    """A table per type of sort key; each partition holds the nine values, put in no order."""
    made = {}
    for kind, values in SORTED.items():
        made[kind] = new_shared_table(f"pk/sk:{kind}")
        for rank in (5, 2, 8, 0, 7, 4, 1, 6, 3):
            for partition in ("a", "b"):
                made[kind].put({"pk": partition, "sk": values[rank], "rank": rank})
    return made


@pytest.mark.parametrize("forward", [True, False])
@cases("condition, ranks", COMPARISONS)
@pytest.mark.parametrize("kind", SORTED)
def test_sort_keys_that_a_condition_selects(
    sorted_tables: dict[str, Table], kind: str, condition: str, ranks: list[int], forward: bool
) -> None:
    values = {":p": "a", ":v": SORTED[kind][4], ":w": SORTED[kind][6]}
    used = {name: value for name, value in values.items() if name in f"pk = :p AND {condition}"}
    response = sorted_tables[kind].query(
        f"pk = :p AND {condition}", values=used, ScanIndexForward=forward
    )
    found = [values["rank"] for values in plains(response)]
    assert found == (ranks if forward else ranks[::-1])
    assert (response["Count"], response["ScannedCount"]) == (len(ranks), len(ranks))
    assert "LastEvaluatedKey" not in response


# (type, prefix, the ranks that begin with it)
PREFIXES = [
    ("S", "a", [2, 3, 4]),
    ("S", "aa", [3]),
    ("S", "c", []),
    ("S", "\U0001d11e", [8]),
    ("B", b"\x00", [0, 1, 2]),
    ("B", b"a", [4, 5]),
    ("B", b"\xff", [7, 8]),
    ("B", b"\xff\xff", [8]),
]


@pytest.mark.parametrize("forward", [True, False])
@cases("kind, prefix, ranks", PREFIXES)
def test_sort_keys_that_begin_with_a_prefix(
    sorted_tables: dict[str, Table], kind: str, prefix: Any, ranks: list[int], forward: bool
) -> None:
    response = sorted_tables[kind].query(
        "pk = :p AND begins_with(sk, :v)",
        values={":p": "a", ":v": prefix},
        ScanIndexForward=forward,
    )
    found = [values["rank"] for values in plains(response)]
    assert found == (ranks if forward else ranks[::-1])


@cases(
    "condition, count",
    [
        (":p = pk", 9),
        ("(pk = :p)", 9),
        ("(pk = :p) AND (sk > :v)", 4),
        ("sk > :v AND pk = :p", 4),
        ("#p = :p and #s > :v", 4),
        ("pk=:p AND sk between :v AND :v", 1),
    ],
)
def test_spellings_of_a_key_condition(
    sorted_tables: dict[str, Table], condition: str, count: int
) -> None:
    names = {"#p": "pk", "#s": "sk"} if "#" in condition else None
    values = {":p": "a"} | ({":v": 1} if ":v" in condition else {})
    parameters = {"ExpressionAttributeNames": names} if names else {}
    assert sorted_tables["N"].query(condition, values=values, **parameters)["Count"] == count


def test_an_absent_partition_is_empty(sorted_tables: dict[str, Table]) -> None:
    response = sorted_tables["S"].query("pk = :p", values={":p": "none"})
    assert response == {"Items": [], "Count": 0, "ScannedCount": 0}


def test_number_partition_keys_are_compared_by_value(new_table: NewTable) -> None:
    table = new_table("pk:N")
    table.put({"pk": 10})
    condition = {"KeyConditionExpression": "pk = :p"}
    found = table.call("Query", ExpressionAttributeValues={":p": {"N": "1e1"}}, **condition)
    assert found["Count"] == 1


# ---- filters, projections, Select ----

# (name, parameters, Count, ScannedCount, the items or None when only counted)
SHAPES: list[tuple[str, dict[str, Any], int, int, list[dict[str, Any]] | None]] = [
    (
        "a filter",
        {"FilterExpression": "rank < :r", "values": {":r": 2}},
        2,
        9,
        [{"pk": "a", "sk": -1000, "rank": 0}, {"pk": "a", "sk": -2, "rank": 1}],
    ),
    (
        "a projection and a filter on what it leaves out",
        {"FilterExpression": "rank = :r", "values": {":r": 2}, "ProjectionExpression": "sk"},
        1,
        9,
        [{"sk": -1}],
    ),
    ("Select COUNT", {"Select": "COUNT"}, 9, 9, None),
    (
        "Select COUNT with a filter",
        {"Select": "COUNT", "FilterExpression": "rank = :r", "values": {":r": 2}},
        1,
        9,
        None,
    ),
    (
        "SPECIFIC_ATTRIBUTES",
        {"Select": "SPECIFIC_ATTRIBUTES", "ProjectionExpression": "sk", "Limit": 1},
        1,
        1,
        [{"sk": -1000}],
    ),
    (
        "ALL_ATTRIBUTES",
        {"Select": "ALL_ATTRIBUTES", "Limit": 1},
        1,
        1,
        [{"pk": "a", "sk": -1000, "rank": 0}],
    ),
]


@cases("name, parameters, count, scanned, items", SHAPES)
def test_results_of_a_query(
    sorted_tables: dict[str, Table],
    name: str,
    parameters: dict[str, Any],
    count: int,
    scanned: int,
    items: list[dict[str, Any]] | None,
) -> None:
    names = {"#rank": "rank"} if "rank" in parameters.get("FilterExpression", "") else None
    parameters = dict(parameters)
    if names:
        parameters["FilterExpression"] = parameters["FilterExpression"].replace("rank", "#rank")
        parameters["ExpressionAttributeNames"] = names
    values = {":p": "a", **parameters.pop("values", {})}
    response = sorted_tables["N"].query("pk = :p", values=values, **parameters)
    assert (response["Count"], response["ScannedCount"]) == (count, scanned)
    assert ("Items" in response) == (items is not None)
    if items is not None:
        assert plains(response) == items


# ---- refusals that need no table ----

SYNTAX = "ValidationException: Invalid KeyConditionExpression: "
OPERATOR = "ValidationException: Invalid operator used in KeyConditionExpression: "
SELECTED = "ValidationException: One or more parameter values were invalid: "

# (name, condition, values, the refusal)
MALFORMED: list[tuple[str, str, dict[str, Any], str]] = [
    ("empty", "", {}, SYNTAX + "The expression can not be empty;"),
    ("OR", "pk = :p OR pk = :p", {":p": "a"}, OPERATOR + "OR"),
    ("NOT", "NOT pk = :p", {":p": "a"}, OPERATOR + "NOT"),
    ("<>", "pk <> :p", {":p": "a"}, OPERATOR + "<>"),
    ("IN", "pk IN (:p)", {":p": "a"}, OPERATOR + "IN"),
    (
        "attribute_exists",
        "pk = :p AND attribute_exists(sk)",
        {":p": "a"},
        OPERATOR + "attribute_exists",
    ),
    (
        "size",
        "pk = :p AND size(sk) > :n",
        {":p": "a", ":n": 1},
        "ValidationException: KeyConditionExpressions cannot contain nested operations",
    ),
    ("syntax", "pk = :p AND", {":p": "a"}, SYNTAX + 'Syntax error; token: "<EOF>", near: "AND"'),
    (
        "reserved word",
        "name = :p",
        {":p": "a"},
        SYNTAX + "Attribute name is a reserved keyword; reserved keyword: name",
    ),
    (
        "undefined value",
        "pk = :q",
        {},
        SYNTAX
        + "An expression attribute value used in expression is not defined; attribute value: :q",
    ),
    (
        "bounds in the wrong order",
        "pk = :p AND sk BETWEEN :hi AND :lo",
        {":p": "a", ":hi": 2, ":lo": 1},
        SYNTAX + "The BETWEEN operator requires upper bound to be greater than or equal to lower"
        " bound; lower bound operand: AttributeValue: {N:2},"
        " upper bound operand: AttributeValue: {N:1}",
    ),
]  # fmt: skip


@cases("name, condition, values, refusal", MALFORMED)
def test_a_malformed_key_condition_is_refused_before_the_table_is_looked_up(
    client: Any, name: str, condition: str, values: dict[str, Any], refusal: str
) -> None:
    absent = Table(client, unique_name())
    parameters = {"ExpressionAttributeValues": item(values)} if values else {}
    absent.refused(refusal, "Query", KeyConditionExpression=condition, **parameters)


# ---- refusals that need the table's keys ----

ONE_CONDITION = (
    "ValidationException: Invalid KeyConditionExpression: "
    "KeyConditionExpressions must only contain one condition per key"
)
UNSUPPORTED = "ValidationException: Query key condition not supported"

MISSED = "ValidationException: Query condition missed key schema element: "
TYPE = SELECTED + "Condition parameter type does not match schema type"
NESTED = (
    "ValidationException: Invalid KeyConditionExpression: KeyConditionExpressions cannot have"
    " conditions on nested attributes"
)
FILTER_KEY = (
    "ValidationException: Filter Expression can only contain non-primary key attributes:"
    " Primary key attribute: {}"
)

# (name, condition, values, further parameters, the refusal)
ILL_FITTING: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    ("no partition key", "sk = :v", {":v": 1}, {}, MISSED + "pk"),
    ("another attribute", "pk = :p AND x = :v", {":p": "a", ":v": 1}, {}, MISSED + "sk"),
    (
        "a third attribute",
        "pk = :p AND sk = :v AND x = :v",
        {":p": "a", ":v": 1},
        {},
        "ValidationException: The number of query conditions (3) exceeds the number of key"
        " attributes defined in the schema (2)",
    ),
    ("partition key not by equality", "pk > :p", {":p": "a"}, {}, UNSUPPORTED),
    ("partition key twice", "pk = :p AND pk = :p", {":p": "a"}, {}, ONE_CONDITION),
    (
        "sort key twice",
        "pk = :p AND sk > :v AND sk < :v",
        {":p": "a", ":v": 1},
        {},
        ONE_CONDITION,
    ),
    ("partition key of another type", "pk = :p", {":p": 1}, {}, TYPE),
    ("sort key of another type", "pk = :p AND sk = :v", {":p": "a", ":v": "1"}, {}, TYPE),
    (
        "begins_with on a number",
        "pk = :p AND begins_with(sk, :v)",
        {":p": "a", ":v": 1},
        {},
        SYNTAX + "Incorrect operand type for operator or function;"
        " operator or function: begins_with, operand type: N",
    ),
    ("nested", "pk.x = :p", {":p": "a"}, {}, NESTED),
    (
        "a filter on the partition key",
        "pk = :p",
        {":p": "a"},
        {"FilterExpression": "pk = :p"},
        FILTER_KEY.format("pk"),
    ),
    (
        "a filter on the sort key",
        "pk = :p",
        {":p": "a", ":v": 1},
        {"FilterExpression": "x = :v OR sk = :v"},
        FILTER_KEY.format("sk"),
    ),
    (
        "an empty partition key",
        "pk = :p",
        {":p": ""},
        {},
        "ValidationException: One or more parameter values are not valid. The AttributeValue for"
        " a key attribute cannot contain an empty string value. Key: pk",
    ),
    (
        "an absent index",
        "pk = :p",
        {":p": "a"},
        {"IndexName": "absent"},
        "ValidationException: The table does not have the specified index: absent",
    ),
]  # fmt: skip


@cases("name, condition, values, more, refusal", ILL_FITTING)
def test_a_key_condition_that_does_not_fit_is_refused(
    sorted_tables: dict[str, Table],
    name: str,
    condition: str,
    values: dict[str, Any],
    more: dict[str, Any],
    refusal: str,
) -> None:
    refused(refusal, sorted_tables["N"].query, condition, values=values, **more)


# ---- Select and the parameters it does not go with ----

# (name, parameters of a Query and a Scan, the refusal)
SELECTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "SPECIFIC_ATTRIBUTES of none",
        {"Select": "SPECIFIC_ATTRIBUTES"},
        "ValidationException: Must specify the AttributesToGet or ProjectionExpression when"
        " choosing to get SPECIFIC_ATTRIBUTES",
    ),
    (
        "ALL_ATTRIBUTES with a projection",
        {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "sk"},
        "ValidationException: Cannot specify the ProjectionExpression when choosing to get"
        " ALL_ATTRIBUTES",
    ),
    (
        "COUNT with a projection",
        {"Select": "COUNT", "ProjectionExpression": "sk"},
        "ValidationException: Cannot specify the ProjectionExpression when choosing to get only"
        " the Count",
    ),
    (
        "ALL_PROJECTED_ATTRIBUTES of a table",
        {"Select": "ALL_PROJECTED_ATTRIBUTES"},
        "ValidationException: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an"
        " IndexName",
    ),
    (
        "Limit 0",
        {"Limit": 0},
        "ValidationException: …imit' failed to satisfy constraint: Member must have value"
        " greater than or equal to 1",
    ),
]


@cases("name, parameters, refusal", SELECTS)
@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_parameters_that_do_not_go_together(
    sorted_tables: dict[str, Table],
    operation: str,
    name: str,
    parameters: dict[str, Any],
    refusal: str,
) -> None:
    if operation == "Query":
        key = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": wire("a")}}
        parameters = {**parameters, **key}
    sorted_tables["N"].refused(refusal, operation, **parameters)


def test_a_query_needs_a_key_condition(sorted_tables: dict[str, Table]) -> None:
    sorted_tables["N"].refused(
        "ValidationException: Either the KeyConditions or KeyConditionExpression parameter must"
        " be specified in the request.",
        "Query",
    )
