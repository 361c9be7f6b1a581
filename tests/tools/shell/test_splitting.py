"""Where statements end."""

import pytest

from hashrange.tools.shell.splitting import (
    STATEMENT_CHARACTERS_MAX,
    TooLong,
    blanked,
    entries,
    is_complete,
    is_select,
)


def found(text: str) -> list[tuple[str, int]]:
    return [(entry.text, entry.line) for entry in entries(text.splitlines(keepends=True))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b;", [("a", 1), ("b", 1)]),
        ("a\nb;\nc", [("a\nb", 1), ("c", 3)]),
        ("a\n\nb;", [("a\n\nb", 1)]),
        ("x = 'a;b' AND \"c;d\" = 1;", [("x = 'a;b' AND \"c;d\" = 1", 1)]),
        ("x = 'it''s;' ; b", [("x = 'it''s;'", 1), ("b", 1)]),
        ("x = 'a\n;\n'; b", [("x = 'a\n;\n'", 1), ("b", 3)]),
        ("-- it's; nothing\na -- b;\n;", [("a -- b;", 2)]),
        ("/* ; */ a;", [("/* ; */ a", 1)]),
        (
            ".tables\n.mode csv;\na;\n.quit",
            [(".tables", 1), (".mode csv", 2), ("a", 3), (".quit", 4)],
        ),
        ("a\n.b\n;", [("a\n.b", 1)]),
        ("/* a\n;\nb */\n.tables\nc; /* d\n*/\n.quit", [(".tables", 4), ("c", 5), (".quit", 7)]),
        ("\n\n  \n-- only this\n;;", []),
        ("", []),
    ],
)
def test_entries(text: str, expected: list[tuple[str, int]]) -> None:
    assert found(text) == expected


def test_a_statement_without_an_end_is_refused() -> None:
    with pytest.raises(TooLong, match=r"line 2: .* is a semicolon missing"):
        found("a;\n" + "b\n" * STATEMENT_CHARACTERS_MAX)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (".tables", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT ';", False),
        ("SELECT 1; SELECT", False),
        ("SELECT 1\n", True),
        ("SELECT 1\n  ", True),
        ("SELECT 1\nFROM", False),
        ("", True),
        ("exit", True),
        ("Quit;", True),
        ("help", True),
        ("help me", False),
        ("SELECT 1\nexit", False),
    ],
)
def test_enter_runs_what_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) == complete


def test_what_reads() -> None:
    assert is_select("  /* x */ select * from t")
    assert not is_select("UPDATE t SET a = 'SELECT'")
    assert not is_select("EXISTS(SELECT * FROM t)")


def test_what_is_quoted_is_hidden_in_its_place() -> None:
    assert blanked("a 'b' \"c d\" -- e\nf") == 'a \'\'\' """""     \nf'
