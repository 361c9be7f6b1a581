"""Refused updates and conditions on attributes that are keys of indexes."""

from typing import Any

import pytest

from .support import NewTable, Table, call, cases, gsi, item, lsi, refused

MISMATCH = (
    "ValidationException: One or more parameter values were invalid: Type mismatch for Index Key c"
    " Expected: S Actual: {} IndexName: byC"
)
NOT_SCALAR = (
    "ValidationException: Key attributes must be scalars; list random access '[]' and map lookup"
    " '.' are not allowed: {}"
)
UNSUPPORTED = (
    "ValidationException: The update expression attempted to update the secondary index key to"
    " unsupported type"
)
TOO_LONG = (
    "ValidationException: The update expression attempted to update the secondary index key beyond"
    " allowed size limits"
)
EMPTIED = (
    "ValidationException: One or more parameter values are not valid. The update expression"
    " attempted to update a secondary index key to a value that is not supported. The"
    " AttributeValue for a key attribute cannot contain an empty string value."
)
STORED: dict[str, Any] = {
    "pk": "a",
    "sk": "s",
    "n": 1,
    "m": {"x": 1},
    "long": "x" * 1025,
    "none": "",
}
KEY = item(pk="a", sk="s")


@pytest.fixture
def indexed(new_table: NewTable) -> Table:
    table = new_table("pk/sk", lsi("byD", "pk/d"), gsi("byC", "c"))
    table.put(STORED)
    return table


# (expression, the value of :v, refusal); the first rows hold two faults
UPDATES: list[tuple[str, Any, str]] = [
    ("SET d.a = n ADD c :v", 1, MISMATCH.format("N")),
    ("SET c = :v + nope", 1, MISMATCH.format("N")),
    ("SET e = list_append(nope, nope), f = d[1]", None, NOT_SCALAR.format("IndexKey: d")),
    ("SET c = :v", 1, MISMATCH.format("N")),
    ("SET c = list_append(:v, nope)", [], MISMATCH.format("L")),
    ("DELETE c :v", {"x"}, MISMATCH.format("SS")),
    ("ADD d.b :v", 1, NOT_SCALAR.format("IndexKey: d")),
    ("SET d[1] = :v", 1, NOT_SCALAR.format("IndexKey: d")),
    ("REMOVE c.x", None, NOT_SCALAR.format("IndexKey: c")),
    ("SET e = sk.x", None, NOT_SCALAR.format("Key: sk")),
    ("SET c = n", None, UNSUPPORTED),
    ("SET d = m", None, UNSUPPORTED),
    ("SET c = if_not_exists(c, :v)", 1, UNSUPPORTED),
    ("SET d = #long", None, TOO_LONG),
    ("SET c = :v", "", EMPTIED),
    ("SET d = :v", "", EMPTIED),
    ("SET d = #none", None, EMPTIED),
    ("SET c = if_not_exists(c, :v)", "", EMPTIED),
]


@cases("expression, value, refusal", UPDATES)
def test_an_update_is_refused(indexed: Table, expression: str, value: Any, refusal: str) -> None:
    request: dict[str, Any] = {"Key": KEY, "UpdateExpression": expression}
    if value is not None:
        request["ExpressionAttributeValues"] = item({":v": value})
    names = {alias: alias[1:] for alias in ("#long", "#none") if alias in expression}
    if names:
        request["ExpressionAttributeNames"] = names
    indexed.refused(refusal, "UpdateItem", **request)
    assert indexed.get(pk="a", sk="s") == STORED


def test_certain_faults_are_found_before_the_condition_is_evaluated(indexed: Table) -> None:
    request: dict[str, Any] = {"Key": KEY, "ConditionExpression": "attribute_exists(nope)"}
    for value, refusal in ((1, MISMATCH.format("N")), ("", EMPTIED)):
        indexed.refused(
            refusal,
            "UpdateItem",
            UpdateExpression="SET c = :v",
            ExpressionAttributeValues=item({":v": value}),
            **request,
        )
    indexed.refused(
        "ConditionalCheckFailedException: …", "UpdateItem", UpdateExpression="SET c = n", **request
    )


# (operation, parameters)
CONDITIONED: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"Item": item(STORED)}),
    ("UpdateItem", {"Key": KEY}),
    ("DeleteItem", {"Key": KEY}),
]


@cases("operation, parameters", CONDITIONED)
@pytest.mark.parametrize(
    ("condition", "place"),
    [("attribute_exists(sk.x)", "Key: sk"), ("d[0] = c", "IndexKey: d")],
)
def test_a_condition_does_not_look_into_keys(
    indexed: Table, operation: str, parameters: dict[str, Any], condition: str, place: str
) -> None:
    refusal = NOT_SCALAR.format(place)
    indexed.refused(refusal, operation, ConditionExpression=condition, **parameters)
    assert indexed.get(pk="a", sk="s") == STORED


def test_a_projection_does_not_look_into_keys(indexed: Table) -> None:
    projection = {"ProjectionExpression": "m.x, d[0]"}
    refusal = NOT_SCALAR.format("IndexKey: d")
    indexed.refused(refusal, "GetItem", Key=KEY, **projection)
    wanted = {indexed.name: {"Keys": [KEY], **projection}}
    refused(refusal, call, indexed.client, "BatchGetItem", RequestItems=wanted)
    get = {"Get": {"TableName": indexed.name, "Key": KEY, **projection}}
    error = refused(
        "TransactionCanceledException: …[ValidationError]",
        call,
        indexed.client,
        "TransactGetItems",
        TransactItems=[get],
    )
    [reason] = error["CancellationReasons"]
    assert f"ValidationException: {reason['Message']}" == refusal


@pytest.mark.parametrize("names", ["two one", "one two"])
def test_the_first_index_by_name_is_reported(new_table: NewTable, names: str) -> None:
    table = new_table("pk/sk", lsi("within", "pk/c"), *(gsi(name, "c") for name in names.split()))
    mismatch = MISMATCH.format("N").replace("byC", "one")
    table.refused(mismatch, "PutItem", Item=item(pk="a", sk="s", c=1))
    change = {"UpdateExpression": "SET c = :v", "ExpressionAttributeValues": item({":v": 1})}
    table.refused(mismatch, "UpdateItem", Key=KEY, **change)
    empty = "ValidationException: …IndexName: one, IndexKey: c"
    table.refused(empty, "PutItem", Item=item(pk="a", sk="s", c=""))


# (action, what it is given, refusal)
EMPTY_IN_TRANSACTION: list[tuple[str, dict[str, Any], str]] = [
    ("Put", {"Item": item(pk="a", sk="t", c="")}, "…empty string value. IndexName: byC, …: c"),
    (
        "Update",
        {
            "Key": KEY,
            "UpdateExpression": "SET c = :v",
            "ExpressionAttributeValues": item({":v": ""}),
        },
        EMPTIED,
    ),
]


@cases("action, given, refusal", EMPTY_IN_TRANSACTION)
def test_an_empty_key_of_an_index_refuses_a_transaction_as_a_whole(
    indexed: Table, action: str, given: dict[str, Any], refusal: str
) -> None:
    wrong_key = {"Delete": {"TableName": indexed.name, "Key": item(pk="a")}}
    actions = [wrong_key, {action: {"TableName": indexed.name, **given}}]
    expected = f"ValidationException: {refusal.removeprefix('ValidationException: ')}"
    refused(expected, call, indexed.client, "TransactWriteItems", TransactItems=actions)
    assert indexed.all() == [STORED]
