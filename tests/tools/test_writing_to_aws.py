"""No command writes to AWS unless the user names it and confirms."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import drawn_items
import pytest
from moving_data import Run, fault, fill, folder, numbered, run

import hashrange
from hashrange.tools.cli import app

__all__ = ["folder", "run"]  # fixtures
pytestmark = pytest.mark.slow

MODEL = """
from typing import Protocol
from hashrange import design as st


class Thing(st.Item):
    key = st.key("thing#{name}")
    name: str


class Things(st.Store, Protocol):
    def thing(self, name: str) -> Thing | None: ...


things = st.Table("things", Things)
"""

WRITES: dict[str, tuple[str, ...]] = {
    "import": ("import", "AWS", "table", "a.jsonl", "--create"),
    "copy": ("copy", "a.db", "AWS"),
    "tables create": ("tables", "create", "AWS", "table.json"),
    "design create": ("design", "create", "model.py", "AWS"),
    "query": ("query", "AWS", "DELETE FROM \"there\" WHERE pk = 'p1' AND sk = 1"),
    "console": ("console", "AWS", "--write", "--port", "0"),
}
"""The commands that can write to AWS."""

MIGRATES = {
    f"design migrate {step}" for step in ("start", "advance", "back", "pause", "resume", "finish")
}
"""They ask in the same way, once the plan of the migration has been checked."""

SHELL = "shell"
"""It asks before each statement; see `test_the_shell_asks`."""

READS = {
    *("export", "design infer", "design draw", "mcp"),
    *(f"design migrate {step}" for step in ("plan", "status", "verify")),
}
"""The commands that read from AWS and never write."""

HERE = {
    *("serve", "learn", "backup", "restore", "compact", "check", "inspect", "explain", "ping"),
    *("distribute", "design plan", "design lint", "design prove", "design rule", "design cost"),
    *("design diff", "design export", "design import"),
    *("access explain", "access check", "archive check", "archive list"),
    *("cluster check", "cluster restore-point", "predict"),
}
"""The commands that use a file, a PostgreSQL database or a model, or a server's port."""


def commands(parser: argparse.ArgumentParser, before: str = "") -> Iterator[tuple[str, Any]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands(below, f"{before} {name}".strip())
            return
    yield before, parser


def test_each_command_is_known_to_read_or_to_write() -> None:
    known = {*WRITES, *MIGRATES, SHELL, *READS, *HERE}
    assert {name for name, _ in commands(app._parser())} == known


def test_each_command_that_writes_can_be_told_yes() -> None:
    for name, parser in commands(app._parser()):
        yes = [action for action in parser._actions if "--yes" in action.option_strings]
        assert bool(yes) == (name in WRITES or name in MIGRATES or name == SHELL), name


@pytest.fixture
def account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server in the place of AWS, whose client can be asked what was written."""
    fill("a.db", [numbered(1)])
    Path("a.jsonl").write_text(json.dumps({"Item": numbered(1)}))
    Path("a.jsonl.table.json").write_text(json.dumps(drawn_items.TABLE))
    Path("table.json").write_text(json.dumps({"Table": drawn_items.TABLE}))
    Path("model.py").write_text(MODEL)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    with hashrange.serve() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
        client = boto3.client("dynamodb", "eu-west-1")
        client.create_table(**drawn_items.TABLE | {"TableName": "there"})
        client.put_item(TableName="there", Item=numbered(1))
        yield client


def state(client: Any) -> tuple[list[str], int]:
    return client.list_tables()["TableNames"], client.scan(TableName="there")["Count"]


@pytest.mark.parametrize("name", WRITES)
def test_a_command_without_a_yes_writes_nothing(name: str, account: Any, run: Run) -> None:
    arguments = [each.replace("AWS", "aws@eu-west-1") for each in WRITES[name]]
    assert "--yes" in fault(run(*arguments))
    assert state(account) == (["there"], 1)
    ended = run(*arguments, given="n\n", terminal=True)
    assert (ended.status, ended.out) == (1, "")
    assert "aws@eu-west-1" in ended.error, "it names the place"
    assert state(account) == (["there"], 1)


@pytest.mark.parametrize("name", sorted(set(WRITES) - {"console"}))
def test_a_command_with_a_yes_writes(name: str, account: Any, run: Run) -> None:
    arguments = [each.replace("AWS", "aws@eu-west-1") for each in WRITES[name]]
    ended = run(*arguments, "--yes")
    assert ended.status == 0, ended.error
    assert state(account) != (["there"], 1)


@pytest.mark.parametrize("name", WRITES)
def test_the_address_of_aws_is_aws(
    name: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before a request is made; the proxy is there in case it is not."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    fill("a.db", [numbered(1)])
    Path("a.jsonl").write_text(json.dumps({"Item": numbered(1)}))
    Path("table.json").write_text(json.dumps({"Table": drawn_items.TABLE}))
    Path("model.py").write_text(MODEL)
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    address = "https://dynamodb.eu-west-1.amazonaws.com"
    arguments = [each.replace("AWS", address) for each in WRITES[name]]
    assert "--yes" in fault(run(*arguments))


def test_the_shell_asks(account: Any, run: Run) -> None:
    statement = "DELETE FROM \"there\" WHERE pk = 'p1' AND sk = 1;\n"
    assert "--yes" in fault(run("shell", "aws@eu-west-1", given=statement))
    assert state(account) == (["there"], 1)


def test_a_model_is_created_in_a_file(folder: Path, run: Run) -> None:
    Path("model.py").write_text(MODEL)
    assert run("design", "create", "model.py", "new.db").out == "things: created\n"
    assert (
        run("design", "create", "model.py", "new.db").out == "things: exists and fits the model\n"
    )
    with hashrange.connect("new.db") as db:
        assert db.execute("ListTables", {})["TableNames"] == ["things"]


def test_a_model_is_created_nowhere_unless_a_place_is_named(folder: Path, run: Run) -> None:
    Path("model.py").write_text(MODEL)
    ended = run("design", "create", "model.py")
    assert ended.status == 2
    assert "the following arguments are required: DB" in ended.error
