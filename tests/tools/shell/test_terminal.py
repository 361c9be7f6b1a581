"""The shell at a terminal: prompt, keys, pages, history, hostile values."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from shell.databases import HOSTILE
from shell.terminals import Terminal, terminal

pytestmark = pytest.mark.slow
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def shared(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A shell at its prompt, which the tests of this module share."""
    with terminal("shell", shop, home=tmp_path_factory.mktemp("home")) as opened:
        opened.ready()
        yield opened


def plain(text: str) -> str:
    return ESCAPE.sub("", text).replace("\r", "")


def test_a_statement_of_several_lines(shared: Terminal) -> None:
    shared.type("SELECT zip FROM orders\r")
    shared.type("WHERE customer = 'bob';\r")
    assert "'02134'" in plain(shared.ready())
    shared.type("SELECT zip FROM orders WHERE customer = 'bob'\r")
    shared.type("\r")  # an empty line ends it, too
    assert "1 item" in plain(shared.ready())


def test_pages(shared: Terminal) -> None:
    shared.type("SELECT customer, sk FROM orders WHERE customer = 'ann';\r")
    assert "order#23" in shared.wait_for("more?")
    shared.type("\r")
    shared.wait_for("order#29")
    assert "30 items" in plain(shared.ready())
    shared.type("SELECT customer, sk FROM orders WHERE customer = 'ann';\r")
    shared.wait_for("more?")
    shared.type("q\r")
    assert "24 items; there are more" in plain(shared.ready())


def test_ctrl_c_ends_a_page_and_a_line_but_not_the_shell(shared: Terminal) -> None:
    shared.type("SELECT customer, sk FROM orders WHERE customer = 'ann';\r")
    shared.wait_for("more?")
    shared.interrupt()
    assert "interrupted" in shared.ready()
    shared.type("SELECT never run")
    shared.interrupt()
    shared.ready()
    assert "orders" in shared.run(".tables")


def test_words_of_other_shells(shop: Path, tmp_path: Path) -> None:
    with terminal("shell", shop, home=tmp_path) as opened:
        opened.ready()
        assert ".tables" in opened.run("help")
        opened.type("exit\r")
        assert opened.end() == 0


def test_an_error_leaves_the_shell_running(shared: Terminal) -> None:
    said = plain(shared.run("SELECT COUNT(*) FROM orders;"))
    assert "\n  SELECT COUNT(*) FROM orders\n         ^^^^^\n" in said
    assert "orders" in shared.run(".tables")


def test_completion(shared: Terminal) -> None:
    for part in ("SEL\t", " status FROM ord\t", " WHERE custo\t"):
        shared.type(part)
        shared.settle()
    assert "open" in shared.run(" = 'bob';")


def test_hostile_values_do_not_reach_the_terminal(shared: Terminal) -> None:
    for mode in ("json", "csv", "table"):
        shared.run(f".mode {mode}")
        shown = shared.run("SELECT customer, sk, deep, image FROM orders WHERE customer = 'eve';")
        assert "eve" in shown
        assert "bold" in shown
        assert not set(HOSTILE) & set(plain(shown)) - set("[bold]31m5m")
        assert "\x1b[31m" not in shown
        assert plain(shown).replace("\n", "").isprintable()


def test_a_table_is_as_wide_as_the_terminal(shared: Terminal) -> None:
    shown = plain(shared.run("SELECT * FROM orders WHERE customer = 'eve';"))
    assert max(map(len, shown.splitlines())) <= 100
    assert "\\u001b[31m[bold]" in shown


def test_the_history_is_the_users_alone(shop: Path, tmp_path: Path) -> None:
    with terminal("shell", shop, home=tmp_path) as first:
        assert ".history off" in plain(first.ready())
        first.run("SELECT kept FROM orders WHERE customer = 'bob';")
        first.run(".history off")
        first.run("SELECT secret FROM orders WHERE customer = 'bob';")
        first.type("\x04")
        assert first.end() == 0
    path = tmp_path / "hashrange" / "history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "SELECT kept" in path.read_text()
    assert "secret" not in path.read_text()
    with terminal("shell", shop, home=tmp_path) as second:
        second.ready()
        second.type("\x1b[A")  # the arrow up
        second.wait_for("kept")
        second.run("")
        second.run(".history clear")
        assert path.read_text() == ""
        second.type(".quit\r")
        assert second.end() == 0


def test_a_folder_that_cannot_be_written(shop: Path) -> None:
    with terminal("shell", shop, home=Path("/dev/null")) as opened:
        assert "are kept" not in opened.ready()
        assert "orders" in opened.run(".tables")


def test_a_dumb_terminal(shop: Path, tmp_path: Path) -> None:
    with terminal("shell", shop, home=tmp_path, TERM="dumb") as opened:
        opened.wait_for("hashrange> ")
        opened.type("SELECT zip FROM orders WHERE customer = 'bob';\r")
        shown = opened.wait_for("1 item")
        assert "\x1b[3" not in shown
        opened.wait_for("hashrange> ")
        opened.type(".quit\r")
        assert opened.end() == 0


def test_a_query_on_a_terminal_is_a_table(shop: Path, tmp_path: Path) -> None:
    statement = "SELECT sk, zip FROM orders WHERE customer = 'bob'"
    with terminal("query", shop, statement, home=tmp_path) as opened:
        assert opened.end() == 0
        lines = plain(opened.raw.decode()).splitlines()
    assert lines[0].split() == ["sk", "zip"]
    assert lines[2].split() == ["order#1", "'02134'"]
    assert lines[3] == "1 item"
