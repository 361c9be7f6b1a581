"""PartiQL: conditions that overlap, and functions that are compared. Captured in October 2026."""

from typing import Any

import pytest

from .partiql import rejected, run
from .support import NewTable, Table, cases, gsi, plains

OVERLAP = (
    "ValidationException: Overlapping conditions with range keys are not supported in where clause"
)
BOOL_OPERAND = (
    "ValidationException: Incorrect operand type for operator or function; operator or function: "
    "{}, operand type: BOOL"
)


@pytest.fixture(scope="module")
def ordered(new_shared_table: NewTable) -> Table:
    """Partition a with sort keys 1 to 3, b with 1 and 2; only read."""
    table = new_shared_table("pk/sk:N", gsi("byG", "g"))
    for pk, sk, a in [("a", 1, 30), ("a", 2, 10), ("a", 3, 20), ("b", 1, 5), ("b", 2, 6)]:
        table.put({"pk": pk, "sk": sk, "a": a, "g": "g"})
    return table


# ---- the parts that OR and IN make must not overlap ----

OVERLAPPING = [
    "pk = 'a' OR pk = 'a'",
    "pk IN ['a', 'a']",
    "pk IN ['a', 'b'] OR pk = 'a'",
    "pk = 'a' OR pk = 'b' OR pk = 'a'",
    "pk IN ['a'] OR pk = 'a'",
    "pk = 'a' AND sk > 1 OR pk = 'a' AND sk < 3",
    "pk = 'a' AND sk > 1 OR pk = 'a' AND sk > 2",
    "pk = 'a' AND sk >= 1 OR pk = 'a' AND sk <= 1",
    "pk = 'a' OR pk = 'a' AND sk = 1",
    "pk = 'a' AND sk = 1 OR pk = 'a' AND sk = 1",
    "pk = 'a' AND sk = 1 OR pk = 'a' AND sk = 1.0",
    "pk = 'a' AND sk = 1 OR pk = 'a' AND sk = 1 AND a = 30",
    "pk = 'a' AND a = 30 OR pk = 'a' AND a = 10",
    "pk = 'a' AND sk = 1 OR pk = 'a' AND a = 10",
    "pk = 'a' AND sk = 1 OR pk = 'a' AND a <> 10",
    "pk IN ['a', 'b'] AND sk > 1 OR pk = 'b'",
    "(pk = 'a' OR pk = 'a') AND sk = 1",
    "pk = 'a' AND (sk = 1 OR sk = 1)",
    "pk = 'a' AND sk IN [1, 1]",
    "pk = 'a' AND sk = 1 OR pk = 'a' AND sk IN [1, 2]",
    "pk = 'a' AND (sk = 1 OR a = 10)",
    "pk = 'a' AND (a = 30 OR a = 10) OR pk = 'a' AND sk = 3",
    "pk = 'a' AND (a = 30 OR sk > 2)",
    "pk = 'a' OR pk = 'a' ORDER BY pk",
    "pk = 'a' OR pk = 'a' ORDER BY sk DESC",
]


@cases("where", [(where,) for where in OVERLAPPING])
def test_overlapping_conditions(ordered: Table, where: str) -> None:
    rejected(ordered, OVERLAP, f"SELECT * FROM T WHERE {where}")


def test_overlapping_parameters_and_index_keys(ordered: Table) -> None:
    rejected(ordered, OVERLAP, "SELECT * FROM T WHERE pk = 'a' OR pk = ?", "a")
    rejected(ordered, OVERLAP, "SELECT * FROM T.byG WHERE g = 'g' OR g = 'g'")
    missing = "ResourceNotFoundException: Requested resource not found"
    rejected(ordered, missing, "SELECT * FROM nosuchtable WHERE pk = 'a' OR pk = 'a'")


APART = [
    ("pk = 'a' OR pk = 'b'", "a1 a2 a3 b1 b2"),
    ("pk = 'a' AND sk = 1 OR pk = 'a' AND sk = 2", "a1 a2"),
    ("pk = 'a' AND sk = 1 OR pk = 'b' AND sk = 1", "a1 b1"),
    ("pk = 'a' AND sk BETWEEN 1 AND 2 OR pk = 'a' AND sk BETWEEN 3 AND 4", "a1 a2 a3"),
    ("pk = 'a' AND sk < 2 OR pk = 'a' AND sk > 2", "a1 a3"),
    ("pk = 'a' AND (sk = 1 OR sk = 2)", "a1 a2"),
    ("pk IN ['a', 'b'] AND sk = 1 OR pk = 'b' AND sk = 2", "a1 b1 b2"),
    ("pk = 'a' AND sk > 1 OR pk = 'b' AND sk > 1", "a2 a3 b2"),
    ("pk = 'a' AND sk IN [1, 2]", "a1 a2"),
    # An OR that names no key divides nothing.
    ("pk = 'a' AND (a = 30 OR a = 10)", "a1 a2"),
    ("pk = 'a' AND (a = 30 OR a = 10) AND sk = 1", "a1"),
    ("(pk = 'a' AND (a = 30 OR a = 10)) OR pk = 'b'", "a1 a2 b1 b2"),
    ("pk = 'a' AND NOT (a = 30 AND a = 10)", "a1 a2 a3"),
    ("pk = 'a' AND (a = 30 OR a = 10) AND (a = 30 OR a = 20)", "a1"),
    ("pk IN ['a', 'b'] AND (a = 30 OR a = 5)", "a1 b1"),
    # A scan is not divided either.
    ("pk = 'a' OR sk = 1", "a1 a2 a3 b1"),
    ("NOT pk = 'a' OR pk = 'a'", "a1 a2 a3 b1 b2"),
    ("a = 30 OR a = 30", "a1"),
    # A part with a negated condition of the sort key is not compared.
    ("pk = 'a' AND NOT sk = 1 OR pk = 'a' AND sk = 2", "a2 a3"),
    ("pk = 'a' AND sk <> 1 OR pk = 'a' AND sk = 2", "a2 a3"),
    ("pk = 'a' AND NOT sk IN [1, 3] OR pk = 'a' AND sk = 2", "a2"),
    ("pk = 'a' AND NOT sk > 5 OR pk = 'a' AND sk = 2", "a1 a2 a3"),
    ("pk = 'a' OR pk = 'a' AND NOT sk = 1", "a1 a2 a3"),
]


@cases("where, expected", APART)
def test_conditions_that_do_not_overlap(ordered: Table, where: str, expected: str) -> None:
    found = plains(run(ordered, f"SELECT pk, sk FROM T WHERE {where}"))
    assert sorted(f"{each['pk']}{each['sk']}" for each in found) == expected.split()


# ---- a function is a boolean ----

EVERY = "abcdefghij"
IN_A = "abeghij"


@pytest.fixture(scope="module")
def compared(new_shared_table: NewTable) -> Table:
    """Items with x or without it, beside different y; only read."""
    table = new_shared_table("pk")
    values: list[dict[str, Any]] = [
        {"x": 1, "y": True},
        {"x": 1, "y": False},
        {"y": False},
        {"y": True},
        {"x": 1},
        {},
        {"x": 1, "y": "true"},
        {"x": 1, "y": 1},
        {"x": 1, "y": None},
        {"x": 1, "y": {"z": True}},
    ]
    table.put(*({"pk": pk, **attributes} for pk, attributes in zip(EVERY, values, strict=True)))
    return table


COMPARED: list[tuple[str, list[Any], str]] = [
    ("attribute_exists(x) = y", [], "ac"),
    ("attribute_exists(x) <> y", [], "bdefghij"),
    ("attribute_exists(x) != y", [], "bdefghij"),
    ("NOT attribute_exists(x) = y", [], "bdefghij"),
    ("y = attribute_exists(x)", [], "ac"),
    ("y <> attribute_exists(x)", [], "bdefghij"),
    ("attribute_exists(x) IN [y]", [], "ac"),
    ("attribute_exists(x) IN [y, true]", [], "abceghij"),
    ("attribute_exists(x) = ?", [True], IN_A),
    ("attribute_exists(x) <> ?", [True], "cdf"),
    ("attribute_exists(x) = ?", ["x"], ""),
    ("attribute_exists(x) <> ?", ["x"], EVERY),
    ("attribute_exists(x) = ?", [None], ""),
    ("attribute_exists(x) IN [?]", [False], "cdf"),
    ("attribute_exists(x) IN [?, ?]", ["x", True], IN_A),
    ("attribute_not_exists(x) = y", [], "bd"),
    ("attribute_type(x, 'N') = y", [], "ac"),
    ("attribute_exists(x) = y.z", [], "j"),
    ("attribute_exists(x) = size(y)", [], ""),
    ("attribute_exists(x) <> size(y)", [], EVERY),
    ("attribute_exists(x) IN [size(y)]", [], ""),
    ("attribute_exists(x) = true", [], IN_A),
    ("true = attribute_exists(x)", [], IN_A),
    ("attribute_exists(x) = false", [], "cdf"),
    ("attribute_exists(x) <> 1", [], EVERY),
    ("attribute_exists(x) <> [1]", [], EVERY),
    ("attribute_exists(x) = 'true'", [], ""),
]


@cases("where, values, expected", COMPARED)
def test_a_function_is_a_boolean(
    compared: Table, where: str, values: list[Any], expected: str
) -> None:
    found = plains(run(compared, f"SELECT pk FROM T WHERE {where}", *values))
    assert "".join(sorted(each["pk"] for each in found)) == expected


@cases("operator, operand", [(each, "y") for each in ("<", "<=", ">", ">=")])
def test_booleans_have_no_order(compared: Table, operator: str, operand: str) -> None:
    where = f"attribute_exists(x) {operator} {operand}"
    rejected(compared, BOOL_OPERAND.format(operator), f"SELECT * FROM T WHERE {where}")


def test_wrong_comparisons_with_a_function(compared: Table) -> None:
    text = "SELECT * FROM T WHERE attribute_exists(x) {}"
    between = BOOL_OPERAND.format("BETWEEN")
    rejected(compared, between, text.format("BETWEEN true AND true"))
    missing = "ValidationException: MISSING must be compared using IS operator"
    rejected(compared, missing, text.format("= missing"))
