"""PutItem, GetItem and DeleteItem: their effects, results and refusals."""

from typing import Any

import pytest

from .support import NewTable, Table, cases, item, plain

BEFORE = {"pk": "a", "n": 1, "tags": {"x", "y"}}
FAILED = "ConditionalCheckFailedException: The conditional request failed"
NO_MATCH = "ValidationException: The provided key element does not match the schema"
NO_TABLE = "ResourceNotFoundException: Requested resource not found"


def test_put_replaces_the_whole_item(table: Table) -> None:
    table.put(BEFORE, {"pk": "a", "other": True})
    assert table.all() == [{"pk": "a", "other": True}]


def test_get_of_a_missing_item_returns_no_item(table: Table) -> None:
    assert table.call("GetItem", Key=item(pk="none")) == {}


def test_delete_of_a_missing_item_succeeds(table: Table) -> None:
    assert table.call("DeleteItem", Key=item(pk="none"), ReturnValues="ALL_OLD") == {}


def test_keys_of_every_type_identify_items(new_table: NewTable) -> None:
    for kind, values in (("S", ["1", "1.0", ""]), ("N", [1, 2]), ("B", [b"\x00", b"\x00\x00"])):
        table = new_table(f"pk:{kind}/sk:{kind}")
        made = [{"pk": pk, "sk": sk} for pk in values if pk != "" for sk in values if sk != ""]
        table.put(*made)
        assert len(table.all()) == len(made)
        for keys in made:
            assert table.get(**keys) == keys


# ---- ReturnValues ----

# (ReturnValues, before, what PutItem and DeleteItem return)
RETURN_VALUES: list[tuple[str | None, dict[str, Any] | None, dict[str, Any] | None]] = [
    (None, BEFORE, None),
    ("NONE", BEFORE, None),
    ("ALL_OLD", BEFORE, BEFORE),
    ("ALL_OLD", None, None),
]


@cases("wanted, before, returned", RETURN_VALUES)
@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
def test_return_values(
    table: Table, operation: str, wanted: str | None, before: Any, returned: Any
) -> None:
    if before:
        table.put(before)
    parameters = {"ReturnValues": wanted} if wanted else {}
    subject = {"Item" if operation == "PutItem" else "Key": item(pk="a")}
    response = table.call(operation, **subject, **parameters)
    assert ("Attributes" in response) == (returned is not None)
    assert plain(response.get("Attributes", {})) == (returned or {})
    assert table.get(pk="a") == ({"pk": "a"} if operation == "PutItem" else None)


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
@pytest.mark.parametrize("wanted", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_return_values_are_none_or_all_old(table: Table, operation: str, wanted: str) -> None:
    subject = {"Item" if operation == "PutItem" else "Key": item(pk="a")}
    table.refused(
        "ValidationException: ReturnValues can only be ALL_OLD or NONE",
        operation,
        **subject,
        ReturnValues=wanted,
    )


# ---- conditions ----

SUBJECTS: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": item(pk="a", new=True)},
    "DeleteItem": {"Key": item(pk="a")},
    "UpdateItem": {"Key": item(pk="a"), "UpdateExpression": "REMOVE n"},
}

# (before, condition, does it hold)
CONDITIONS: list[tuple[dict[str, Any] | None, str, bool]] = [
    (None, "attribute_not_exists(pk)", True),
    (None, "attribute_exists(pk)", False),
    (None, "n <> :one", True),
    (None, "n = :one", False),
    (None, "NOT n = :one", True),
    (BEFORE, "attribute_not_exists(pk)", False),
    (BEFORE, "attribute_exists(pk)", True),
    (BEFORE, "n = :one", True),
    (BEFORE, "n > :one", False),
]


@cases("before, condition, holds", CONDITIONS)
@pytest.mark.parametrize("operation", SUBJECTS)
def test_an_item_changes_if_the_condition_holds(
    table: Table, operation: str, before: Any, condition: str, holds: bool
) -> None:
    if before:
        table.put(before)
    request: dict[str, Any] = {**SUBJECTS[operation], "ConditionExpression": condition}
    if ":one" in condition:
        request["ExpressionAttributeValues"] = item({":one": 1})
    if holds:
        table.call(operation, **request)
        left = before and {name: value for name, value in before.items() if name != "n"}
        after = {"PutItem": {"pk": "a", "new": True}, "DeleteItem": None, "UpdateItem": left}
        assert table.get(pk="a") == after[operation]
    else:
        table.refused(FAILED, operation, **request)
        assert table.get(pk="a") == before
        assert table.get(pk="a") == before


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem", "UpdateItem"])
@cases(
    "wanted, before, returned",
    [("ALL_OLD", BEFORE, True), ("ALL_OLD", None, False), ("NONE", BEFORE, False)],
)
def test_a_failed_condition_can_return_the_item(
    table: Table, operation: str, wanted: str, before: Any, returned: bool
) -> None:
    if before:
        table.put(before)
    request = {**SUBJECTS[operation], "ConditionExpression": "attribute_exists(absent)"}
    error = table.refused(FAILED, operation, **request, ReturnValuesOnConditionCheckFailure=wanted)
    assert plain(error.get("Item", {})) == (before if returned else {})
    assert ("Item" in error) == returned


# ---- keys that do not fit the table ----

SCHEMA = "pk/sk:N"
PUT_PREFIX = "ValidationException: One or more parameter values were invalid: "

# (name, the item, the refusal)
WRONG_ITEMS = [
    ("no partition key", {"sk": 1}, PUT_PREFIX + "Missing the key pk in the item"),
    ("no sort key", {"pk": "a"}, PUT_PREFIX + "Missing the key sk in the item"),
    (
        "partition key of another type",
        {"pk": 1, "sk": 1},
        PUT_PREFIX + "Type mismatch for key pk expected: S actual: N",
    ),
    (
        "sort key of another type",
        {"pk": "a", "sk": "1"},
        PUT_PREFIX + "Type mismatch for key sk expected: N actual: S",
    ),
    (
        "sort key that is no scalar",
        {"pk": "a", "sk": [1]},
        PUT_PREFIX + "Type mismatch for key sk expected: N actual: L",
    ),
    (
        "empty partition key",
        {"pk": "", "sk": 1},
        "ValidationException: One or more parameter values are not valid. The AttributeValue for"
        " a key attribute cannot contain an empty string value. Key: pk",
    ),
]


@cases("name, values, refusal", WRONG_ITEMS)
def test_an_item_without_its_keys_is_refused(
    new_table: NewTable, name: str, values: dict[str, Any], refusal: str
) -> None:
    new_table(SCHEMA).refused(refusal, "PutItem", Item=item(values))


# (name, the key)
WRONG_KEYS: list[tuple[str, dict[str, Any]]] = [
    ("no attributes", {}),
    ("no partition key", {"sk": 1}),
    ("no sort key", {"pk": "a"}),
    ("one attribute too many", {"pk": "a", "sk": 1, "x": 1}),
    ("another attribute", {"pk": "a", "x": 1}),
    ("partition key of another type", {"pk": 1, "sk": 1}),
    ("sort key of another type", {"pk": "a", "sk": "1"}),
    ("sort key that is no scalar", {"pk": "a", "sk": {1}}),
]


@cases("name, key", WRONG_KEYS)
@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_a_key_that_does_not_fit_is_refused(
    new_table: NewTable, operation: str, name: str, key: dict[str, Any]
) -> None:
    new_table(SCHEMA).refused(NO_MATCH, operation, Key=item(key))


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
@pytest.mark.parametrize(("keys", "key", "kind"), [("pk", "", "string"), ("pk:B", b"", "binary")])
def test_an_empty_key_is_refused(
    new_table: NewTable, operation: str, keys: str, key: Any, kind: str
) -> None:
    new_table(keys).refused(
        "ValidationException: One or more parameter values are not valid. The AttributeValue for"
        f" a key attribute cannot contain an empty {kind} value. Key: pk",
        operation,
        Key=item(pk=key),
    )


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem", "PutItem"])
def test_a_missing_table(table: Table, operation: str) -> None:
    absent = Table(table.client, f"{table.name}-absent")
    subject = {"Item" if operation == "PutItem" else "Key": item(pk="a")}
    absent.refused(NO_TABLE, operation, **subject)


# ---- GetItem's parameters ----

STORED = {"pk": "a", "n": 1, "m": {"x": [1, {"y": 2}, 3], "z": True}, "a.b": 5}

# (name, parameters, the item that is returned)
GETS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("everything", {}, STORED),
    ("strongly", {"ConsistentRead": True}, STORED),
    ("one attribute", {"ProjectionExpression": "n"}, {"n": 1}),
    ("keys are not added", {"ProjectionExpression": "m.z"}, {"m": {"z": True}}),
    ("none of it is there", {"ProjectionExpression": "q, m.q, n.q, m.z[0]"}, {}),
    (
        "list elements are compacted, in order",
        {"ProjectionExpression": "m.x[2], m.x[0]"},
        {"m": {"x": [1, 3]}},
    ),
    ("inside a list", {"ProjectionExpression": "m.x[1].y"}, {"m": {"x": [{"y": 2}]}}),
    (
        "names with dots",
        {"ProjectionExpression": "#d", "ExpressionAttributeNames": {"#d": "a.b"}},
        {"a.b": 5},
    ),
    (
        "names by placeholder",
        {
            "ProjectionExpression": "pk, #m.#x[1]",
            "ExpressionAttributeNames": {"#m": "m", "#x": "x"},
        },
        {"pk": "a", "m": {"x": [{"y": 2}]}},
    ),
]


@cases("name, parameters, expected", GETS)
def test_get_item_returns_the_requested_attributes(
    table: Table, name: str, parameters: dict[str, Any], expected: dict[str, Any]
) -> None:
    table.put(STORED)
    response = table.call("GetItem", Key=item(pk="a"), **parameters)
    assert plain(response["Item"]) == expected
