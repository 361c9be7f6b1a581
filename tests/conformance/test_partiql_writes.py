"""PartiQL: INSERT, UPDATE and DELETE by single statements."""

from typing import Any

import pytest

from .partiql import FAILED, KEY_TYPE, NO_KEY, A, rejected, run
from .support import NewTable, Table, cases, gsi, item, plain, plains, unique_name


@pytest.fixture
def seeded(table: Table) -> Table:
    table.put(A)
    return table


# ---- INSERT ----


def test_insert(table: Table) -> None:
    text = (
        "INSERT INTO T VALUE {'pk': 'it''s', 'b': true, 'z': null, 'l': [1, 'a'], "
        "'m': {'q': 1.50, 'r': ?}, 'ns': <<1, 2>>, 'ss': <<'a'>>}"
    )
    found = run(table, text, {"x"}, ReturnConsumedCapacity="TOTAL")
    assert found["Items"] == []
    assert found["ConsumedCapacity"] == {"TableName": table.name, "CapacityUnits": 1.0}
    assert table.get(pk="it's") == {
        "pk": "it's",
        "b": True,
        "z": None,
        "l": [1, "a"],
        "m": {"q": wire_number("1.5"), "r": {"x"}},
        "ns": {1, 2},
        "ss": {"a"},
    }


def wire_number(text: str) -> Any:
    return plain({"n": {"N": text}})["n"]


def test_insert_never_replaces(seeded: Table) -> None:
    rejected(
        seeded,
        "DuplicateItemException: Duplicate primary key exists in table",
        "INSERT INTO T VALUE {'pk': 'a'}",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    assert seeded.get(pk="a") == A
    run(seeded, "DELETE FROM T WHERE pk = 'a'")
    run(seeded, "INSERT INTO T VALUE {'pk': 'a'}")
    assert seeded.get(pk="a") == {"pk": "a"}


# ---- UPDATE ----

UPDATES = [
    ("SET n = n + 1", {"n": 2}),
    ("SET n = 10 - n - 2, t = 'x'", {"n": 7, "t": "x"}),
    ("SET t = 1 SET u = 2 REMOVE s", {"t": 1, "u": 2, "s": None}),
    ("SET m.a.b = 'x', l[0] = 9", {"m": {"a": {"b": "x"}, "x": 3}, "l": [9, 2, {"x": "y"}]}),
    ("REMOVE l[0] REMOVE m.a", {"l": [2, {"x": "y"}], "m": {"x": 3}}),
    ("SET l = list_append(l, [5])", {"l": [1, 2, {"x": "y"}, 5]}),
    ("SET l = LIST_APPEND([5], l)", {"l": [5, 1, 2, {"x": "y"}]}),
    ("SET t = if_not_exists(t, n)", {"t": 1}),
    ("SET ss = set_add(ss, <<'b', 'c'>>)", {"ss": {"a", "b", "c"}}),
    ("SET t = SET_ADD(t, <<1>>)", {"t": {1}}),
    ("SET ss = set_delete(ss, <<'a'>>)", {"ss": {"b"}}),
    ("SET ss = set_delete(ss, <<'a', 'b'>>)", {"ss": None}),
    ("SET t = set_delete(t, <<'a'>>)", {}),
    ("SET t = n, u = (1 + 2)", {"t": 1, "u": 3}),
]


@cases("clauses, changed", UPDATES)
@pytest.mark.parametrize("form", ["UPDATE T {} WHERE pk = 'a'", "FROM T WHERE pk = 'a' {}"])
def test_update(seeded: Table, clauses: str, changed: dict[str, Any], form: str) -> None:
    assert run(seeded, form.format(clauses)) == {"Items": []}
    gone = {name for name, value in changed.items() if value is None}
    expected = {name: value for name, value in {**A, **changed}.items() if name not in gone}
    assert seeded.get(pk="a") == expected


RETURNED = [
    ("SET n = 2", "ALL OLD", [A]),
    ("SET n = 2", "ALL NEW", [{**A, "n": 2}]),
    ("SET n = 2, t = 1", "MODIFIED OLD", [{"n": 1}]),
    ("SET n = 2, t = 1", "MODIFIED NEW", [{"n": 2, "t": 1}]),
    ("SET m.x = 4", "MODIFIED NEW", [{"m": {"x": 4}}]),
    ("REMOVE s", "MODIFIED NEW", []),
]


@cases("clauses, returning, expected", RETURNED)
def test_returning(
    seeded: Table, clauses: str, returning: str, expected: list[dict[str, Any]]
) -> None:
    found = run(seeded, f"UPDATE T {clauses} WHERE pk = 'a' RETURNING {returning} *")
    assert plains(found) == expected


def test_update_creates_no_item(seeded: Table) -> None:
    for where in ("pk = 'b'", "pk = 'b' AND attribute_not_exists(pk)"):
        rejected(seeded, FAILED, f"UPDATE T SET n = 1 WHERE {where}")
    assert seeded.get(pk="b") is None


def test_update_with_a_condition(seeded: Table) -> None:
    run(seeded, "UPDATE T SET n = 2 WHERE pk = 'a' AND (n = 1 OR s = 'x')")
    body = rejected(
        seeded,
        FAILED,
        "UPDATE T SET n = 3 WHERE pk = 'a' AND n = 1",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    assert plain(body["Item"])["n"] == 2


# ---- DELETE ----


def test_delete(seeded: Table) -> None:
    text = "DELETE FROM T WHERE pk = ? RETURNING ALL OLD *"
    rejected(seeded, FAILED, "DELETE FROM T WHERE pk = 'a' AND n = 5")
    assert plains(run(seeded, text, "a")) == [A]
    assert run(seeded, text, "a") == {"Items": []}
    assert run(seeded, "DELETE FROM T WHERE pk = 'a' AND n = 5") == {"Items": []}


# ---- refusals of writes ----

WRITE_REFUSALS = [
    ("UPDATE T SET n = 1", NO_KEY),
    ("FROM T SET n = 1", NO_KEY),
    ("UPDATE T SET n = 1 WHERE n = 1", NO_KEY),
    ("UPDATE T SET n = 1 WHERE pk = 'a' OR pk = 'b'", NO_KEY),
    ("UPDATE T SET n = 1 WHERE pk IN ['a']", NO_KEY),
    ("DELETE FROM T WHERE NOT pk = 'a'", NO_KEY),
    ("DELETE FROM T WHERE pk = n", NO_KEY),
    (
        "DELETE FROM T WHERE pk = 'a' AND pk = 'b'",
        "ValidationException: Multiple conditions on same key pk. Only single item "
        "Update/Insert/Delete are supported",
    ),
    ("UPDATE T SET n = 1 WHERE pk = 1", KEY_TYPE.format("pk")),
    (
        "UPDATE T SET pk = 'b' WHERE pk = 'a'",
        "ValidationException: One or more parameter values were invalid: Cannot update attribute "
        "pk. This attribute is part of the key",
    ),
    (
        "UPDATE T SET n = 1, n = 2 WHERE pk = 'a'",
        "ValidationException: Two document paths overlap with each other; must remove or rewrite "
        "one of these paths; path one: [n], path two: [n]",
    ),
    (
        "UPDATE T SET m.q.r = 1 WHERE pk = 'a'",
        "ValidationException: The document path provided in the update expression is invalid for "
        "update",
    ),
    (
        "UPDATE T SET t = nope WHERE pk = 'a'",
        "ValidationException: The provided expression refers to an attribute that does not exist "
        "in the item",
    ),
    (
        "UPDATE T SET t = s + 1 WHERE pk = 'a'",
        "ValidationException: An operand in the update expression has an incorrect data type",
    ),
    (
        "UPDATE T SET ss = set_add(ss, <<1>>) WHERE pk = 'a'",
        "ValidationException: An operand in the update expression has an incorrect data type",
    ),
    ("INSERT INTO T VALUE {'pk': 1}", KEY_TYPE.format("pk")),
    (
        "INSERT INTO T VALUE {'n': 1}",
        "ValidationException: Key attribute should be present in the item: Key pk",
    ),
    (
        "INSERT INTO T VALUE {'pk': ''}",
        "ValidationException: One or more parameter values are not valid. The AttributeValue for "
        "a key attribute cannot contain an empty string value. Key: pk",
    ),
    (
        "INSERT INTO T.byG VALUE {'pk': 'a'}",
        "ValidationException: FROM clause may only contain a single table name in data "
        "manipulation statements",
    ),
    (
        "UPDATE T.byG SET n = 1 WHERE pk = 'a'",
        "ValidationException: This operation is not supported on an index",
    ),
    (
        "DELETE FROM T.byG WHERE pk = 'a'",
        "ValidationException: This operation is not supported on an index",
    ),
    (
        "DELETE FROM T WHERE pk = 'a' RETURNING MODIFIED OLD *",
        "ValidationException: Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING "
        "ALL OLD * is allowed in DELETE statements.",
    ),
    (
        "EXISTS(SELECT * FROM T WHERE pk = 'a' AND n = 1)",
        "ValidationException: EXISTS can only be used in ExecuteTransaction write requests.",
    ),
]


@cases("text, message", WRITE_REFUSALS)
def test_writes_refuse(seeded: Table, text: str, message: str) -> None:
    rejected(seeded, message, text)
    assert seeded.get(pk="a") == A
    assert seeded.all() == [A]


def test_items_too_large(table: Table) -> None:
    large = "x" * (400 * 1024)
    rejected(
        table,
        "ValidationException: Item size has exceeded the maximum allowed size",
        "INSERT INTO T VALUE {'pk': 'a', 's': ?}",
        large,
    )
    table.put({"pk": "a"})
    rejected(
        table,
        "ValidationException: Item size to update has exceeded the maximum allowed size",
        "UPDATE T SET s = ? WHERE pk = 'a'",
        large,
    )


def test_a_missing_table(table: Table) -> None:
    name = unique_name()
    for text in (
        f"SELECT * FROM \"{name}\" WHERE pk = 'a'",
        f"FROM \"{name}\" WHERE pk = 'a' SET n = 1",
        f"INSERT INTO \"{name}\" VALUE {{'pk': 'a'}}",
    ):
        rejected(table, "ResourceNotFoundException: Requested resource not found", text)


def test_indexes_follow(new_table: NewTable) -> None:
    table = new_table("pk", gsi("byG", "g"))
    run(table, "INSERT INTO T VALUE {'pk': 'a', 'g': 'x'}")
    run(table, "UPDATE T SET g = 'y' WHERE pk = 'a'")
    assert run(table, "SELECT pk FROM T.byG WHERE g = 'x'")["Items"] == []
    assert run(table, "SELECT pk FROM T.byG WHERE g = 'y'")["Items"] == [item(pk="a")]
