"""Errors of statements: the place, and what DynamoDB offers instead."""

from pathlib import Path

import pytest

from hashrange.tools.shell.faults import Failed
from hashrange.tools.shell.output import Output
from hashrange.tools.shell.session import Session
from hashrange.tools.target import open_target


def refusal(shop: Path, statement: str) -> list[str]:
    """The lines that are shown for a statement that fails."""
    with (
        open_target(str(shop)) as target,
        Path("/dev/null").open("w") as nowhere,
        pytest.raises(Failed) as raised,
    ):
        Session(target, Output(nowhere), lambda text: None).run(statement)
    return str(raised.value).split("\n")


@pytest.mark.parametrize(
    ("statement", "marked", "advice"),
    [
        ("SELECT COUNT(*) FROM orders", "COUNT", "no aggregates"),
        ("SELECT sum(total) FROM orders", "sum", "no aggregates"),
        ("SELECT * FROM orders JOIN b ON x = y", "JOIN", "one table or index"),
        ("SELECT * FROM orders GROUP BY customer", "GROUP BY", "does not group"),
        ("SELECT * FROM orders WHERE a LIKE 'x%'", "LIKE", "begins_with"),
        ("SELECT * FROM orders LIMIT 10", "LIMIT 10", ".limit N"),
        ("SELECT * FROM orders OFFSET 5", "OFFSET 5", "no offsets"),
        ("SELECT DISTINCT customer FROM orders", "DISTINCT", "no DISTINCT"),
        ("SELECT a AS b FROM orders", "AS", "no aliases"),
        ("SELECT * FROM orders WHERE a IN (SELECT b FROM c)", "(SELECT", "no subqueries"),
        ("SELECT a FROM orders UNION SELECT b FROM c", "UNION", "one SELECT"),
        ("CREATE TABLE t (a int)", "CREATE", "API calls"),
        ("DROP TABLE orders", "DROP", "API calls"),
        ("SHOW TABLES", "SHOW", ".tables"),
        ("EXPLAIN SELECT * FROM orders", "EXPLAIN", ".explain"),
        ("BEGIN", "BEGIN", "TransactWriteItems"),
        ("DELETE * FROM orders", "*", "REMOVE removes attributes"),
        ("UPDATE orders SET * WHERE a = 1", "SET *", "the name of each attribute"),
        ("INSERT INTO orders (a) VALUES ('b')", None, "VALUE {'pk'"),
        ("SELECT * FROM orders WHERE a == 1", "==", "one `=`"),
        ("SELECT * FROM orders WHERE a = `x`", "`", "double quotes"),
        ("SELECT * FROM my-table", "my-table", '"my-table"'),
        ("SELEC * FROM orders", "SELEC", "begins with SELECT"),
        ("SELECT size FROM orders", "size", 'double quotes: "size"'),
        ("SELECT * FROM orders WHERE", "", None),
        ("SELECT * FROM orders WHERE a = 'x", "'", None),
        ("SELECT * FROM orders WHERE\n  foo(a) = 1", "foo", "begins_with"),
        ("SELECT * FROM orders WHERE customer = 1", "customer", "does not have the type"),
        ("SELECT a, a FROM orders", "a", None),
    ],
)
def test_a_caret_is_below_the_place(
    shop: Path, statement: str, marked: str | None, advice: str | None
) -> None:
    said, line, carets, *more = refusal(shop, statement)
    assert said.startswith("ValidationException: ")
    start = carets.index("^")
    assert set(carets[start:]) == {"^"}
    if marked is not None:
        assert line[start : start + len(carets) - start][: len(marked)] == marked
        assert len(carets) - start == max(1, len(marked))
    assert advice is None or advice in " ".join(more)
    assert len(more) <= 3


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("UPDATE orders SET a = 1 WHERE customer = 'a'", "WHERE customer = ... AND sk = ..."),
        ("DELETE FROM orders", "WHERE customer = ... AND sk = ..."),
        ("UPDATE orders SET a = 1 WHERE customer = 'a' AND sk = 'b'", "No item with this key"),
        (
            "INSERT INTO orders VALUE {'customer': 'bob', 'sk': 'order#1'}",
            "INSERT adds only new items",
        ),
        ("SELECT * FROM orders ORDER BY total", "ORDER BY the sort key"),
        ("SELECT * FROM orders WHERE customer = 'a' ORDER BY total", "needs an index"),
        ("SELECT * FROM orders, b", "one table or index"),
        ("SELECT * FROM nowhere", ".tables lists"),
        ('SELECT * FROM orders."nix"', ".indexes lists"),
    ],
)
def test_what_dynamodb_offers_instead(shop: Path, statement: str, advice: str) -> None:
    assert advice in " ".join(refusal(shop, statement))


def test_a_long_line_is_cut_around_the_place(shop: Path) -> None:
    long = f"SELECT * FROM orders WHERE a = '{'x' * 500}' AND foo(b) = 1 AND c = '{'y' * 500}'"
    _, line, carets, *_ = refusal(shop, long)
    assert line[carets.index("^") :].startswith("foo(b)")
    assert len(line) < 120


def test_wide_letters_and_escapes_before_the_place(shop: Path) -> None:
    _, line, carets, *_ = refusal(shop, "SELECT * FROM orders WHERE a = '日\x1b[2J' AND foo(b) = 1")
    assert line.isprintable()
    assert carets.index("^") == line.index("foo") + 1  # one letter is two columns wide
