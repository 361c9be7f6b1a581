"""The form of messages about values and expressions: one of three, by operation.

Single writes put it in an envelope, the other newer operations give it bare, and the older ones
say of a value of an expression which one it is. What is found out later is bare everywhere.
"""

from typing import Any

from .support import Client, Table, call, cases, item, refused

KEY = item(pk="a")
BAD = {":v": {"N": "abc"}}
FAULT = "The parameter cannot be converted to a numeric value: abc"
ENVELOPED = "1 validation error detected: "
NAMED = "ExpressionAttributeValues contains invalid value: "


def message(client: Client, operation: str, parameters: dict[str, Any]) -> str:
    response = refused("ValidationException: …", call, client, operation, **parameters)
    return str(response["Error"]["Message"])


def on(table: Table, **parameters: Any) -> dict[str, Any]:
    return {"TableName": table.name, **parameters}


CONDITION = {"ConditionExpression": "n = :v", "ExpressionAttributeValues": BAD}
UPDATE = {"UpdateExpression": "SET n = :v", "ExpressionAttributeValues": BAD}

# (operation, parameters, the message)
VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("PutItem", {"Item": {**KEY, "n": {"N": "abc"}}}, ENVELOPED + FAULT),
    ("PutItem", {"Item": KEY, **CONDITION}, ENVELOPED + FAULT),
    ("PutItem", {"Item": KEY, "Expected": {"n": {"Value": {"N": "abc"}}}}, ENVELOPED + FAULT),
    ("UpdateItem", {"Key": KEY, **UPDATE}, ENVELOPED + FAULT),
    ("UpdateItem", {"Key": {"pk": {"N": "abc"}}}, ENVELOPED + FAULT),
    ("DeleteItem", {"Key": KEY, **CONDITION}, ENVELOPED + FAULT),
    ("DeleteItem", {"Key": {"pk": {"N": "abc"}}}, ENVELOPED + FAULT),
    ("GetItem", {"Key": {"pk": {"N": "abc"}}}, FAULT),
    (
        "Query",
        {"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": BAD},
        FAULT,
    ),
    (
        "Scan",
        {"FilterExpression": "n = :v", "ExpressionAttributeValues": BAD},
        FAULT,
    ),
]


@cases("operation, parameters, expected", VALUES)
def test_a_value_is_refused_in_the_way_of_the_operation(
    client: Client, table: Table, operation: str, parameters: dict[str, Any], expected: str
) -> None:
    assert message(client, operation, on(table, **parameters)) == expected


ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("Put", {"Item": KEY, **CONDITION}),
    ("Update", {"Key": KEY, **UPDATE}),
    ("Delete", {"Key": KEY, **CONDITION}),
    ("ConditionCheck", {"Key": KEY, **CONDITION}),
]


@cases("action, parameters", ACTIONS)
def test_a_transaction_names_the_value_of_an_expression(
    client: Client, table: Table, action: str, parameters: dict[str, Any]
) -> None:
    request: dict[str, Any] = {"TransactItems": [{action: on(table, **parameters)}]}
    assert message(client, "TransactWriteItems", request) == f"{NAMED}{FAULT} for key :v"


def test_values_of_batches_and_items_in_transactions_are_refused_bare(
    client: Client, table: Table
) -> None:
    put = {"Item": {**KEY, "n": {"N": "abc"}}}
    batch: dict[str, Any] = {"RequestItems": {table.name: [{"PutRequest": put}]}}
    assert message(client, "BatchWriteItem", batch) == FAULT
    keys: dict[str, Any] = {"RequestItems": {table.name: {"Keys": [{"pk": {"N": "abc"}}]}}}
    assert message(client, "BatchGetItem", keys) == FAULT
    transaction = {"TransactItems": [{"Put": on(table, **put)}]}
    assert message(client, "TransactWriteItems", transaction) == FAULT


# (name, operation, parameters, the message)
EXPRESSIONS: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "a condition's text",
        "PutItem",
        {"Item": KEY, "ConditionExpression": ""},
        ENVELOPED + "Invalid ConditionExpression: The expression can not be empty;",
    ),
    (
        "names without expressions",
        "DeleteItem",
        {"Key": KEY, "ExpressionAttributeNames": {"#a": "a"}},
        ENVELOPED + "ExpressionAttributeNames can only be specified when using expressions",
    ),
    (
        "an update's text",
        "UpdateItem",
        {"Key": KEY, "UpdateExpression": "INVALID SYNTAX HERE"},
        ENVELOPED + 'Invalid UpdateExpression: Syntax error; token: "INVALID", near:'
        ' "INVALID SYNTAX"',
    ),
    (
        "ReturnValues",
        "DeleteItem",
        {"Key": KEY, "ReturnValues": "UPDATED_NEW"},
        ENVELOPED + "ReturnValues can only be ALL_OLD or NONE",
    ),
    (
        "a projection's text",
        "GetItem",
        {"Key": KEY, "ProjectionExpression": ""},
        "Invalid ProjectionExpression: The expression can not be empty;",
    ),
    (
        "an empty key",
        "UpdateItem",
        {"Key": {"pk": {"S": ""}}},
        "One or more parameter values are not valid. The AttributeValue for a key attribute"
        " cannot contain an empty string value. Key: pk",
    ),
    (
        "a key to be updated",
        "UpdateItem",
        {"Key": KEY, "UpdateExpression": "REMOVE pk"},
        "One or more parameter values were invalid: Cannot update attribute pk. This attribute is"
        " part of the key",
    ),
    (
        "another key",
        "DeleteItem",
        {"Key": item(other="a")},
        "The provided key element does not match the schema",
    ),
]


@cases("name, operation, parameters, expected", EXPRESSIONS)
def test_only_the_first_checks_of_single_writes_use_an_envelope(
    client: Client,
    table: Table,
    name: str,
    operation: str,
    parameters: dict[str, Any],
    expected: str,
) -> None:
    assert message(client, operation, on(table, **parameters)) == expected


def test_an_empty_list_of_keys_is_reported_by_its_path(client: Client, table: Table) -> None:
    request: dict[str, Any] = {"RequestItems": {table.name: {"Keys": []}}}
    assert message(client, "BatchGetItem", request) == (
        f"{ENVELOPED}Value at 'RequestItems.{table.name}.member.Keys' failed to satisfy"
        " constraint: Member must have length greater than or equal to 1"
    )


def test_an_unknown_conditional_operator_of_a_query_comes_after_select(
    client: Client, table: Table
) -> None:
    is_null = {"ComparisonOperator": "NULL"}
    request = on(
        table,
        KeyConditions={"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
        QueryFilter={"b": is_null, "c": is_null},
        ConditionalOperator="XOR",
    )
    assert message(client, "Query", {**request, "Select": "X"}).startswith(ENVELOPED + "Value 'X'")
    assert message(client, "Query", request) == (
        "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
    )


def test_the_token_of_a_transaction_is_reported_before_other_members(
    client: Client, table: Table
) -> None:
    request: dict[str, Any] = {
        "TransactItems": [{"Put": on(table, Item=KEY)}],
        "ReturnConsumedCapacity": "BOGUS",
        "ClientRequestToken": "x" * 37,
    }
    assert message(client, "TransactWriteItems", request).startswith(
        f"2 validation errors detected: Value '{'x' * 37}' at 'clientRequestToken' failed"
    )
