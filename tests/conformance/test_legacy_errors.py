"""Faults of legacy parameters, for any table."""

from typing import Any

from .legacy import act, compare
from .support import Client, call, cases, item, refused, unique_name, wire

INVALID = "ValidationException: One or more parameter values were invalid: "

# (name, operation, parameters beside the table's name, the refusal), whatever the table
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "too few operands",
        "Scan",
        {"ScanFilter": {"n": compare("EQ")}},
        INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator",
    ),
    (
        "too many operands",
        "Scan",
        {"ScanFilter": {"n": compare("LT", 1, 2)}},
        INVALID + "Invalid number of argument(s) for the LT ComparisonOperator",
    ),
    (
        "operands of NULL",
        "Scan",
        {"ScanFilter": {"n": compare("NULL", 1)}},
        INVALID + "Invalid number of argument(s) for the NULL ComparisonOperator",
    ),
    (
        "one bound of BETWEEN",
        "Scan",
        {"ScanFilter": {"n": compare("BETWEEN", 1)}},
        INVALID + "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
    ),
    (
        "no operands of IN",
        "Scan",
        {"ScanFilter": {"n": compare("IN")}},
        INVALID + "Invalid number of argument(s) for the IN ComparisonOperator",
    ),
    (
        "a type that has no order",
        "Scan",
        {"ScanFilter": {"n": compare("LT", [1])}},
        INVALID + "ComparisonOperator LT is not valid for L AttributeValue type",
    ),
    (
        "BEGINS_WITH of a number",
        "Scan",
        {"ScanFilter": {"n": compare("BEGINS_WITH", 1)}},
        INVALID + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
    ),
    (
        "ConditionalOperator of one condition",
        "Scan",
        {"ScanFilter": {"n": compare("NULL")}, "ConditionalOperator": "OR"},
        "ValidationException: ConditionalOperator can…",
    ),
    (
        "duplicates in AttributesToGet",
        "GetItem",
        {"Key": item(pk="a"), "AttributesToGet": ["a", "b", "a"]},
        INVALID + "Duplicate value in attribute name: a",
    ),
    (
        "Expected: Value with Exists false",
        "PutItem",
        {"Item": item(pk="a"), "Expected": {"n": {"Value": wire(1), "Exists": False}}},
        INVALID + "Value cannot be used when Exists is false for Attribute: n",
    ),
    (
        "Expected: Exists without Value",
        "PutItem",
        {"Item": item(pk="a"), "Expected": {"n": {"Exists": True}}},
        INVALID + "Value must be provided when Exists is true for Attribute: n",
    ),
    (
        "Expected: nothing",
        "PutItem",
        {"Item": item(pk="a"), "Expected": {"n": {}}},
        INVALID + "Value must be provided when Exists is null for Attribute: n",
    ),
    (
        "Expected: Value and AttributeValueList",
        "PutItem",
        {"Item": item(pk="a"), "Expected": {"n": {"Value": wire(1), **compare("EQ", 1)}}},
        INVALID + "Value and AttributeValueList cannot be used together for Attribute: n",
    ),
    *(
        (
            f"Expected: an unknown operator, {operation}",
            operation,
            {**members, "Expected": {"n": compare(operator, 1)}},
            f"ValidationException: …{INVALID.partition(': ')[2]}Invalid comparison operator",
        )
        for operation, members in (
            ("PutItem", {"Item": item(pk="a")}),
            ("UpdateItem", {"Key": item(pk="a"), "AttributeUpdates": {"n": act("PUT", 1)}}),
            ("DeleteItem", {"Key": item(pk="a")}),
        )
        for operator in ("", "eq")
    ),
    (
        "Expected: AttributeValueList without operator",
        "PutItem",
        {"Item": item(pk="a"), "Expected": {"n": {"AttributeValueList": [wire(1)]}}},
        INVALID + "AttributeValueList can only be used with a ComparisonOperator for Attribute: n",
    ),
    (
        "AttributeUpdates: PUT without Value",
        "UpdateItem",
        {"Key": item(pk="a"), "AttributeUpdates": {"n": act("PUT")}},
        INVALID + "Only DELETE action is allowed when no attribute value is specified",
    ),
    (
        "AttributeUpdates: DELETE of a number",
        "UpdateItem",
        {"Key": item(pk="a"), "AttributeUpdates": {"n": act("DELETE", 1)}},
        INVALID + "DELETE action with value is not supported for the type N",
    ),
    (
        "AttributeUpdates: ADD of a string",
        "UpdateItem",
        {"Key": item(pk="a"), "AttributeUpdates": {"n": act("ADD", "x")}},
        INVALID + "ADD action is not supported for the type S",
    ),
    (
        "KeyConditions: none",
        "Query",
        {"KeyConditions": {}},
        "ValidationException: Conditions can be of length 1 or 2 only",
    ),
    (
        "ConditionalOperator: unknown",
        "Scan",
        {
            "ScanFilter": {"a": compare("EQ", "x"), "b": compare("EQ", "x")},
            "ConditionalOperator": "XOR",
        },
        "ValidationException: Failed to satisfy constraint: Member must satisfy enum value set:"
        " [ALL, OR]",
    ),
    (
        "IN: a type that has no order, among others",
        "Scan",
        {"ScanFilter": {"a": compare("IN", "x", True)}},
        "ValidationException: One or more parameter values were invalid: ComparisonOperator IN is"
        " not valid for BOOL AttributeValue type",
    ),
]


@cases("name, operation, parameters, refusal", REFUSED)
def test_legacy_parameters_are_refused(
    client: Client, name: str, operation: str, parameters: dict[str, Any], refusal: str
) -> None:
    refused(refusal, call, client, operation, TableName=unique_name(), **parameters)


# (operation, its subject, its legacy parameters and its expressions)
MIXED: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, str]]] = [
    ("GetItem", {"Key": item(pk="a")}, {"AttributesToGet": ["a"]}, {"ProjectionExpression": "a"}),
    (
        "PutItem",
        {"Item": item(pk="a")},
        {"Expected": {"a": {"Exists": False}}},
        {"ConditionExpression": "attribute_exists(a)"},
    ),
    (
        "UpdateItem",
        {"Key": item(pk="a")},
        {"AttributeUpdates": {"a": act("DELETE")}},
        {"UpdateExpression": "REMOVE a"},
    ),
    (
        "DeleteItem",
        {"Key": item(pk="a")},
        {"Expected": {"a": {"Exists": False}}},
        {"ConditionExpression": "attribute_exists(a)"},
    ),
    (
        "Query",
        {},
        {"KeyConditions": {"pk": compare("EQ", "a")}},
        {"KeyConditionExpression": "pk = :p"},
    ),
    (
        "Scan",
        {},
        {"AttributesToGet": ["a"]},
        {"FilterExpression": "attribute_exists(a)"},
    ),
]


@cases("operation, subject, legacy, expressions", MIXED)
def test_legacy_parameters_and_expressions_do_not_mix(
    client: Client,
    operation: str,
    subject: dict[str, Any],
    legacy: dict[str, Any],
    expressions: dict[str, str],
) -> None:
    refused(
        "ValidationException: Can not use both expression and non-expression parameters in the"
        f" same request: Non-expression parameters: {{{', '.join(legacy)}}}"
        f" Expression parameters: {{{', '.join(expressions)}}}",
        call,
        client,
        operation,
        TableName=unique_name(),
        **subject,
        **legacy,
        **expressions,
    )
