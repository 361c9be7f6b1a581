"""UpdateItem: how each expression changes an item, and what ReturnValues then shows."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, item, plain

BAD_PATH = (
    "ValidationException: The document path provided in the update expression is invalid for update"
)
NO_OPERAND = (
    "ValidationException: The provided expression refers to an attribute that does not exist"
    " in the item"
)
BAD_OPERAND = "ValidationException: An operand in the update expression has an incorrect data type"
PART_OF_KEY = (
    "ValidationException: One or more parameter values were invalid:"
    " Cannot update attribute pk. This attribute is part of the key"
)

Attributes = dict[str, Any]

# (expression, before, values, after: the attributes but for the key, or the refusal)
UPDATES: list[tuple[str, Attributes, Attributes, Attributes | str]] = [
    # SET
    ("SET a = :v", {}, {":v": 1}, {"a": 1}),
    ("SET a = :v", {"a": "old", "b": 2}, {":v": 1}, {"a": 1, "b": 2}),
    ("SET a = b", {"b": [1]}, {}, {"a": [1], "b": [1]}),
    ("SET a = b, b = a", {"a": 1, "b": 2}, {}, {"a": 2, "b": 1}),
    ("SET a = :v, b = a", {"a": 1}, {":v": 2}, {"a": 2, "b": 1}),
    ("SET a = b", {}, {}, NO_OPERAND),
    ("SET a = b.c", {"b": {}}, {}, NO_OPERAND),
    ("SET a = a + :v", {"a": 1}, {":v": 2}, {"a": 3}),
    ("SET a = a - :v", {"a": 1}, {":v": 2}, {"a": -1}),
    ("SET a = :v - a", {"a": 1}, {":v": 2}, {"a": 1}),
    ("SET a = a + b", {"a": 1, "b": 5}, {}, {"a": 6, "b": 5}),
    ("SET a = :v + :w", {}, {":v": 1, ":w": 2}, {"a": 3}),
    ("SET a = a + :v", {}, {":v": 2}, NO_OPERAND),
    ("SET a = a + :v", {"a": "1"}, {":v": 2}, BAD_OPERAND),
    ("SET a = if_not_exists(a, :v)", {}, {":v": 1}, {"a": 1}),
    ("SET a = if_not_exists(a, :v)", {"a": 5}, {":v": 1}, {"a": 5}),
    ("SET a = if_not_exists(b, :v)", {"a": 5}, {":v": 1}, {"a": 1}),
    ("SET a = if_not_exists(a, :z) + :v", {}, {":v": 1, ":z": 0}, {"a": 1}),
    ("SET a = if_not_exists(b.c, b.d)", {"b": {"d": 4}}, {}, {"a": 4, "b": {"d": 4}}),
    (
        "SET a = if_not_exists(a, if_not_exists(b, :v))",
        {},
        {":v": 1},
        {"a": 1},
    ),
    ("SET a = list_append(a, :v)", {"a": [1]}, {":v": [2]}, {"a": [1, 2]}),
    ("SET a = list_append(:v, a)", {"a": [1]}, {":v": [2]}, {"a": [2, 1]}),
    ("SET a = list_append(a, a)", {"a": [1]}, {}, {"a": [1, 1]}),
    ("SET a = list_append(a, :v)", {}, {":v": [2]}, NO_OPERAND),
    ("SET a = list_append(a, :v)", {"a": 1}, {":v": [2]}, BAD_OPERAND),
    (
        "SET a = list_append(if_not_exists(a, :e), :v)",
        {},
        {":v": [2], ":e": []},
        {"a": [2]},
    ),
    # SET inside documents
    ("SET a.b = :v", {"a": {}}, {":v": 1}, {"a": {"b": 1}}),
    ("SET a.b.c = :v", {"a": {"b": {"d": 2}}}, {":v": 1}, {"a": {"b": {"d": 2, "c": 1}}}),
    ("SET a[1] = :v", {"a": [1, 2, 3]}, {":v": "x"}, {"a": [1, "x", 3]}),
    ("SET a[9] = :v", {"a": [1, 2]}, {":v": "x"}, {"a": [1, 2, "x"]}),
    ("SET a[9] = :v, a[5] = :w", {"a": [1]}, {":v": 9, ":w": 5}, {"a": [1, 5, 9]}),
    ("SET a[0].b[1] = :v", {"a": [{"b": [1]}]}, {":v": 2}, {"a": [{"b": [1, 2]}]}),
    ("SET a.b = :v", {}, {":v": 1}, BAD_PATH),
    ("SET a.b.c = :v", {"a": {}}, {":v": 1}, BAD_PATH),
    ("SET a.b = :v", {"a": [1]}, {":v": 1}, BAD_PATH),
    ("SET a[0] = :v", {"a": {"0": 1}}, {":v": 1}, BAD_PATH),
    ("SET a[0] = :v", {}, {":v": 1}, BAD_PATH),
    ("SET a.b = :v", {"a": "text"}, {":v": 1}, BAD_PATH),
    # REMOVE
    ("REMOVE a", {"a": 1, "b": 2}, {}, {"b": 2}),
    ("REMOVE a, b", {"a": 1, "b": 2}, {}, {}),
    ("REMOVE a", {"b": 2}, {}, {"b": 2}),
    ("REMOVE a.b", {"a": {"b": 1}}, {}, {"a": {}}),
    ("REMOVE a.c", {"a": {"b": 1}}, {}, {"a": {"b": 1}}),
    ("REMOVE a[0]", {"a": [1, 2, 3]}, {}, {"a": [2, 3]}),
    ("REMOVE a[0], a[2]", {"a": [1, 2, 3, 4]}, {}, {"a": [2, 4]}),
    ("REMOVE a[0]", {"a": [1]}, {}, {"a": []}),
    ("REMOVE a[7]", {"a": [1]}, {}, {"a": [1]}),
    ("REMOVE a.b", {}, {}, BAD_PATH),
    ("REMOVE a.b", {"a": "text"}, {}, BAD_PATH),
    # ADD
    ("ADD a :v", {}, {":v": 5}, {"a": 5}),
    ("ADD a :v", {"a": 1}, {":v": 5}, {"a": 6}),
    ("ADD a :v", {"a": 1}, {":v": -5}, {"a": -4}),
    ("ADD a :v", {}, {":v": {"x"}}, {"a": {"x"}}),
    ("ADD a :v", {"a": {"x"}}, {":v": {"x", "y"}}, {"a": {"x", "y"}}),
    ("ADD a :v", {"a": {1}}, {":v": {2}}, {"a": {1, 2}}),
    ("ADD a :v", {"a": {b"1"}}, {":v": {b"2"}}, {"a": {b"1", b"2"}}),
    ("ADD a :v, b :v", {}, {":v": 1}, {"a": 1, "b": 1}),
    ("ADD a :v", {"a": "x"}, {":v": 1}, BAD_OPERAND),
    ("ADD a :v", {"a": 1}, {":v": {1}}, BAD_OPERAND),
    ("ADD a :v", {"a": {1}}, {":v": {"x"}}, BAD_OPERAND),
    # DELETE
    ("DELETE a :v", {"a": {"x", "y"}}, {":v": {"x", "z"}}, {"a": {"y"}}),
    ("DELETE a :v", {"a": {"x"}}, {":v": {"x"}}, {}),
    ("DELETE a :v", {}, {":v": {"x"}}, {}),
    ("DELETE a :v", {"a": {1, 2}}, {":v": {2}}, {"a": {1}}),
    ("DELETE a :v", {"a": {1}}, {":v": {"x"}}, BAD_OPERAND),
    ("DELETE a :v", {"a": 1}, {":v": {"x"}}, BAD_OPERAND),
    # several sections, of which all see the item before the update
    (
        "SET a = b REMOVE b ADD c :one DELETE d :x",
        {"b": 1, "c": 2, "d": {"x", "y"}},
        {":one": 1, ":x": {"x"}},
        {"a": 1, "c": 3, "d": {"y"}},
    ),
    ("REMOVE b SET a = b", {"b": 1}, {}, {"a": 1}),
    ("ADD n :one SET m = n", {"n": 1}, {":one": 1}, {"n": 2, "m": 1}),
    ("REMOVE a[0] SET a[1] = :v", {"a": [1, 2, 3]}, {":v": "x"}, {"a": ["x", 3]}),
    ("set a = :v remove b", {"b": 1}, {":v": 1}, {"a": 1}),
    # keys
    ("SET pk = :v", {}, {":v": "b"}, PART_OF_KEY),
    ("SET pk = :v", {}, {":v": "k"}, PART_OF_KEY),
    ("REMOVE pk", {}, {}, PART_OF_KEY),
    ("ADD pk :v", {}, {":v": 1}, PART_OF_KEY),
    ("SET pk.x = :v", {}, {":v": 1}, PART_OF_KEY),
]


@cases("expression, before, values, outcome", UPDATES)
def test_results_of_an_update(
    table: Table, expression: str, before: Attributes, values: Attributes, outcome: Any
) -> None:
    table.put({"pk": "k", **before})
    request: dict[str, Any] = {"Key": item(pk="k"), "UpdateExpression": expression}
    if values:
        request["ExpressionAttributeValues"] = item(values)
    if isinstance(outcome, str):
        table.refused(outcome, "UpdateItem", **request)
        outcome = before
    else:
        table.call("UpdateItem", **request)
    assert table.get(pk="k") == {"pk": "k", **outcome}


# ---- on an item that is not there ----

# (name, parameters, the item afterwards). What only removes makes no item (ScyllaDB on AWS).
UPSERTS: list[tuple[str, dict[str, Any], Attributes | None]] = [
    ("no expression", {}, {"pk": "k"}),
    ("no updates", {"AttributeUpdates": {}}, {"pk": "k"}),
    ("REMOVE", {"UpdateExpression": "REMOVE a, b"}, None),
    ("REMOVE of what is in nothing", {"UpdateExpression": "REMOVE a.b, c[0]"}, None),
    ("legacy DELETE", {"AttributeUpdates": {"a": {"Action": "DELETE"}}}, None),
    ("DELETE of a set", {"UpdateExpression": "DELETE a :s"}, None),
    ("REMOVE and ADD", {"UpdateExpression": "REMOVE b ADD a :v"}, {"pk": "k", "a": 1}),
    ("SET", {"UpdateExpression": "SET a = :v"}, {"pk": "k", "a": 1}),
    (
        "a condition sees no key",
        {"UpdateExpression": "SET a = :v", "ConditionExpression": "attribute_not_exists(pk)"},
        {"pk": "k", "a": 1},
    ),
    (
        "an operand sees the key",
        {"UpdateExpression": "SET a = pk, b = if_not_exists(pk, :v)"},
        {"pk": "k", "a": "k", "b": "k"},
    ),
]


@cases("name, parameters, after", UPSERTS)
def test_an_update_of_a_missing_item_creates_one(
    table: Table, name: str, parameters: dict[str, Any], after: Attributes | None
) -> None:
    expression = parameters.get("UpdateExpression", "")
    values = {":v": 1} if ":v" in expression else {":s": {"x"}} if ":s" in expression else {}
    if values:
        parameters = {**parameters, "ExpressionAttributeValues": item(values)}
    response = table.call("UpdateItem", Key=item(pk="k"), **parameters, ReturnValues="ALL_NEW")
    assert plain(response.get("Attributes", {})) == (after or {})
    assert table.get(pk="k") == after


# ---- ReturnValues ----

OLD: Attributes = {"pk": "k", "n": 1, "m": {"x": 1, "y": 2}, "l": [1, 2, 3], "s": {"a", "b"}}

# (expression, values, UPDATED_OLD, UPDATED_NEW: None where there are no Attributes)
IMAGES: list[tuple[str, Attributes, Attributes | None, Attributes | None]] = [
    ("SET n = :v", {":v": 2}, {"n": 1}, {"n": 2}),
    ("SET n = :v", {":v": 1}, {"n": 1}, {"n": 1}),
    ("SET q = :v", {":v": 2}, None, {"q": 2}),
    ("REMOVE n", {}, {"n": 1}, None),
    ("REMOVE q", {}, None, None),
    ("SET m.x = :v", {":v": 9}, {"m": {"x": 1}}, {"m": {"x": 9}}),
    ("SET m.z = :v", {":v": 9}, None, {"m": {"z": 9}}),
    ("REMOVE m.x", {}, {"m": {"x": 1}}, None),
    ("SET l[1] = :v", {":v": 9}, {"l": [2]}, {"l": [9]}),
    ("SET l[0] = :v, l[2] = :v", {":v": 9}, {"l": [1, 3]}, {"l": [9, 9]}),
    ("SET l[7] = :v", {":v": 9}, None, None),
    ("REMOVE l[1]", {}, {"l": [2]}, {"l": [3]}),
    ("ADD n :v", {":v": 5}, {"n": 1}, {"n": 6}),
    ("ADD s :v", {":v": {"c"}}, {"s": {"a", "b"}}, {"s": {"a", "b", "c"}}),
    ("DELETE s :v", {":v": {"a", "b"}}, {"s": {"a", "b"}}, None),
    (
        "SET n = :v, m.x = :v REMOVE s",
        {":v": 0},
        {"n": 1, "m": {"x": 1}, "s": {"a", "b"}},
        {"n": 0, "m": {"x": 0}},
    ),
]


@cases("expression, values, updated_old, updated_new", IMAGES)
@pytest.mark.parametrize("wanted", ["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"])
def test_return_values(
    table: Table,
    wanted: str,
    expression: str,
    values: Attributes,
    updated_old: Any,
    updated_new: Any,
) -> None:
    table.put(OLD)
    request: dict[str, Any] = {"Key": item(pk="k"), "UpdateExpression": expression}
    if values:
        request["ExpressionAttributeValues"] = item(values)
    response = table.call("UpdateItem", ReturnValues=wanted, **request)
    expected = {
        "NONE": None,
        "ALL_OLD": OLD,
        "UPDATED_OLD": updated_old,
        "ALL_NEW": table.get(pk="k"),
        "UPDATED_NEW": updated_new,
    }[wanted]
    seen = plain(response["Attributes"]) if "Attributes" in response else None
    assert seen == expected


@cases(
    "wanted, expected",
    [
        ("NONE", None),
        ("ALL_OLD", None),
        ("UPDATED_OLD", None),
        ("ALL_NEW", {"pk": "k"}),
        ("UPDATED_NEW", None),
    ],
)
def test_return_values_of_a_new_item(table: Table, wanted: str, expected: Any) -> None:
    response = table.call("UpdateItem", Key=item(pk="k"), ReturnValues=wanted)
    seen = plain(response["Attributes"]) if "Attributes" in response else None
    assert seen == expected


def test_an_update_may_not_change_a_sort_key(new_table: NewTable) -> None:
    new_table("pk/sk").refused(
        PART_OF_KEY.replace("pk", "sk"),
        "UpdateItem",
        Key=item(pk="a", sk="b"),
        UpdateExpression="SET sk = :v",
        ExpressionAttributeValues=item({":v": "c"}),
    )


@pytest.mark.parametrize("depth", [31, 32])
def test_an_update_may_nest_as_deep_as_a_put(table: Table, depth: int) -> None:
    """The limit also holds if a value becomes too deep only because of its place."""
    value: Any = "leaf"
    for _ in range(depth - 1):
        value = [value]
    table.put({"pk": "k", "m": {}})
    request = {
        "Key": item(pk="k"),
        "UpdateExpression": "SET m.x = :v",
        "ExpressionAttributeValues": item({":v": value}),
    }
    if depth == 31:
        table.call("UpdateItem", **request)
    else:
        table.refused("ValidationException: …", "UpdateItem", **request)
