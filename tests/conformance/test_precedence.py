"""Which error wins when a request has several faults: a table per operation, first fault first.

Each fault is tried alone, then with every later one, unless both change the same member.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from .support import Client, NewTable, Table, call, definition, gsi, item, refused, unique_name

ENUM = "ValidationException: …failed to satisfy constraint: …enum value set: …"
MIXED = "ValidationException: Can not use both expression and non-expression parameters in the…"
NO_EXPRESSION = "ValidationException: ExpressionAttributeValues can only be specified when using…"
EMPTY_VALUE = "ValidationException: Supplied AttributeValue is empty, must contain exactly one of…"
NO_TABLE = "ResourceNotFoundException: Requested resource not found…"
NO_MATCH = "ValidationException: The provided key element does not match the schema"
FAILED = "ConditionalCheckFailedException: The conditional request failed"
SYNTAX_INSIDE = "ValidationException: …Invalid ConditionExpression: Syntax error; …"
BAD_START = "ValidationException: The provided starting key is invalid"
BAD_VALUE_NAME = "ValidationException: ExpressionAttributeValues contains invalid key: Syntax…"
MUST_SPECIFY = "ValidationException: Must specify the AttributesToGet or ProjectionExpression …"
NO_INDEX = "ValidationException: The table does not have the specified index: absent"
NOT_CONSISTENT = (
    "ValidationException: Consistent reads are not supported on global secondary indexes"
)
PATH = (
    "ValidationException: Key attributes must be scalars; list random access '[]' and map lookup"
    " '.' are not allowed: "
)
TWICE = (
    "ValidationException: One or more parameter values were invalid: Duplicate value in attribute"
    " name: a"
)
DUPLICATES = "ValidationException: Provided list of item keys contains duplicates"

RETURNED = "ValidationException: ReturnValues can only be ALL_OLD or NONE"
EMPTY_NAMES: dict[str, Any] = {"ExpressionAttributeNames": {}}
NO_NAMES = "ValidationException: ExpressionAttributeNames must not be empty"

ONE = {"N": "1"}
NO_NUMBER = {"N": "x"}
NOT_NUMERIC = "ValidationException: …The parameter cannot be converted to a numeric value: x"
ABSENT = {"TableName": "absent-table"}
VALUES_ALONE = {"ExpressionAttributeValues": {":v": ONE}, "ConditionExpression": None}
CAPACITY = {"ReturnConsumedCapacity": "X"}

# A fault: its name, what it sets in the good request (None leaves out, "A.b" is in A), its error.
Fault = tuple[str, dict[str, Any], str]


def syntax(kind: str) -> str:
    return f"ValidationException: Invalid {kind}Expression: Syntax error; …"


def undefined(kind: str) -> str:
    return (
        f"ValidationException: Invalid {kind}Expression: An expression attribute value used in"
        " expression is not defined; attribute value: :x"
    )


# The stored item is KEY; the table has the keys pk and sk:N and the index byTeam.
KEY = item(pk="a", sk=1)

GOOD: dict[str, dict[str, Any]] = {
    "GetItem": {"Key": KEY},
    "PutItem": {"Item": KEY},
    "DeleteItem": {"Key": KEY},
    "UpdateItem": {"Key": KEY},
    "Query": {
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
    },
    "Scan": {},
    "Query by legacy parameters": {
        "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
    },
    "Scan by legacy parameters": {},
}

FAULTS: dict[str, list[Fault]] = {
    "GetItem": [
        ("enum", CAPACITY, ENUM),
        ("mixed", {"AttributesToGet": ["a"], "ProjectionExpression": "a"}, MIXED),
        ("value", {"Key.sk": NO_NUMBER}, NOT_NUMERIC),
        ("names", {"ProjectionExpression": "#a", **EMPTY_NAMES}, NO_NAMES),
        ("expression", {"ProjectionExpression": "a,"}, syntax("Projection")),
        ("table", ABSENT, NO_TABLE),
        ("key", {"Key.x": ONE}, NO_MATCH),
    ],
    "PutItem": [
        ("enum", CAPACITY, ENUM),
        (
            "mixed",
            {"Expected": {"a": {"Exists": False}}, "ConditionExpression": "attribute_exists(a)"},
            MIXED,
        ),
        ("no expression", VALUES_ALONE, NO_EXPRESSION),
        ("value", {"Item.v": NO_NUMBER}, NOT_NUMERIC),
        ("returned", {"ReturnValues": "ALL_NEW"}, RETURNED),
        (
            "size",
            {"Item.w": {"S": "x" * 410_000}},
            "ValidationException: Item size has exceeded the maximum allowed size",
        ),
        ("names", {"ConditionExpression": "#a = #a", **EMPTY_NAMES}, NO_NAMES),
        ("expression", {"ConditionExpression": "a ="}, syntax("Condition")),
        ("undefined", {"ConditionExpression": "a = :x"}, undefined("Condition")),
        ("table", ABSENT, NO_TABLE),
        (
            "no key",
            {"Item.sk": None},
            "ValidationException: One or more parameter values were invalid: Missing the key sk in"
            " the item",
        ),
        (
            "key type",
            {"Item.sk": {"S": "1"}},
            "ValidationException: One or more parameter values were invalid: Type mismatch for key"
            " sk expected: N actual: S",
        ),
        (
            "index key type",
            {"Item.team": ONE},
            "ValidationException: One or more parameter values were invalid: Type mismatch for"
            " Index Key team Expected: S Actual: N IndexName: byTeam",
        ),
        ("condition", {"ConditionExpression": "attribute_not_exists(pk)"}, FAILED),
    ],
    "DeleteItem": [
        ("enum", CAPACITY, ENUM),
        ("returned", {"ReturnValues": "ALL_NEW"}, RETURNED),
        (
            "mixed",
            {"Expected": {"a": {"Exists": False}}, "ConditionExpression": "attribute_exists(a)"},
            MIXED,
        ),
        ("no expression", VALUES_ALONE, NO_EXPRESSION),
        ("value", {"Key.sk": NO_NUMBER}, NOT_NUMERIC),
        ("names", {"ConditionExpression": "#a = #a", **EMPTY_NAMES}, NO_NAMES),
        ("expression", {"ConditionExpression": "a ="}, syntax("Condition")),
        ("table", ABSENT, NO_TABLE),
        ("key", {"Key.x": ONE}, NO_MATCH),
        ("condition", {"ConditionExpression": "attribute_not_exists(pk)"}, FAILED),
    ],
    "UpdateItem": [
        ("enum", CAPACITY, ENUM),
        (
            "mixed",
            {"AttributeUpdates": {"a": {"Action": "DELETE"}}, "UpdateExpression": "REMOVE a"},
            MIXED,
        ),
        ("value", {"Key.sk": NO_NUMBER}, NOT_NUMERIC),
        ("names", {"UpdateExpression": "SET #a = #a", **EMPTY_NAMES}, NO_NAMES),
        ("condition text", {"ConditionExpression": "a ="}, syntax("Condition")),
        ("undefined in condition", {"ConditionExpression": "a = :x"}, undefined("Condition")),
        ("update", {"UpdateExpression": "SET a ="}, syntax("Update")),
        ("undefined", {"UpdateExpression": "SET a = :x"}, undefined("Update")),
        ("table", ABSENT, NO_TABLE),
        ("key", {"Key.x": ONE}, NO_MATCH),
        (
            "part of the key",
            {"UpdateExpression": "REMOVE sk"},
            "ValidationException: One or more parameter values were invalid: Cannot update"
            " attribute sk. This attribute is part of the key",
        ),
        ("condition", {"ConditionExpression": "attribute_not_exists(pk)"}, FAILED),
        (
            "operand",
            {"UpdateExpression": "SET a = b"},
            "ValidationException: The provided expression refers to an attribute that does not"
            " exist in the item",
        ),
    ],
    "Query": [
        ("enum", CAPACITY, ENUM),
        ("mixed", {"QueryFilter": {"a": {"ComparisonOperator": "NULL"}}}, MIXED),
        ("start key", {"ExclusiveStartKey": {"pk": NO_NUMBER}}, NOT_NUMERIC),
        ("values", {"ExpressionAttributeValues": {"p": ONE}}, BAD_VALUE_NAME),
        ("key condition", {"KeyConditionExpression": "pk ="}, syntax("KeyCondition")),
        ("filter", {"FilterExpression": "a ="}, syntax("Filter")),
        ("projection", {"ProjectionExpression": "a,"}, syntax("Projection")),
        ("select", {"Select": "SPECIFIC_ATTRIBUTES"}, MUST_SPECIFY),
        (
            "no condition on a key",
            {"KeyConditionExpression": "pk <> :p"},
            "ValidationException: Invalid operator used in KeyConditionExpression: <>",
        ),
        ("table", ABSENT, NO_TABLE),
        ("index", {"IndexName": "absent"}, NO_INDEX),
        ("consistent", {"IndexName": "byTeam", "ConsistentRead": True}, NOT_CONSISTENT),
        ("start key's length", {"ExclusiveStartKey": {}}, BAD_START),
        (
            "no partition key",
            {"KeyConditionExpression": "sk = :p"},
            "ValidationException: Query condition missed key schema element: pk",
        ),
        (
            "type",
            {"ExpressionAttributeValues": {":p": ONE}},
            "ValidationException: One or more parameter values were invalid: Condition parameter"
            " type does not match schema type",
        ),
        ("outside", {"ExclusiveStartKey": item(pk="b", sk=1)}, "…outside query boundaries…"),
        (
            "filter on the key",
            {"FilterExpression": "pk = :p"},
            "ValidationException: Filter Expression can only contain non-primary key attributes:"
            " Primary key attribute: pk",
        ),
        ("path into a key", {"FilterExpression": "team.a = :p"}, PATH + "IndexKey: team"),
    ],
    "Query by legacy parameters": [
        (
            "filter",
            {"QueryFilter": {"a": {"ComparisonOperator": "EQ"}}},
            "ValidationException: One or more parameter values were invalid: Invalid number of"
            " argument(s) for the EQ ComparisonOperator",
        ),
        ("attributes", {"AttributesToGet": ["a", "a"]}, TWICE),
        ("start key", {"ExclusiveStartKey": {"pk": NO_NUMBER}}, NOT_NUMERIC),
        (
            "key condition",
            {"KeyConditions": {n: {"ComparisonOperator": "NE"} for n in "abc"}},
            "ValidationException: One or more parameter values were invalid: Invalid number of"
            " argument(s) for the NE ComparisonOperator",
        ),
        (
            "no key condition",
            {"KeyConditions": None},
            "ValidationException: Either the KeyConditions or KeyConditionExpression parameter"
            " must be specified in the request.",
        ),
        ("table", ABSENT, NO_TABLE),
        ("index", {"IndexName": "absent"}, NO_INDEX),
        ("start key's length", {"ExclusiveStartKey": {}}, BAD_START),
        (
            "three key conditions",
            {"KeyConditions": {n: {"ComparisonOperator": "NULL"} for n in "abc"}},
            "ValidationException: Conditions can be of length 1 or 2 only",
        ),
        (
            "no partition key",
            {"KeyConditions": {"sk": {"ComparisonOperator": "NULL"}}},
            "ValidationException: Query condition missed key schema element: pk",
        ),
        (
            "operator",
            {"KeyConditions": {"pk": {"ComparisonOperator": "NULL"}}},
            "ValidationException: Attempted conditional constraint is not an indexable operation",
        ),
        (
            "filter on the key",
            {"QueryFilter": {"pk": {"ComparisonOperator": "NULL"}}},
            "ValidationException: QueryFilter can only contain non-primary key attributes:"
            " Primary key attribute: pk",
        ),
    ],
    "Scan": [
        ("limit", {"Limit": 0}, "ValidationException: …imit' failed to satisfy constraint: …"),
        ("enum", CAPACITY, ENUM),
        (
            "mixed",
            {"FilterExpression": "attribute_exists(a)", "AttributesToGet": ["a"]},
            MIXED,
        ),
        ("start key", {"ExclusiveStartKey": {"pk": NO_NUMBER}}, NOT_NUMERIC),
        (
            "values",
            {"ExpressionAttributeValues": {"p": ONE}, "FilterExpression": "a = :p"},
            BAD_VALUE_NAME,
        ),
        ("filter", {"FilterExpression": "a ="}, syntax("Filter")),
        ("projection", {"ProjectionExpression": "a,"}, syntax("Projection")),
        ("select", {"Select": "SPECIFIC_ATTRIBUTES"}, MUST_SPECIFY),
        ("segments", {"TotalSegments": 4}, "ValidationException: The Segment parameter is req…"),
        ("table", ABSENT, NO_TABLE),
        ("index", {"IndexName": "absent"}, NO_INDEX),
        ("consistent", {"IndexName": "byTeam", "ConsistentRead": True}, NOT_CONSISTENT),
        ("start key's length", {"ExclusiveStartKey": {}}, BAD_START + "…"),
        ("path into a key", {"FilterExpression": "attribute_exists(pk.a)"}, PATH + "Key: pk"),
    ],
    "Scan by legacy parameters": [
        (
            "filter",
            {"ScanFilter": {"a": {"ComparisonOperator": "EQ"}}},
            "ValidationException: One or more parameter values were invalid: Invalid number of"
            " argument(s) for the EQ ComparisonOperator",
        ),
        ("attributes", {"AttributesToGet": ["a", "a"]}, TWICE),
        ("start key", {"ExclusiveStartKey": {"pk": NO_NUMBER}}, NOT_NUMERIC),
        ("segments", {"TotalSegments": 4}, "ValidationException: The Segment parameter is req…"),
        ("table", ABSENT, NO_TABLE),
    ],
}


def changed(request: dict[str, Any], *faults: dict[str, Any]) -> dict[str, Any]:
    """The request with what the faults set."""
    result = {name: dict(v) if isinstance(v, dict) else v for name, v in request.items()}
    for path, value in (entry for fault in faults for entry in fault.items()):
        *outer, name = path.split(".")
        members = result[outer[0]] if outer else result
        if value is None:
            members.pop(name, None)
        else:
            members[name] = value
    return result


def combined() -> Iterator[Any]:
    """(operation, one fault or two, the error of the first)"""
    for operation, faults in FAULTS.items():
        for name, changes, error in faults:
            yield pytest.param(operation, [changes], error, id=f"{operation}: {name}")
        for (name, changes, error), (later, more, _) in combinations(faults, 2):
            if changes.keys().isdisjoint(more):
                identity = f"{operation}: {name} before {later}"
                yield pytest.param(operation, [changes, more], error, id=identity)


@pytest.fixture(scope="module")
def stored(new_shared_table: NewTable) -> Table:
    table = new_shared_table("pk/sk:N", gsi("byTeam", "team"))
    table.put({"pk": "a", "sk": 1})
    return table


@pytest.mark.parametrize(("operation", "faults", "error"), list(combined()))
def test_the_first_fault_wins(
    stored: Table, operation: str, faults: list[dict[str, Any]], error: str
) -> None:
    request = changed({"TableName": stored.name, **GOOD[operation]}, *faults)
    refused(error, call, stored.client, operation.partition(" ")[0], **request)
    assert stored.all() == [{"pk": "a", "sk": 1}]


# ---- requests over several tables and items: whole requests, each with two faults ----


def test_batches_check_values_before_tables_and_tables_before_keys(stored: Table) -> None:
    client, absent = stored.client, unique_name()
    bad_value = {"PutRequest": {"Item": {**KEY, "v": {}}}}
    bad_key = {"PutRequest": {"Item": item(pk="a")}}
    good = {"PutRequest": {"Item": KEY}}
    for requests, error in (
        ({stored.name: [bad_value], absent: [good]}, EMPTY_VALUE),
        ({stored.name: [bad_key], absent: [good]}, NO_TABLE),
        ({stored.name: [good, good, bad_key]}, NO_MATCH),
        ({stored.name: [good, good]}, DUPLICATES),
    ):
        refused(error, call, client, "BatchWriteItem", RequestItems=requests)


def test_transactions_check_texts_before_tables_and_tables_before_items(stored: Table) -> None:
    client = stored.client

    def put(table: str, **more: Any) -> dict[str, Any]:
        return {"Put": {"TableName": table, "Item": KEY, **more}}

    fails = {"ConditionExpression": "attribute_not_exists(pk)"}
    malformed = {"ConditionExpression": "a ="}
    other = {"Put": {"TableName": stored.name, "Item": item(pk="b", sk=2)}}
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([put("absent-table"), put(stored.name, **malformed)], SYNTAX_INSIDE),
        ([put(stored.name, **fails), put("absent-table")], NO_TABLE),
        ([other, put(stored.name, **fails)], "TransactionCanceledException: …"),
    ]
    for actions, error in cases:
        refused(
            error.replace(": Inv", ": …Inv"),
            call,
            client,
            "TransactWriteItems",
            TransactItems=actions,
        )


def test_create_table_checks_constraints_before_all(client: Client, stored: Table) -> None:
    good = definition("pk/sk")
    extra = [*good["AttributeDefinitions"], {"AttributeName": "x", "AttributeType": "S"}]
    for changes, error in (
        ({"BillingMode": "X", "AttributeDefinitions": extra}, ENUM),
        (
            {"TableName": stored.name, "AttributeDefinitions": extra},
            "ValidationException: One or more parameter values were invalid: Number of attributes…",
        ),
        ({"TableName": stored.name}, "ResourceInUseException: …"),
    ):
        request = {"TableName": unique_name(), **good, **changes}
        refused(error, call, client, "CreateTable", **request)
