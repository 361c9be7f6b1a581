"""Faults of expressions, with DynamoDB's messages, found before any table is looked up."""

from typing import Any

import pytest

from .support import Client, Table, call, cases, item, refused, unique_name, wire

VALID = "ValidationException: "

Values = dict[str, Any]
V: Values = {":v": 1}
S: Values = {":s": "x"}

# Of a condition or filter: (expression, values, names, the message without its prefix)
CONDITIONS: list[tuple[str, Values, dict[str, str], str]] = [
    ("", {}, {}, "The expression can not be empty;"),
    ("a", {}, {}, 'Syntax error; token: "<EOF>", near: "a"'),
    ("a =", {}, {}, 'Syntax error; token: "<EOF>", near: "="'),
    ("a = = :v", V, {}, 'Syntax error; token: "=", near: "= = :v"'),
    ("a = :v b", V, {}, 'Syntax error; token: "b", near: ":v b"'),
    ("a = :v AND", V, {}, 'Syntax error; token: "<EOF>", near: "AND"'),
    ("a = :v)", V, {}, 'Syntax error; token: ")", near: ":v)"'),
    ("(a = :v", V, {}, 'Syntax error; token: "<EOF>", near: ":v"'),
    ("a == :v", V, {}, 'Syntax error; token: "=", near: "== :v"'),
    ("a != :v", V, {}, 'Syntax error; token: "!", near: "a !="'),
    ("a = 5", {}, {}, 'Syntax error; token: "5", near: "= 5"'),
    ("a = 'x'", {}, {}, 'Syntax error; token: "\'", near: "= \'x"'),
    ("a.b. = :v", V, {}, 'Syntax error; token: "=", near: ". = :v"'),
    ("a[x] = :v", V, {}, 'Syntax error; token: "x", near: "[x]"'),
    ("a[:v] = :v", V, {}, 'Syntax error; token: ":v", near: "[:v]"'),
    ("a IN :v", V, {}, 'Syntax error; token: ":v", near: "IN :v"'),
    ("a BETWEEN :v", V, {}, 'Syntax error; token: "<EOF>", near: ":v"'),
    ("((a = :v))", V, {}, "The expression has redundant parentheses;"),
    ("NOT ((a = :v))", V, {}, "The expression has redundant parentheses;"),
    ("name = :v", V, {}, "Attribute name is a reserved keyword; reserved keyword: name"),
    ("Name = :v", V, {}, "Attribute name is a reserved keyword; reserved keyword: Name"),
    ("a.status = :v", V, {}, "Attribute name is a reserved keyword; reserved keyword: status"),
    (
        "#x = :v",
        V,
        {},
        "An expression attribute name used in the document path is not defined; attribute name: #x",
    ),
    (
        "a = :x",
        {},
        {},
        "An expression attribute value used in expression is not defined; attribute value: :x",
    ),
    ("exists(a)", {}, {}, "Invalid function name; function: exists"),
    ("Size(a) = :v", V, {}, "Invalid function name; function: Size"),
    (
        "size(a)",
        {},
        {},
        "The function is not allowed to be used this way in an expression; function: size",
    ),
    (
        "attribute_exists(a) = :v",
        V,
        {},
        "The function is not allowed to be used this way in an expression;"
        " function: attribute_exists",
    ),
    (
        "if_not_exists(a, :v) = :v",
        V,
        {},
        "The function is not allowed …; function: if_not_exists",
    ),
    (
        "attribute_exists(a, b)",
        {},
        {},
        "Incorrect number of operands for operator or function;"
        " operator or function: attribute_exists, number of operands: 2",
    ),
    (
        "begins_with(a)",
        {},
        {},
        "Incorrect number of operands for operator or function;"
        " operator or function: begins_with, number of operands: 1",
    ),
    (
        "begins_with(a, :v)",
        V,
        {},
        "Incorrect operand type for operator or function;"
        " operator or function: begins_with, operand type: N",
    ),
    (
        "attribute_type(a, :v)",
        V,
        {},
        "Incorrect operand type for operator or function;"
        " operator or function: attribute_type, operand type: N",
    ),
    (
        "a < :l",
        {":l": [1]},
        {},
        "Incorrect operand type for operator or function; operator or function: <, operand type: L",
    ),
    (
        "a >= :t",
        {":t": True},
        {},
        "Incorrect operand type for operator or function;"
        " operator or function: >=, operand type: BOOL",
    ),
    (
        "size(:v) = :v",
        V,
        {},
        "Incorrect operand type for operator or function;"
        " operator or function: size, operand type: N",
    ),
    ("attribute_type(a, :s)", S, {}, "Invalid attribute type name found; type: x, valid types: …"),
    (
        "attribute_exists(:v)",
        V,
        {},
        "Operator or function requires a document path; operator or function: attribute_exists",
    ),
    (
        "contains(a, a)",
        {},
        {},
        "The first operand must be distinct from the remaining operands for this operator or"
        " function; operator: contains, first operand: [a]",
    ),
    (
        "a = a",
        {},
        {},
        "The first operand must be distinct from the remaining operands for this operator or"
        " function; operator: =, first operand: [a]",
    ),
    (
        "a BETWEEN :hi AND :lo",
        {":hi": 2, ":lo": 1},
        {},
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound;"
        " lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
    ),
    (
        "a BETWEEN :v AND :s",
        {**V, **S},
        {},
        "The BETWEEN operator requires same data type for lower and upper bounds;"
        " lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:x}",
    ),
    (
        "a IN (" + ", ".join([":v"] * 101) + ")",
        V,
        {},
        "The IN operator is provided with too many operands; number of operands: 101",
    ),
    (
        " OR ".join(["a = :v"] * 151),
        V,
        {},
        "The expression contains too many operators; operator count: 301",
    ),
    (
        "a = :v" + " " * 4091,
        V,
        {},
        "Expression size has exceeded the maximum allowed size;…",
    ),
]


def request(parameter: str, expression: str, values: Values, names: Any) -> dict[str, Any]:
    """Parameters with this expression, of a table that does not exist."""
    maps = {"ExpressionAttributeValues": item(values), "ExpressionAttributeNames": names}
    used = {name: entries for name, entries in maps.items() if entries}
    return {"TableName": unique_name(), parameter: expression, **used}


@cases("expression, values, names, message", CONDITIONS)
def test_a_filter_is_refused(
    client: Client, expression: str, values: Values, names: dict[str, str], message: str
) -> None:
    parameters = request("FilterExpression", expression, values, names)
    refused(f"{VALID}Invalid FilterExpression: {message}", call, client, "Scan", **parameters)


@cases("expression, values, names, message", CONDITIONS)
def test_a_condition_is_refused(
    client: Client, expression: str, values: Values, names: dict[str, str], message: str
) -> None:
    parameters = request("ConditionExpression", expression, values, names)
    refusal = f"{VALID}Invalid ConditionExpression: {message}"
    refused(refusal, call, client, "PutItem", Item=item(pk="a"), **parameters)
    refused(refusal, call, client, "DeleteItem", Key=item(pk="a"), **parameters)


# ---- placeholders ----

FILTER = {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": wire(1)}}

# Of a Scan: (name, parameters, the message)
PLACEHOLDERS: list[tuple[str, dict[str, Any], str]] = [
    (
        "values without an expression",
        {"ExpressionAttributeValues": {":v": wire(1)}},
        "ExpressionAttributeValues can only be specified when using expressions…",
    ),
    (
        "names without an expression",
        {"ExpressionAttributeNames": {"#a": "a"}},
        "ExpressionAttributeNames can only be specified when using expressions",
    ),
    (
        "an unused value",
        {**FILTER, "ExpressionAttributeValues": {":v": wire(1), ":w": wire(2)}},
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
    ),
    (
        "an unused name",
        {**FILTER, "ExpressionAttributeNames": {"#x": "x"}},
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
    ),
    (
        "no values",
        {**FILTER, "ExpressionAttributeValues": {}},
        "ExpressionAttributeValues must not be empty",
    ),
    (
        "no names",
        {**FILTER, "ExpressionAttributeNames": {}},
        "ExpressionAttributeNames must not be empty",
    ),
    (
        "a value without colon",
        {**FILTER, "ExpressionAttributeValues": {"v": wire(1)}},
        'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"',
    ),
    (
        "a name without number sign",
        {**FILTER, "ExpressionAttributeNames": {"x": "x"}},
        'ExpressionAttributeNames contains invalid key: Syntax error; key: "x"',
    ),
    (
        "a value of a strange name",
        {**FILTER, "ExpressionAttributeValues": {":v-w": wire(1)}},
        'ExpressionAttributeValues contains invalid key: Syntax error; key: ":v-w"',
    ),
    (
        "an expression and a legacy parameter",
        {**FILTER, "ScanFilter": {"a": {"ComparisonOperator": "NULL"}}},
        "Can not use both expression and non-expression parameters in the same request:"
        " Non-expression parameters: {ScanFilter} Expression parameters: {FilterExpression}",
    ),
    (
        "expressions and legacy parameters",
        {
            **FILTER,
            "ProjectionExpression": "a",
            "AttributesToGet": ["a"],
            "ConditionalOperator": "AND",
        },
        "Can not use both expression and non-expression parameters in the same request:"
        " Non-expression parameters: {AttributesToGet, ConditionalOperator}"
        " Expression parameters: {ProjectionExpression, FilterExpression}",
    ),
]


@cases("name, parameters, message", PLACEHOLDERS)
def test_placeholders_are_refused(
    client: Client, name: str, parameters: dict[str, Any], message: str
) -> None:
    refused(VALID + message, call, client, "Scan", TableName=unique_name(), **parameters)


@pytest.mark.parametrize("length", [255, 256])
def test_the_longest_placeholders(client: Client, length: int) -> None:
    name = ":" + "v" * (length - 1)
    parameters = {"FilterExpression": f"a = {name}", "ExpressionAttributeValues": {name: wire(1)}}
    refusal = "ResourceNotFoundException: …" if length == 255 else VALID + "…"
    refused(refusal, call, client, "Scan", TableName=unique_name(), **parameters)


def test_substitutions_that_are_too_large(client: Client) -> None:
    values = {f":v{i}": "x" * 300_000 for i in range(8)}
    condition = " OR ".join(f"a = {name}" for name in values)
    parameters = {"FilterExpression": condition, "ExpressionAttributeValues": item(values)}
    refused(VALID + "…", call, client, "Scan", TableName=unique_name(), **parameters)


def test_a_name_that_is_not_used_comes_before_a_condition_on_two_attributes(table: Table) -> None:
    names = {"#0": "pk", "#1": "sk", "#count": "count"}
    table.refused(
        "ValidationException: Value provided in ExpressionAttributeNames unused in expressions:"
        " keys: {#count}",
        "Query",
        KeyConditionExpression="(#0 = x) AND (begins_with(#1, a))",
        ExpressionAttributeNames=names,
    )
