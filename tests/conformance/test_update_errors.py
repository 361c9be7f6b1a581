"""Faults of projections and updates, with DynamoDB's messages, for any table."""

from typing import Any

from .support import Client, Table, call, cases, item, refused, unique_name

Values = dict[str, Any]
V: Values = {":v": 1}
S: Values = {":s": "x"}

OVERLAP = (
    "Two document paths overlap with each other; must remove or rewrite one of these paths;"
    " path one: [{}], path two: [{}]"
)
CONFLICT = (
    "Two document paths conflict with each other; must remove or rewrite one of these paths;"
    " path one: [{}], path two: [{}]"
)

# Of a projection: (expression, the message without its prefix)
PROJECTIONS = [
    ("", "The expression can not be empty;"),
    ("a,", 'Syntax error; token: "<EOF>", near: ","'),
    ("a,,b", 'Syntax error; token: ",", near: ",,b"'),
    ("a b", 'Syntax error; token: "b", near: "a b"'),
    ("a[-1]", 'Syntax error; token: "-", near: "[-1"'),
    (":v", 'Syntax error; token: ":v", near: ":v"'),
    ("size(a)", 'Syntax error; token: "(", near: "size(a"'),
    ("a, status", "Attribute name is a reserved keyword; reserved keyword: status"),
    (
        "#x",
        "An expression attribute name used in the document path is not defined; attribute name: #x",
    ),
    ("a, a", OVERLAP.format("a", "a")),
    ("a, a.b", OVERLAP.format("a", "a, b")),
    ("a.b, c, a.b.d", OVERLAP.format("a, b", "a, b, d")),
    ("a[1], a[1].x", OVERLAP.format("a, [1]", "a, [1], x")),
    ("a.b, a[1]", CONFLICT.format("a, b", "a, [1]")),
]


@cases("expression, message", PROJECTIONS)
def test_a_projection_is_refused(client: Client, expression: str, message: str) -> None:
    refusal = f"ValidationException: Invalid ProjectionExpression: {message}"
    parameters = {"TableName": unique_name(), "ProjectionExpression": expression}
    refused(refusal, call, client, "GetItem", Key=item(pk="a"), **parameters)
    refused(refusal, call, client, "Scan", **parameters)


WRONG_TYPE = "Incorrect operand type for operator or function; operator: "
ADD_TYPE = WRONG_TYPE + "ADD, operand type: {}, typeSet: ALLOWED_FOR_ADD_OPERAND"
DELETE_TYPE = WRONG_TYPE + "DELETE, operand type: {}, typeSet: ALLOWED_FOR_ADD_OPERAND"

# Of an update: (expression, values, the message without its prefix)
UPDATES: list[tuple[str, Values, str]] = [
    ("", {}, "The expression can not be empty;"),
    ("a = :v", V, 'Syntax error; token: "a", near: "a ="'),
    ("SET", {}, 'Syntax error; token: "<EOF>", near: "SET"'),
    ("SET a", {}, 'Syntax error; token: "<EOF>", near: "a"'),
    ("SET a = :v,", V, 'Syntax error; token: "<EOF>", near: ","'),
    ("SET a = :v + :v + :v", V, 'Syntax error; token: "+", near: ":v + :v"'),
    ("SET a = :v * :v", V, 'Syntax error; token: "*", near: ":v * :v"'),
    ("SET :v = a", V, 'Syntax error; token: ":v", near: "SET :v ="'),
    ("REMOVE a = :v", V, 'Syntax error; token: "=", near: "a = :v"'),
    ("ADD a b", {}, 'Syntax error; token: "b", near: "a b"'),
    ("DELETE a", {}, 'Syntax error; token: "<EOF>", near: "a"'),
    (
        "SET a = :v SET b = :v",
        V,
        'The "SET" section can only be used once in an update expression;',
    ),
    (
        "REMOVE a ADD b :v REMOVE c",
        V,
        'The "REMOVE" section can only be used once in an update expression;',
    ),
    ("SET status = :v", V, "Attribute name is a reserved keyword; reserved keyword: status"),
    ("SET a = status", {}, "Attribute name is a reserved keyword; reserved keyword: status"),
    ("SET a = other(b)", {}, "Invalid function name; function: other"),
    (
        "SET a = size(b)",
        {},
        "The function is not allowed …; function: size",
    ),
    (
        "SET #x = :v",
        V,
        "An expression attribute name used in the document path is not defined; attribute name: #x",
    ),
    (
        "SET a = :x",
        {},
        "An expression attribute value used in expression is not defined; attribute value: :x",
    ),
    ("SET a = :v, a = :v", V, OVERLAP.format("a", "a")),
    ("SET a = :v REMOVE a.b", V, OVERLAP.format("a", "a, b")),
    ("SET a.b = :v, a[0] = :v", V, CONFLICT.format("a, b", "a, [0]")),
    (
        "SET a = if_not_exists(b)",
        {},
        "Incorrect number of operands for operator or function;"
        " operator or function: if_not_exists, number of operands: 1",
    ),
    (
        "SET a = if_not_exists(:v, :v)",
        V,
        "Operator or function requires a document path; operator or function: if_not_exists",
    ),
    (
        "SET a = list_append(b, :v)",
        V,
        "Incorrect operand type for operator or function;"
        " operator or function: list_append, operand type: N",
    ),
    (
        "SET a = b + :s",
        S,
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    ),
    ("ADD a :s", S, ADD_TYPE.format("STRING")),
    ("ADD a :l", {":l": [1]}, ADD_TYPE.format("LIST")),
    ("DELETE a :v", V, DELETE_TYPE.format("NUMBER")),
    (
        "SET a = :v" + " " * 4087,
        V,
        "Expression size has exceeded the maximum allowed size;",
    ),
]


@cases("expression, values, message", UPDATES)
def test_an_update_is_refused(
    client: Client, expression: str, values: Values, message: str
) -> None:
    parameters: dict[str, Any] = {"UpdateExpression": expression}
    if values:
        parameters["ExpressionAttributeValues"] = item(values)
    refusal = f"ValidationException: Invalid UpdateExpression: {message}"
    refused(
        refusal, Table(client, unique_name()).call, "UpdateItem", Key=item(pk="a"), **parameters
    )
