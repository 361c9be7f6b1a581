"""Statements and dot commands that come from a file or a pipe."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line as run

import hashrange
from hashrange.tools.shell.commands import Commands, Quit
from hashrange.tools.shell.faults import Failed
from hashrange.tools.shell.output import Output
from hashrange.tools.shell.session import Session
from hashrange.tools.target import Target, open_target
from shell.databases import ORDERS, run_apart


class Shell:
    """A shell without a terminal: what it prints, and what it says about it."""

    def __init__(self, target: Target, confirm: Callable[[str], bool] | None = None) -> None:
        self._file = io.StringIO()
        self.said: list[str] = []
        self.session = Session(target, Output(self._file), self.said.append, confirm=confirm)
        self.commands = Commands(self.session)

    def run(self, text: str) -> str:
        self._file.seek(0)
        self._file.truncate()
        self.commands.run(text)
        return self._file.getvalue()


@pytest.fixture
def shell(shop: Path) -> Iterator[Shell]:
    with open_target(str(shop)) as target:
        yield Shell(target)


@pytest.fixture
def remote(shop: Path) -> Iterator[Shell]:
    """The same database behind a server."""
    with (
        hashrange.connect(shop) as database,
        hashrange.serve(database) as server,
        open_target(server.url) as target,
    ):
        yield Shell(target)


def test_tables(shell: Shell) -> None:
    assert shell.run(".tables") == "orders\n"


def test_a_table_is_created_and_dropped(shell: Shell) -> None:
    assert shell.run(".create visits customer,at:N") == "table visits created\n"
    assert shell.run(".tables") == "orders\nvisits\n"
    assert "customer (S) partition key, at (N) sort key" in shell.run(".schema visits")
    assert shell.run(".drop visits") == "table visits deleted\n"
    assert shell.run(".tables") == "orders\n"
    for wrong in (".create visits", ".create visits at:X", ".drop", ".drop visits"):
        with pytest.raises(Failed):
            shell.run(wrong)


def test_schema(shell: Shell) -> None:
    lines = [line.split(maxsplit=1) for line in shell.run(".schema orders").splitlines()]
    facts = {line[0]: line[-1] for line in lines}
    assert facts["key"] == "customer (S) partition key, sk (S) sort key"
    assert facts["billing"] == "on demand"
    assert facts["items"].startswith(f"{ORDERS + 2} items, ")
    assert facts["stream"] == "none"
    assert facts["expiry"] == "none"
    assert facts["global"].startswith(
        "index by-status: status (S) partition key; keys only; 1 item"
    )
    assert shell.run(".schema") == shell.run(".schema 'orders'")


def test_indexes(shell: Shell) -> None:
    assert shell.run(".indexes").splitlines()[1].startswith("  global index by-status: status")
    with pytest.raises(Failed, match="ResourceNotFoundException"):
        shell.run(".indexes nowhere")


def test_modes(shell: Shell) -> None:
    statement = "SELECT zip, status FROM orders WHERE customer = 'bob'"
    assert shell.run(".mode") == "json\n"  # because the output is no terminal
    assert shell.run(statement) == '{"zip": "02134", "status": "open"}\n'
    shell.run(".mode csv")
    assert shell.run(statement) == "zip,status\n02134,open\n"
    shell.run(".mode table")
    header, _, row, count = shell.run(statement).splitlines()
    assert header.split() == ["zip", "status"]
    assert row.split() == ["'02134'", "open"]
    assert count == "1 item"
    with pytest.raises(Failed, match="the modes are table, json, csv"):
        shell.run(".mode xml")


def test_a_table_says_what_a_write_has_done(shell: Shell) -> None:
    shell.run(".mode table")
    key = "WHERE customer = 'eve' AND sk = '1'"
    insert = "INSERT INTO orders VALUE {'customer': 'eve', 'sk': '1'}"
    assert shell.run(insert) == "1 item inserted\n"
    assert shell.run(f"UPDATE orders SET n = 1 {key}") == "1 item updated\n"
    assert shell.run(f"UPDATE orders SET n = 2 {key} RETURNING ALL NEW *").endswith("1 item\n")
    assert shell.run(f"/* one */ delete FROM orders {key}") == "1 item deleted\n"
    assert shell.run("SELECT * FROM orders WHERE customer = 'none'") == "0 items\n"


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ('customer = "bob"', "Double quotes enclose names"),
        ("customer=bob", "bob is the name of an attribute here"),
        ("customer = 'x' and zip >= Zip_1", "Zip_1 is the name of an attribute here"),
        ("customer = 'none'", None),
        ("customer = 'none' AND paid = TRUE", None),
        ("customer = 'none' AND size(zip) > 3", None),
        ("customer = 'none' AND begins_with(zip, '= x')", None),
    ],
)
def test_nothing_found_has_a_hint(shell: Shell, condition: str, hint: str | None) -> None:
    assert shell.run(f"SELECT * FROM orders WHERE {condition}") == ""
    assert [said.startswith(hint or "?") for said in shell.said] == ([True] if hint else [])


def test_a_limit(shell: Shell) -> None:
    shell.run(".limit 7")
    assert shell.run("SELECT * FROM orders WHERE customer = 'ann'").count("\n") == 7
    shell.run(".mode table")
    assert shell.run("SELECT sk FROM orders").endswith("7 items; there are more\n")
    shell.run(".limit off")
    assert shell.run("SELECT sk FROM orders").endswith(f"{ORDERS + 2} items\n")
    for wrong in ("0", "-1", "x", "1.5"):
        with pytest.raises(Failed, match="number above 0"):
            shell.run(f".limit {wrong}")


def test_capacity(shell: Shell) -> None:
    shell.run(".capacity on")
    shell.run("SELECT * FROM orders WHERE customer = 'bob'")
    assert shell.said == ["consumed 0.5 capacity units: the table 0.5"]
    shell.run(".capacity off")
    shell.run("SELECT * FROM orders WHERE customer = 'bob'")
    assert len(shell.said) == 1


def test_explain_in_this_process(shell: Shell) -> None:
    lines = shell.run(".explain SELECT * FROM orders WHERE customer = 'ann'").splitlines()
    assert lines[0] == "ExecuteStatement: 0.5 read units"
    assert lines[1].strip().startswith(f"{ORDERS} rows read")
    with pytest.raises(Failed, match="no aggregates"):
        shell.run(".explain SELECT COUNT(*) FROM orders")


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            "SELECT * FROM orders WHERE customer = 'ann'",
            "Query of 1 partition of orders by customer",
        ),
        (
            "SELECT * FROM orders WHERE customer = 'a' AND sk > 'b'",
            "Query of 1 partition of orders by customer and sk",
        ),
        (
            "SELECT customer FROM orders.\"by-status\" WHERE status IN ['a', 'b']",
            "Query of 2 partitions of orders.by-status by status",
        ),
        ("SELECT * FROM orders WHERE total = 1", "Scan of all of orders: about 32 items, "),
        (
            "DELETE FROM orders WHERE customer = 'a' AND sk = 'b'",
            "the statement writes one item by its key",
        ),
    ],
)
def test_explain_over_the_api(remote: Shell, statement: str, line: str) -> None:
    said = remote.run(f".explain {statement}")
    assert said.startswith(line)
    assert said.count("\n") == 1


def test_an_empty_result_of_a_wrong_quote(shell: Shell) -> None:
    assert shell.run('SELECT * FROM orders WHERE customer = "ann"') == ""
    assert "single quotes" in shell.said[0]


def test_a_file_is_read_up_to_the_first_error(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a file.sql"
    path.write_text(".limit 1\nSELECT zip FROM orders\nWHERE customer = 'bob';\nSELECT x;\n.tables")
    with pytest.raises(Failed, match=rf"{path}, line 4: ValidationException"):
        shell.run(f".read '{path}'")
    path.write_text(f".read '{path}'")
    with pytest.raises(Failed, match="more than 10 levels deep"):
        shell.run(f".read '{path}'")
    path.write_bytes(b"SELECT '\xff'")
    with pytest.raises(Failed, match="UTF-8"):
        shell.run(f".read '{path}'")
    for wrong in ("", str(tmp_path), "nowhere.sql"):
        with pytest.raises(Failed) as raised:
            shell.run(f".read {wrong}")
        assert "\n" not in str(raised.value)


def test_results_go_to_a_file(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    shell.run(f".output {path}")
    assert shell.run("SELECT zip FROM orders WHERE customer = 'bob'") == ""
    shell.run(".output")
    assert path.read_text() == '{"zip": "02134"}\n'
    assert shell.run(".tables") == "orders\n"
    with pytest.raises(Failed, match=r"Is a directory|Permission denied"):
        shell.run(f".output {tmp_path}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk to offer")
def test_a_full_disk(shell: Shell) -> None:
    shell.run(".output /dev/full")
    with pytest.raises(Failed, match="/dev/full: No space left on device"):
        shell.run("SELECT * FROM orders")
    shell.run(".output")
    assert shell.run(".tables") == "orders\n"


def test_other_commands(shell: Shell) -> None:
    assert ".explain STATEMENT" in shell.run(".help")
    with pytest.raises(Failed, match=r"\.frobnicate: no such command"):
        shell.run(".frobnicate now")
    with pytest.raises(Failed, match=r"usage: \.capacity on\|off"):
        shell.run(".capacity maybe")
    with pytest.raises(Failed, match="no history without a terminal"):
        shell.run(".history off")
    with pytest.raises(Quit):
        shell.run(".quit")


class Deleting:
    """A client whose table is deleted when the second page is asked for."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.meta = client.meta

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def execute_statement(self, **request: Any) -> Any:
        if "NextToken" in request:
            self._client.delete_table(TableName="orders")
        return self._client.execute_statement(**request)


def test_a_table_that_is_deleted_underneath(own: Path) -> None:
    with open_target(str(own)) as target:
        shell = Shell(Target(target.name, "file", Deleting(target.client), target.streams))
        shell.run(".limit 3")
        with pytest.raises(Failed, match=r"ResourceNotFoundException: .*not found"):
            shell.run("SELECT * FROM orders WHERE zip = '02134'")


@pytest.mark.parametrize("answer", [False, True])
def test_a_write_to_aws_is_asked_for(own: Path, answer: bool) -> None:
    statement = "DELETE FROM orders WHERE customer = 'bob' AND sk = 'order#1'"
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return answer

    with open_target(str(own)) as target:
        aws = replace(target, kind="aws", name="aws@eu-west-1")
        shell = Shell(aws, confirm)
        found = shell.run("SELECT * FROM orders WHERE customer = 'bob'")
        assert found
        assert asked == []
        if answer:
            shell.run(statement)
        else:
            with pytest.raises(Failed, match="not run"):
                shell.run(statement)
        assert asked == [f"{statement}\nThis may write to aws@eu-west-1. Run it? [y/N] "]
        left = shell.run("SELECT * FROM orders WHERE customer = 'bob'")
        assert left == ("" if answer else found)


@pytest.mark.slow
class TestPipes:
    def test_statements_from_a_pipe(self, own: Path) -> None:
        ended = run(
            "shell",
            own,
            given="INSERT INTO orders VALUE {'customer': 'x;y', 'sk': 'a'};\n"
            "SELECT customer\n\nFROM orders WHERE customer = 'x;y'",
        )
        assert ended.stdout == '{"customer": "x;y"}\n'
        assert ended.stderr == ""
        assert ended.returncode == 0

    def test_the_first_error_ends_it(self, shop: Path) -> None:
        ended = run("shell", shop, given=".tables\nSELECT\nnothing;\n.tables\n")
        assert ended.stdout == "orders\n"
        assert ended.stderr.startswith("hashrange: line 2: ValidationException: ")
        assert ended.returncode == 1

    def test_quit_ends_it(self, shop: Path) -> None:
        ended = run("shell", shop, given=".quit\nnonsense;")
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)

    def test_an_endless_line(self, shop: Path) -> None:
        ended = run("shell", shop, given="x" * 1_000_000)
        assert ended.returncode == 1
        assert "is a semicolon missing?" in ended.stderr

    def test_a_locale_without_letters(self, own: Path) -> None:
        statement = "INSERT INTO orders VALUE {'customer': 'ü', 'sk': '日'}; SELECT sk FROM orders;"
        ended = run_apart("shell", own, given=statement, PYTHONIOENCODING="ascii:surrogateescape")
        assert ended.returncode in (0, 1)
        assert "Traceback" not in ended.stderr

    def test_json_can_be_read_back(self, shop: Path) -> None:
        ended = run("shell", shop, given="SELECT * FROM orders;")
        assert len([json.loads(line) for line in ended.stdout.splitlines()]) == ORDERS + 2
