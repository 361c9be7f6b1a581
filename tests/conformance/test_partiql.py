"""PartiQL: SELECT by single statements."""

from typing import Any

import pytest

from .partiql import KEY_TYPE, A, rejected, run
from .support import NewTable, Table, cases, gsi, lsi, plain, plains


@pytest.fixture(scope="module")
def one(new_shared_table: NewTable) -> Table:
    """A table with the item A; only read."""
    table = new_shared_table("pk")
    table.put(A)
    return table


@pytest.fixture(scope="module")
def rows(new_shared_table: NewTable) -> Table:
    """Partition p with sort keys 1 to 3, partition q with 1; only read."""
    table = new_shared_table(
        "pk/sk",
        gsi("byG", "g/sk"),
        gsi("keysG", "g", "KEYS_ONLY"),
        gsi("many", "g,sk"),
        lsi("byL", "pk/l", "KEYS_ONLY"),
        lsi("included", "pk/l", ["n"]),
    )
    for number in (1, 2, 3):
        table.put({"pk": "p", "sk": str(number), "g": "g", "l": f"l{number}", "n": number})
    table.put({"pk": "q", "sk": "1", "n": 9})
    return table


# ---- SELECT: what is selected ----

WHERE = [
    ("n = 1", True),
    ("n = 2", False),
    ("n <> 2", True),
    ("n != 2", True),
    ("1 = n", True),
    ("n < 2 AND n >= 1", True),
    ("n BETWEEN 1 AND 2", True),
    ("n NOT BETWEEN 1 AND 2", False),
    ("n IN [1, 2]", True),
    ("n IN (1, 2)", True),
    ("n IN <<1, 2>>", True),
    ("n NOT IN [1]", False),
    ("NOT n = 2", True),
    ("(n = 2 OR s = 'str')", True),
    ("begins_with(s, 'st')", True),
    ("BEGINS_WITH(\"s\", 'x')", False),
    ("contains(ss, 'a')", True),
    ("contains(s, 't')", True),
    ("size(s) = 3", True),
    ("size(l) > size(ss)", True),
    ("attribute_type(ss, 'SS')", True),
    ("attribute_exists(m.a.b)", True),
    ("attribute_exists(ss) = true", True),
    ("attribute_exists(ss) = false", False),
    ("attribute_not_exists(nope)", True),
    ("m.a.b = 'deep'", True),
    ("m['a'].b = 'deep'", True),
    ("l[2].x = 'y'", True),
    ("ss = <<'b', 'a'>>", True),
    ("l = [1, 2, {'x': 'y'}]", True),
    ("z IS NULL", True),
    ("z = null", True),
    ("s IS NULL", False),
    ("nope IS NULL", False),
    ("s IS NOT NULL", True),
    ("nope IS MISSING", True),
    ("s IS NOT MISSING", True),
    ("s IS STRING", True),
    ("s IS BOOL", False),
    ("nope = 1", False),
    ("nope <> 1", True),
    ("s < 5", False),
    ("n = 10e-1 -- a note", True),
    ("n = /* a note */ .1e1", True),
    ("n = -1", False),
    ("s = 'str';", True),
]


@cases("condition, matches", WHERE)
def test_where(one: Table, condition: str, matches: bool) -> None:
    found = run(one, f"SELECT pk FROM T WHERE pk = 'a' AND {condition}")
    assert found == {"Items": [{"pk": {"S": "a"}}] if matches else []}


SELECTED = [
    ("*", A),
    ("pk, n", {"pk": "a", "n": 1}),
    ("nope", {}),
    ("m.a.b", {"b": "deep"}),
    ('m."x"', {"x": 3}),
    ("m['x']", {"x": 3}),
    ("l[0], l[1]", {"l[0]": 1, "l[1]": 2}),
]


@cases("columns, expected", SELECTED)
def test_columns(one: Table, columns: str, expected: dict[str, Any]) -> None:
    assert plains(run(one, f"SELECT {columns} FROM T WHERE pk = 'a'")) == [expected]


def test_parameters(one: Table) -> None:
    text = "SELECT pk FROM T WHERE pk = ? AND l[0] = ? AND m = ?"
    assert len(run(one, text, "a", 1, A["m"])["Items"]) == 1
    assert len(run(one, text, "a", 2, A["m"])["Items"]) == 0


ORDERED = [
    ("pk = 'p'", "p1 p2 p3"),
    ("pk = 'p' ORDER BY sk DESC", "p3 p2 p1"),
    ("pk = 'p' ORDER BY pk, sk ASC", "p1 p2 p3"),
    ("pk IN ['q', 'p']", "q1 p1 p2 p3"),
    ("pk IN ['q', 'p'] ORDER BY pk", "p3 p2 p1 q1"),
    ("pk IN ['q', 'p'] ORDER BY pk ASC", "p3 p2 p1 q1"),
    ("pk IN ['q', 'p'] ORDER BY pk DESC", "q1 p3 p2 p1"),
    ("pk = 'p' ORDER BY pk", "p3 p2 p1"),
    ("pk IN ['p', 'q'] ORDER BY pk, sk DESC", "p3 p2 p1 q1"),
    ("pk = 'p' AND sk > '1' AND sk < '3'", "p2"),
    ("pk = 'p' AND sk IN ['1', '3']", "p1 p3"),
    ("pk = 'p' AND begins_with(sk, '2')", "p2"),
    ("pk = 'p' AND pk = 'q'", ""),
    ("pk = 'p' AND sk = '1' OR pk = 'q'", "p1 q1"),
    ("(pk = 'p' OR pk = 'q') AND sk = '1'", "p1 q1"),
    ("(pk = 'p' AND n = 2 OR pk = 'q') AND sk > '0'", "p2 q1"),
    ("pk = 'p' AND NOT sk = '1' OR pk = 'p' AND sk = '2'", "p2 p3"),
    ("pk = 'p' OR pk = 'p' AND NOT sk = '1'", "p1 p2 p3"),
]


@cases("where, expected", ORDERED)
def test_order_of_rows(rows: Table, where: str, expected: str) -> None:
    found = plains(run(rows, f"SELECT pk, sk FROM T WHERE {where}"))
    assert [each["pk"] + each["sk"] for each in found] == expected.split()


@cases("where, expected", [("n > 1", 3), ("NOT pk = 'p'", 1), ("sk = '1'", 2), ("pk > 'a'", 4)])
def test_a_scan(rows: Table, where: str, expected: int) -> None:
    assert len(run(rows, f"SELECT * FROM T WHERE {where}")["Items"]) == expected


# ---- SELECT: indexes ----

INDEXED = [
    ("* FROM T.byG WHERE g = 'g'", {"pk", "sk", "g", "l", "n"}, 3),
    ("* FROM T.\"byG\" WHERE g = 'g' AND sk > '1'", {"pk", "sk", "g", "l", "n"}, 2),
    ("* FROM T.keysG WHERE g = 'g'", {"pk", "sk", "g"}, 3),
    ("* FROM T.byL WHERE pk = 'p'", {"pk", "sk", "l"}, 3),
    ("n FROM T.byL WHERE pk = 'p' AND l = 'l1'", {"n"}, 1),
    ("* FROM T.included WHERE pk = 'p' AND n = 1", {"pk", "sk", "l", "n"}, 1),
    ("pk FROM T.keysG WHERE n = 1", set(), 0),
    ("pk FROM T.keysG WHERE NOT n = 1", {"pk"}, 3),
    ("pk FROM T.keysG WHERE g = 'g' AND n = 1 OR g = 'h'", set(), 0),
]


@cases("text, names, count", INDEXED)
def test_an_index(rows: Table, text: str, names: set[str], count: int) -> None:
    found = run(rows, f"SELECT {text}")["Items"]
    assert len(found) == count
    assert {name for each in found for name in each} == names


MULTIPLE = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
    "multi-attribute RANGE keys."
)
INDEX_REFUSALS = [
    ("* FROM T.nope WHERE pk = 'p'", "The table does not have the specified index"),
    (
        "* FROM T.byG.more WHERE pk = 'p'",
        "A path may contain at most 2 components in the FROM clause",
    ),
    ("* FROM T.\"\" WHERE pk = 'p'", "Path component cannot be an empty string"),
    (
        "n, l FROM T.keysG",
        "One or more parameter values were invalid: Global secondary index keysG does not "
        "project [n, l]",
    ),
    (
        "pk FROM T.keysG WHERE g = 'g' AND NOT n = 1",
        "One or more parameter values were invalid: Secondary index keysG does not project one or "
        "more filter attributes: [n]",
    ),
    (
        "pk FROM T.keysG WHERE g IN ['g', 'h'] AND n IS MISSING",
        "One or more parameter values were invalid: Secondary index keysG does not project one or "
        "more filter attributes: [n]",
    ),
    (
        "pk FROM T.byL WHERE pk = 'p' AND l BETWEEN 'a' AND 'z' AND n = 1",
        "One or more parameter values were invalid: Secondary index byL does not project one or "
        "more filter attributes: [n]",
    ),
    *((text, MULTIPLE) for text in ("* FROM T.many WHERE g = 5", "COUNT(*) FROM T.many")),
]


@cases("text, message", INDEX_REFUSALS)
def test_an_index_refuses(rows: Table, text: str, message: str) -> None:
    rejected(rows, f"ValidationException: {message}", f"SELECT {text}")


def test_strong_reads_of_indexes(rows: Table) -> None:
    run(rows, "SELECT * FROM T.byL WHERE pk = 'p'", ConsistentRead=True)
    rejected(
        rows,
        "ValidationException: Strongly consistent read is not supported on Global Secondary "
        "Indexes",
        "SELECT * FROM T.byG WHERE g = 'g'",
        ConsistentRead=True,
    )


SELECT_REFUSALS = [
    ("* FROM T WHERE pk = 5", KEY_TYPE.format("pk")),
    ("* FROM T WHERE pk = 'p' AND sk > 5", KEY_TYPE.format("sk")),
    (
        "* FROM T WHERE pk = ''",
        "ValidationException: One or more parameter values are not valid. The AttributeValue for "
        "a key attribute cannot contain an empty string value. Key: pk",
    ),
    (
        "* FROM T WHERE pk = 'p' AND n = 1 OR pk = 'p' AND sk = '2'",
        "ValidationException: Overlapping conditions with range keys are not supported in where "
        "clause",
    ),
    (
        "* FROM T ORDER BY pk",
        "ValidationException: Must have WHERE clause in the statement when using ORDER BY clause.",
    ),
    (
        "* FROM T WHERE pk = 'p' ORDER BY n",
        "ValidationException: Attribute n in ORDER BY clause must be part of the primary key",
    ),
    (
        "* FROM T WHERE n = 1 ORDER BY sk",
        "ValidationException: Must have at least one non-optional hash key condition in WHERE "
        "clause when using ORDER BY clause.",
    ),
    ("* FROM nosuchtable", "ResourceNotFoundException: Requested resource not found"),
]


@cases("text, message", SELECT_REFUSALS)
def test_select_refuses(rows: Table, text: str, message: str) -> None:
    rejected(rows, message, f"SELECT {text}")


# ---- SELECT: pages and capacity ----


@cases("limit, where", [(1, "pk IN ['q', 'p']"), (2, "pk = 'p'"), (3, "n > 0"), (4, "n = 3")])
def test_pages(rows: Table, limit: int, where: str) -> None:
    text = f"SELECT * FROM T WHERE {where}"
    everything = run(rows, text)["Items"]
    found: list[Any] = []
    token: dict[str, str] = {}
    while True:
        page = run(rows, text, Limit=limit, **token)
        assert len(page["Items"]) <= limit
        found += page["Items"]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert found == everything


def test_a_token_belongs_to_its_statement(rows: Table) -> None:
    text = "SELECT * FROM T WHERE pk = ?"
    page = run(rows, text, "p", Limit=1)
    assert plain(page["LastEvaluatedKey"]) == {"pk": "p", "sk": "1"}
    token = page["NextToken"]
    assert len(run(rows, text, "p", NextToken=token, ConsistentRead=True)["Items"]) == 2
    foreign = "ValidationException: NextToken does not match request"
    rejected(rows, foreign, text, "q", NextToken=token)
    rejected(rows, foreign, "SELECT * FROM T.byG WHERE pk = ?", "p", NextToken=token)
    for broken in ("abc", token[:-4], "e30=", "W10=", "ünsinn"):
        rejected(rows, "ValidationException: Invalid NextToken", text, "p", NextToken=broken)


CAPACITY = [
    ("* FROM T WHERE pk = 'p'", {"Table": 0.5}),
    ("* FROM T WHERE pk = 'p' AND n = 77", {"Table": 0.5}),
    ("* FROM T WHERE pk IN ['p', 'q']", {"Table": 1.0}),
    ("* FROM T", {"Table": 2.0}),  # half a unit for each of the four partitions of a new table
    ("* FROM T.byG WHERE g = 'g'", {"Table": 0.0, "byG": 0.5}),
    ("n FROM T.byL WHERE pk = 'p'", {"Table": 1.5, "byL": 0.5}),
]


@cases("text, arms", CAPACITY)
@pytest.mark.parametrize("consistent", [False, True])
def test_rows_walked_are_charged(
    rows: Table, text: str, arms: dict[str, float], consistent: bool
) -> None:
    if consistent and "byG" in text:
        pytest.skip("a global index has no strong reads")
    found = run(
        rows, f"SELECT {text}", ReturnConsumedCapacity="INDEXES", ConsistentRead=consistent
    )["ConsumedCapacity"]
    seen = {"Table": found["Table"]["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for name, arm in found.get(member, {}).items():
            seen[name] = arm["CapacityUnits"]
    assert seen == {name: units * (1 + consistent) for name, units in arms.items()}
    assert found["CapacityUnits"] == sum(seen.values())
    assert found["TableName"] == rows.name
