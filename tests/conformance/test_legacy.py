"""The parameters that expressions replaced: the same results, and their own refusals."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from .legacy import act, compare
from .support import NewTable, Table, cases, gsi, item, plain, plains, wire

FAILED = "ConditionalCheckFailedException: The conditional request failed"

STORED: dict[str, Any] = {
    "pk": "a", "n": 5, "s": "hello", "b": b"\x01\x02", "set": {"x", "y"}, "ns": {1, 2},
    "list": [1, "two"], "yes": True, "null": None,
}  # fmt: skip


# (attribute, operator, operands, does it hold)
COMPARISONS: list[tuple[str, str, list[Any], bool]] = [
    ("n", "EQ", [5], True),
    ("n", "EQ", ["5"], False),
    ("set", "EQ", [{"y", "x"}], True),
    ("list", "EQ", [[1, "two"]], True),
    ("absent", "EQ", [5], False),
    ("n", "NE", [6], True),
    ("n", "NE", ["5"], True),
    ("absent", "NE", [6], True),
    ("n", "LE", [5], True),
    ("n", "LT", [5], False),
    ("n", "GE", [5], True),
    ("n", "GT", [4], True),
    ("s", "GT", ["hell"], True),
    ("s", "LT", [9], False),
    ("absent", "LT", [9], False),
    ("n", "NOT_NULL", [], True),
    ("null", "NOT_NULL", [], True),
    ("absent", "NOT_NULL", [], False),
    ("absent", "NULL", [], True),
    ("null", "NULL", [], False),
    ("s", "CONTAINS", ["ell"], True),
    ("b", "CONTAINS", [b"\x02"], True),
    ("set", "CONTAINS", ["x"], True),
    ("ns", "CONTAINS", [2], True),
    ("list", "CONTAINS", ["two"], True),
    ("s", "CONTAINS", ["z"], False),
    ("absent", "CONTAINS", ["z"], False),
    ("s", "NOT_CONTAINS", ["z"], True),
    ("set", "NOT_CONTAINS", ["x"], False),
    ("s", "BEGINS_WITH", ["hel"], True),
    ("b", "BEGINS_WITH", [b"\x01"], True),
    ("s", "BEGINS_WITH", ["ell"], False),
    ("n", "IN", [4, 5], True),
    ("n", "IN", ["5", "x"], False),
    ("n", "BETWEEN", [5, 6], True),
    ("n", "BETWEEN", [6, 7], False),
    ("s", "BETWEEN", ["a", "z"], True),
]


@pytest.fixture(scope="module")
def stored(new_shared_table: NewTable) -> Table:
    table = new_shared_table("pk")
    table.put(STORED)
    return table


@cases("attribute, operator, operands, holds", COMPARISONS)
def test_a_comparison(
    stored: Table, attribute: str, operator: str, operands: list[Any], holds: bool
) -> None:
    condition = {attribute: compare(operator, *operands)}
    assert stored.call("Scan", ScanFilter=condition)["Count"] == holds
    query = {"KeyConditions": {"pk": compare("EQ", "a")}, "QueryFilter": condition}
    assert stored.call("Query", **query)["Count"] == holds
    put = {"Item": item(STORED), "Expected": condition}
    if holds:
        stored.call("PutItem", **put)
    else:
        stored.refused(FAILED, "PutItem", **put)


# (ConditionalOperator, the first holds, the second holds, both together)
COMBINATIONS: list[tuple[str | None, bool, bool, bool]] = [
    (None, True, True, True),
    (None, True, False, False),
    ("AND", True, False, False),
    ("AND", True, True, True),
    ("OR", True, False, True),
    ("OR", False, False, False),
]


@cases("operator, first, second, together", COMBINATIONS)
def test_conditions_are_joined(
    stored: Table, operator: str | None, first: bool, second: bool, together: bool
) -> None:
    conditions = {
        "n": compare("EQ", 5 if first else 6),
        "s": compare("EQ", "hello" if second else "x"),
    }
    joined = {"ConditionalOperator": operator} if operator else {}
    assert stored.call("Scan", ScanFilter=conditions, **joined)["Count"] == together


# (name, Expected, does it hold for the stored item)
EXPECTED: list[tuple[str, dict[str, Any], bool]] = [
    ("Value", {"n": {"Value": wire(5)}}, True),
    ("another Value", {"n": {"Value": wire(6)}}, False),
    ("Value that Exists", {"n": {"Value": wire(5), "Exists": True}}, True),
    ("not Exists", {"absent": {"Exists": False}}, True),
    ("not Exists, but it does", {"n": {"Exists": False}}, False),
    ("two conditions", {"n": {"Value": wire(5)}, "absent": {"Exists": False}}, True),
    ("two conditions, one fails", {"n": {"Value": wire(5)}, "s": {"Exists": False}}, False),
]


@cases("name, expected, holds", EXPECTED)
def test_expected(stored: Table, name: str, expected: dict[str, Any], holds: bool) -> None:
    if holds:
        stored.call("PutItem", Item=item(STORED), Expected=expected)
    else:
        stored.refused(FAILED, "PutItem", Item=item(STORED), Expected=expected)
        stored.refused(FAILED, "DeleteItem", Key=item(pk="a"), Expected=expected)
        stored.refused(FAILED, "UpdateItem", Key=item(pk="a"), Expected=expected)


BAD_TYPE = "ValidationException: Type mismatch for attribute to update"

# (name, before, AttributeUpdates, after: None where no item is made, or the refusal)
UPDATES: list[tuple[str, dict[str, Any] | None, dict[str, Any], Any]] = [
    ("PUT", {"n": 1}, {"n": act("PUT", 2)}, {"n": 2}),
    ("PUT by default", {"n": 1}, {"n": {"Value": wire(2)}}, {"n": 2}),
    ("PUT on a new item", None, {"n": act("PUT", 2)}, {"n": 2}),
    ("DELETE", {"n": 1, "s": "x"}, {"n": act("DELETE")}, {"s": "x"}),
    ("DELETE of set members", {"t": {"x", "y"}}, {"t": act("DELETE", {"x"})}, {"t": {"y"}}),
    ("DELETE of all members", {"t": {"x"}}, {"t": act("DELETE", {"x"})}, {}),
    ("DELETE of another type", {"t": 1}, {"t": act("DELETE", {"x"})}, BAD_TYPE),
    ("ADD to a number", {"n": 1}, {"n": act("ADD", 2)}, {"n": 3}),
    ("ADD of a number", {}, {"n": act("ADD", 2)}, {"n": 2}),
    ("ADD to a set", {"t": {"x"}}, {"t": act("ADD", {"y"})}, {"t": {"x", "y"}}),
    ("ADD to a list", {"l": [1]}, {"l": act("ADD", [2])}, {"l": [1, 2]}),
    ("ADD on a new item", None, {"n": act("ADD", 2)}, {"n": 2}),
    ("ADD to another type", {"n": "x"}, {"n": act("ADD", 2)}, BAD_TYPE),
    ("several", {"n": 1}, {"n": act("DELETE"), "q": act("PUT", 1)}, {"q": 1}),
]


@cases("name, before, updates, after", UPDATES)
def test_attribute_updates(
    table: Table, name: str, before: dict[str, Any] | None, updates: dict[str, Any], after: Any
) -> None:
    if before is not None:
        table.put({"pk": "k", **before})
    if isinstance(after, str):
        table.refused(after, "UpdateItem", Key=item(pk="k"), AttributeUpdates=updates)
    else:
        response = table.call(
            "UpdateItem", Key=item(pk="k"), AttributeUpdates=updates, ReturnValues="ALL_NEW"
        )
        assert plain(response["Attributes"]) == {"pk": "k", **after}
        assert table.get(pk="k") == {"pk": "k", **after}


@cases(
    "name, conditions, found",
    [
        ("EQ", [compare("EQ", 2)], [2]),
        ("LE", [compare("LE", 2)], [0, 1, 2]),
        ("LT", [compare("LT", 2)], [0, 1]),
        ("GE", [compare("GE", 2)], [2, 3]),
        ("GT", [compare("GT", 2)], [3]),
        ("BETWEEN", [compare("BETWEEN", 1, 2)], [1, 2]),
        ("none", [], [0, 1, 2, 3]),
    ],
)
def test_key_conditions(
    new_table: NewTable, name: str, conditions: list[dict[str, Any]], found: list[int]
) -> None:
    table = new_table("pk/sk:N")
    table.put(*({"pk": "a", "sk": sk} for sk in range(4)), {"pk": "b", "sk": 0})
    keys = {"pk": compare("EQ", "a")} | ({"sk": conditions[0]} if conditions else {})
    assert [values["sk"] for values in plains(table.call("Query", KeyConditions=keys))] == found


def test_attributes_to_get(stored: Table) -> None:
    wanted = ["n", "absent", "s"]
    found = {"n": 5, "s": "hello"}
    response = stored.call("GetItem", Key=item(pk="a"), AttributesToGet=wanted)
    assert plain(response["Item"]) == found
    assert plains(stored.call("Scan", AttributesToGet=wanted)) == [found]


def test_a_query_filter_may_not_name_keys(stored: Table) -> None:
    stored.refused(
        "ValidationException: QueryFilter can only contain non-primary key attributes: Primary key"
        " attribute: pk",
        "Query",
        KeyConditions={"pk": compare("EQ", "a")},
        QueryFilter={"pk": compare("EQ", "a")},
    )


def test_a_key_condition_allows_fewer_operators(stored: Table) -> None:
    stored.refused(
        "ValidationException: Attempted conditional constraint is not an indexable operation",
        "Query",
        KeyConditions={"pk": compare("NE", "a")},
    )


def test_key_conditions_of_an_index_with_several_key_attributes(new_table: NewTable) -> None:
    table = new_table("pk", gsi("byPlace", "country,city/street,number:N"))
    place = {"country": "x", "city": "y"}
    table.put(
        *(
            {"pk": f"{street}{number}", **place, "street": street, "number": number}
            for street in "ab"
            for number in (1, 2, 3)
        )
    )

    def found(**conditions: dict[str, Any]) -> list[str]:
        parameters = {"IndexName": "byPlace", "KeyConditions": conditions}
        return [values["pk"] for values in plains(table.call("Query", **parameters))]

    city = {"country": compare("EQ", "x"), "city": compare("EQ", "y")}
    street = {**city, "street": compare("EQ", "a")}
    assert found(**city) == ["a1", "a2", "a3", "b1", "b2", "b3"]
    assert found(**street) == ["a1", "a2", "a3"]
    assert found(**street, number=compare("GT", 1)) == ["a2", "a3"]
    with pytest.raises(ClientError, match="Conditions can be of length 1 or 2 only"):
        found(**street, number=compare("GT", 1), other=compare("EQ", "z"))
