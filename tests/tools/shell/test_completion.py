"""What may follow the text before the cursor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.tools.shell.catalog import Catalog
from hashrange.tools.shell.completion import complete, quoted
from hashrange.tools.target import open_target

COMMANDS = [".tables", ".schema", ".mode"]


@pytest.fixture(scope="module")
def catalog(shop: Path) -> Iterator[Catalog]:
    with open_target(str(shop)) as target:
        yield Catalog(target)


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("SELECT * FROM ", "", ["orders"]),
        ("SELECT * FROM o", "o", ["orders"]),
        ("INSERT INTO or", "or", ["orders"]),
        ("UPDATE ", "", ["orders"]),
        ("SELECT 1; UPDATE x", "x", []),
        ("SELECT * FROM orders.", "", ['"by-status"']),
        ('SELECT * FROM "orders"."by', '"by', ['"by-status"']),
        ("SELECT * FROM orders WHERE cus", "cus", ["customer"]),
        ("SELECT * FROM orders WHERE zi", "zi", ["zip"]),
        ("SELECT * FROM orders WHERE tot", "tot", ["total"]),
        ("SELECT * FROM orders WHERE x = 'cus", "", []),
        ("sel", "sel", ["select"]),
        ("SEL", "SEL", ["SELECT"]),
        ("SELECT * FROM orders WHERE beg", "beg", ["begins_with("]),
        (".", ".", COMMANDS),
        (".sc", ".sc", [".schema"]),
        (".schema o", "o", ["orders"]),
        (".mode ", "", ["table", "json", "csv"]),
        (".tables ", "", []),
        (".explain SELECT * FROM o", "o", ["orders"]),
    ],
)
def test_completions(catalog: Catalog, text: str, word: str, found: list[str]) -> None:
    assert complete(text, catalog, COMMANDS) == (word, found)


def test_all_attributes_of_a_table_that_is_named(catalog: Catalog) -> None:
    _, found = complete("SELECT * FROM orders WHERE ", catalog)
    assert {"customer", "sk", "status", "total", "zip"} <= set(found)


def test_names_that_need_quotes_get_them() -> None:
    assert quoted("total") == "total"
    assert quoted("by-status") == '"by-status"'
    assert quoted("size") == '"size"'  # a keyword
    assert quoted('a"b') == '"a""b"'
