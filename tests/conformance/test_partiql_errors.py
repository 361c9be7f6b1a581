"""PartiQL: messages about statements that cannot be parsed, or that name missing things."""

from typing import Any

import pytest

from .partiql import ILL, LEFTOVER, NO_KEY, place, rejected
from .support import Table, cases

UNREADABLE = [
    ("SLECT * FROM T WHERE pk = 'a'", "Expected data manipulation"),
    ("SLECT * FROM", "Unexpected term"),
    ("FOO = FROM", "Unexpected term"),
    ("FOO (", "Unexpected term"),
    (";", "Unexpected term"),
    ("FOO.", "Invalid path dot component"),
    ("FOO;;", "Unexpected token after semicolon. (Only one query is allowed.)"),
    (
        "SELECT * FROM T; SELECT * FROM T",
        "Unexpected token after semicolon. (Only one query is allowed.)",
    ),
    ("SELECT * FROM T WHERE", "Unexpected term"),
    ("SELECT * FROM T WHERE;", "Unexpected term"),
    ("SELECT pk FROM T WHERE   ", "Unexpected term"),
    ("UPDATE T SET a = 1 WHERE", "Unexpected term"),
    ("DELETE FROM T WHERE", "Unexpected term"),
    ("SELECT * FROM T WHERE NOT", "Unexpected term"),
    ("SELECT * FROM T WHERE (", "Unexpected term"),
    ("SELECT * FROM nosuchtable WHERE", "Unexpected term"),
    ("SELECT * FROM", "Unexpected term"),
    (
        "SELECT * FROM T WHERE pk = 'p1' AND",
        "Missing right-hand side expression of infix operator",
    ),
    (
        "SELECT * FROM T WHERE pk = 'p1' OR",
        "Missing right-hand side expression of infix operator",
    ),
    ("SELECT * FROM T WHERE ORDER BY pk", "Unexpected keyword"),
    ("SELECT * FROM T WHERE IS NULL", "Unexpected operator"),
    ("SELECT * FROM T WHERE pk = LIKE", "Unexpected operator"),
    ("SELECT * FROM T WHERE pk = 'a' AND x IS FOO", "Expected type name"),
    ("DELETE FROM", "Expected identifier for simple path"),
    ("DELETE FROM   ", "Expected identifier for simple path"),
    ("DELETE FROM;", "Expected identifier for simple path"),
    ("DELETE FROM WHERE pk = 'a'", "Expected identifier for simple path"),
    ("DELETE FROM 'T' WHERE pk = 'a'", "Expected identifier for simple path"),
    ("UPDATE 'T' SET a = 1 WHERE pk = 'a'", "Expected identifier for simple path"),
    ("SELECT * FROM T LIMIT", "Unexpected term"),
    ("SELECT * FROM T WHERE attribute_exists(m.inner)", "Invalid path dot component"),
    ("UPDATE T SET m.inner = 1 WHERE pk = 'a'", "Invalid path dot component"),
    ("SELECT * FROM T WHERE pk = 1e2147483648", ""),
    ("SELECT * FROM T WHERE pk = 1e99999999999", ""),
    ("SELECT * FROM T WHERE pk = 1.5e-2147483647", ""),
    ("SELECT * FROM T WHERE pk = 1 # note", ""),
    ("SELECT * FROM T WHERE pk = 1 /* note", ""),
    ("SELECT * FROM T WHERE pk = 'oops", ""),
    ('SELECT * FROM "oops', ""),
]


@cases("text, detail", UNREADABLE)
def test_unreadable(table: Table, text: str, detail: str) -> None:
    # An empty detail leaves a blank at the end, which not every client keeps.
    rejected(table, ILL + detail if detail else f"{ILL.rstrip()}…", text)


LEFT_OVER = [
    "SELECT * FROM T WHERE pk = 'a' foo",
    "SELECT * FROM T WHERE n = 1 e5",
    "INSERT INTO T VALUE {'pk': 'a'} foo",
    "INSERT INTO T t VALUE {'pk': 'a'}",
    "UPDATE T SET a = 9 WHERE pk = 'a' foo",
    "DELETE FROM T WHERE pk = 'a' foo",
    "SELECT * FROM T WHERE pk = 'a')",
    "DELETE FROM T WHERE pk = 'a' ORDER BY pk",
    "SELECT * FROM T ORDER BY pk WHERE pk = 'a'",
    "FROM T SET c = 1 WHERE pk = 'a'",
    "FROM T SET c = 1 WHERE pk = 'a' SET d = 2",
]


@pytest.mark.parametrize("text", LEFT_OVER)
def test_text_after_the_end_of_a_statement(table: Table, text: str) -> None:
    rejected(table, LEFTOVER, text)
    assert table.all() == []


OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
PATH_WANTED = "Operator or function requires a document path; operator or function: {}"
BAD_BAG = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
COUNT_WANTED = (
    "Incorrect number of operands for operator or function; operator or function: {}, "
    "number of operands: {}"
)
OVERLAP = (
    "Two document paths overlap with each other; must remove or rewrite one of these paths; "
    "path one: {}, path two: {}"
)
NO_KEY_VALUE = "Key value must be of type S, N, or B. Key name: pk, Key type: {}"
EXISTS_MISPLACED = "EXISTS can only be used in ExecuteTransaction write requests."
WHERE = "SELECT * FROM T WHERE pk = 'a' AND "
SET = "UPDATE T SET {} WHERE pk = 'a'"
REFUSED = [
    ("SELECT * FROM T t WHERE pk = 'x'", "Aliasing is not supported"),
    ("SELECT * FROM T AS t WHERE pk = 'x'", "Aliasing is not supported"),
    ("UPDATE T t SET a = 3 WHERE pk = 'x'", "Aliasing is not supported"),
    ("DELETE FROM T t WHERE pk = 'x'", "Aliasing is not supported"),
    ("SELECT pk AS k FROM T", "Aliasing is not supported"),
    ("SELECT * FROM T, T", "Only select from a single table or index is supported."),
    ("SELECT * FROM 'T'", "Unexpected from source"),
    ("SELECT * FROM 1", "Unexpected from source"),
    ("SELECT * FROM ?", "Unexpected from source"),
    ("SELECT * FROM a-table WHERE pk = 'a'", "Unexpected from source"),
    ("SELECT * FROM T - b - c", "Unexpected from source"),
    ("SELECT * FROM T + 1 WHERE pk = ?", "Unexpected from source"),
    ("FROM a-table WHERE pk = 'a' SET n = 1", "Unexpected from source"),
    ("SELECT * FROM T GROUP BY pk", "Unsupported clause: GROUP BY"),
    ("SELECT * FROM T WHERE pk = 'a' ORDER BY pk GROUP BY pk", "Unsupported clause: GROUP BY"),
    ("SELECT pk, m.pk FROM T", "Duplicate identifiers in select clause: pk"),
    ("x = 1", EXISTS_MISPLACED),
    ("size(x)", EXISTS_MISPLACED),
    *(
        (text, "Path component cannot be an empty string")
        for text in (
            'SELECT "" FROM T',
            'SELECT m."" FROM T',
            f'{WHERE}"" = 1',
            SET.format('"" = 1'),
            SET.format("m[''] = 1"),
            SET.format("m = {'x': [{'': 1}]}"),
            "INSERT INTO T VALUE {'pk': 'a', '': 1}",
        )
    ),
    (SET.format("m = 1 SET m.x = 2"), OVERLAP.format("[m, x]", "[m]")),
    (SET.format("m.x = 1 REMOVE m"), OVERLAP.format("[m]", "[m, x]")),
    ("DELETE FROM T WHERE pk = NULL", NO_KEY_VALUE.format("NULL")),
    (SET.format("n = 1").replace("'a'", "[1]"), NO_KEY_VALUE.format("L")),
    ("SELECT * FROM T WHERE pk = true", NO_KEY_VALUE.format("BOOL")),
    (f"{WHERE}n = 1e126", f"{OVERFLOW} under root"),
    (f"{WHERE}n = 1e-131", f"{UNDERFLOW} under root"),
    (
        f"{WHERE}n = 123456789012345678901234567890123456789",
        "Attempting to store more than 38 significant digits in a Number under root",
    ),
    ("INSERT INTO T VALUE {'pk': 'a', 'm': {'x': 1e126}}", f"{OVERFLOW} under root.x"),
    ("INSERT INTO T VALUE {'pk': 'a', 'l': [1, 1e126]}", f"{OVERFLOW} under root[1]"),
    (SET.format("a = 1e-131"), f"{UNDERFLOW} under root"),
    (f"{WHERE}attribute_exists('ss')", PATH_WANTED.format("attribute_exists")),
    (f"{WHERE}attribute_exists()", COUNT_WANTED.format("attribute_exists", 0)),
    (f"{WHERE}attribute_exists(ss, ns)", COUNT_WANTED.format("attribute_exists", 2)),
    (
        f"{WHERE}n",
        "WHERE clause must contain an expression that resolves to a boolean",
    ),
    (
        f"{WHERE}size(n)",
        "WHERE clause must contain an expression that resolves to a boolean",
    ),
    (f"{WHERE}n = MISSING", "MISSING must be compared using IS operator"),
    (f"{WHERE}n + 1 = 2", "Unsupported operator in Condition Expression. Operator: +"),
    (f"{WHERE}s LIKE 'a'", "Unsupported operator in Condition Expression. Operator: like"),
    (
        f"{WHERE}n IN 1",
        "IN operator must have a left hand argument of type Variable Reference and right hand "
        "argument of type Seq with at least one member",
    ),
    (
        f"{WHERE}n = n",
        "The first operand must be distinct from the remaining operands for this operator or "
        "function; operator: =, first operand: [n]",
    ),
    (
        f"{WHERE}n BETWEEN 3 AND 1",
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:3}, upper bound operand: AttributeValue: {N:1}",
    ),
    (SET.format("ss = set_add(ss, <<>>)"), "Empty bags are not supported"),
    (
        SET.format("ss = set_add(ss, <<'x', 'x'>>)"),
        "One or more parameter values were invalid: Input collection [x, x] contains duplicates.",
    ),
    (SET.format("ss = <<1, 'a'>>"), BAD_BAG),
    (SET.format("n = size(s)"), "The function is not allowed in an update expression; …"),
    (SET.format("n = 2 * 3"), "Unsupported operator in Update Expression. Operator: *"),
    (SET.format("n = -n"), COUNT_WANTED.format("-", 1)),
    (
        SET.format("n = 'a' + 1"),
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    ),
    (
        "UPDATE T SET n = 1 WHERE pk = 'a' RETURNING ALL OLD n",
        "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
    ),
    ("INSERT INTO T VALUE {'pk': 'a'} RETURNING ALL OLD *", "RETURNING is not supported in INSERT"),
    (
        WHERE + " AND ".join(f"a{number} = 1" for number in range(200)),
        "The expression contains too many operators; operator count: 301",
    ),
    (
        f"{WHERE}n IN [{', '.join(map(str, range(101)))}]",
        "The IN operator is provided with too many operands; number of operands: 101",
    ),
]


@cases("text, message", REFUSED)
def test_refused(table: Table, text: str, message: str) -> None:
    rejected(table, f"ValidationException: {message}", text)
    assert table.all() == []


# The token that messages quote: the first one after another.
PLACED = [
    ("SELECT attribute_exists(ss) FROM T", "Unexpected path component", "attribute_exists", ""),
    ("SELECT pk + 1 FROM T", "Unexpected path component", "+", ""),
    ("SELECT * FROM T LIMIT 5", "Unsupported clause: LIMIT", "5", "LIMIT"),
    (f"{WHERE}n = 1 ORDER BY pk LIMIT ?", "Unsupported clause: LIMIT", "?", "LIMIT"),
    ("SELECT * FROM T HAVING n < 1", "Unsupported clause: HAVING", "<", ""),
    (SET.format("ss = <<'x', 7>>"), BAD_BAG, "7", "'x'"),
    (SET.format("ss = <<true>>"), BAD_BAG, "true", ""),
    (f"{WHERE}EXISTS(ss)", "Unrecognized function: exists", "EXISTS", ""),
    (f"{WHERE}set_add(ss, <<'x'>>) = ss", "Unrecognized function: set_add", "set_add", ""),
    (
        SET.format("t = set_add(ss, <<'x'>>)"),
        "The first argument to SET_ADD must equal the assignment value",
        "set_add",
        "",
    ),
    (
        SET.format("ss = set_delete(<<'a'>>, <<'b'>>)"),
        "The first argument to SET_DELETE must equal the assignment value",
        "set_delete",
        "",
    ),
    (
        SET.format("ss = set_add(ss, ['x'])"),
        "The second argument to SET_ADD must be a value with type SET",
        "ss",
        "set_add(",
    ),
    (SET.format("ss = set_add(ss)"), "SET_ADD must have exactly two arguments", "set_add", ""),
    (
        "INSERT INTO T VALUE {'pk': 'a', 'ss': set_add(<<'a'>>, <<'b'>>)}",
        "Unsupported data type: set_add under key root",
        "set_add",
        "",
    ),
    (
        "INSERT INTO T VALUE {pk: 'a'}",
        "Tuple keys must be of type String. Actual type: VariableReference under root",
        "pk",
        "VALUE",
    ),
    (
        "INSERT INTO T VALUE {'pk': 'a', 'pk': 'b'}",
        "Duplicate keys in tuple. Key: pk under root",
        "'pk'",
        "'a'",
    ),
    (
        "INSERT INTO T VALUE 'a'",
        "Unsupported format in item expression. Please use struct format {...} to express item "
        "values for insert statement.",
        "'a'",
        "",
    ),
    ("SELECT l[-1] FROM T", "List index is not within the allowable range; index: [-1]", "1", ""),
    (
        "SELECT pk FROM T WHERE s IS DATE",
        "Unsupported data type for IS operator: DATE. Supported data types are [MISSING, NULL, "
        "BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]",
        "IS",
        "",
    ),
]


@cases("text, message, token, start", PLACED)
def test_messages_quote_the_faulty_token(
    table: Table, text: str, message: str, token: str, start: str
) -> None:
    at = place(text, table, token, start)
    rejected(table, f"ValidationException: {message} {at}", text)


# ---- parameters ----

NESTED = (
    "ValidationException: Nesting Levels have exceeded supported limits: Attributes in the item "
    "have nested levels beyond supported limit"
)
NO_NUMBER = "ValidationException: The parameter cannot be converted to a numeric value"
POSITIONS = [
    "SELECT * FROM T WHERE pk = 'a' AND n = ?",
    "SELECT * FROM T WHERE n = ?",
    "INSERT INTO T VALUE {'pk': 'a', 'n': ?}",
    "UPDATE T SET n = ? WHERE pk = 'a'",
]


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "leaf"}
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


@pytest.mark.parametrize("text", POSITIONS)
@cases(
    "value, message",
    [
        ({"N": "abc"}, f"{NO_NUMBER}: abc"),
        ({"L": [{"N": "1"}, {"N": "x"}]}, f"{NO_NUMBER}: x"),
        ({"NS": ["1", "x"]}, f"{NO_NUMBER}: x"),
        (deep(40), NESTED),
    ],
)
def test_parameters_that_are_not_values(
    table: Table, text: str, value: dict[str, Any], message: str
) -> None:
    rejected(table, message, text, Parameters=[value])


def test_too_few_parameters(table: Table) -> None:
    fault = "ValidationException: Number of parameters in request and statement don't match."
    for text in POSITIONS:
        rejected(table, fault, text)


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_values_without_an_order(table: Table, operator: str) -> None:
    for value in (True, None, [1], {"a": 1}, {"a"}, {1}):
        rejected(
            table,
            "ValidationException: Incorrect operand type for operator or function; "
            f"operator or function: {operator}, operand type: …",
            f"{WHERE}n {operator} ?",
            value,
        )


# ---- the longest and deepest texts ----

DEEP = [
    ("(" * 4000, f"{ILL}Unexpected term"),
    (f"SELECT * FROM T WHERE {'(' * 3000}n = 1{')' * 3000} x", LEFTOVER),
    (
        f"SELECT * FROM T WHERE {'NOT ' * 1500}n = 1",
        "ValidationException: The expression contains too many operators; operator count: 301",
    ),
    (f"INSERT INTO T VALUE {{'pk': 'a', 'l': {'[' * 3500}{']' * 3500}}}", NESTED),
    (f"INSERT INTO T VALUE {{'pk': 'a', 'm': {'{' * 50}", f"{ILL}Unexpected term"),
    (
        f"UPDATE T SET n = {'1 + ' * 1500}1 WHERE pk = 'a'",
        "ValidationException: The expression contains too many operators; operator count: 301",
    ),
    (
        f"UPDATE T SET n{'.n' * 1500} = 1 WHERE pk = 'a'",
        "ValidationException: The document path has too many nesting levels; nesting levels: 1501",
    ),
    (f"UPDATE T SET {'n = 1, ' * 800}n = 1 WHERE pk = 'a'", "ValidationException: Two document …"),
    ("SELECT * FROM T WHERE l[" + "9" * 4000 + "] = 1", "ValidationException: List index is …"),
    ("SELECT * FROM T WHERE n = " + "9" * 5000, "ValidationException: …"),
    ("SELECT * FROM T WHERE n = 1e" + "9" * 5000, f"{ILL.rstrip()}…"),
    ("'" * 8001, f"{ILL.rstrip()}…"),
    ("/*" * 4000, f"{ILL.rstrip()}…"),
    (f"UPDATE T SET n = 1 WHERE {'(' * 1000}n = 1{')' * 1000}", NO_KEY),
]


@cases("text, message", DEEP)
def test_the_deepest_and_longest_statements(table: Table, text: str, message: str) -> None:
    rejected(table, message, text)
