"""`hashrange query`: one statement."""

import csv
import io
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line as run
from waiting import SECONDS_MAX

import hashrange
from shell.databases import HOSTILE, ORDERS, run_apart

pytestmark = pytest.mark.slow
ALL = "SELECT * FROM orders"


def fault(*arguments: object, **variables: Any) -> str:
    ended = run("query", *arguments, **variables)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("hashrange: ")
    return ended.stderr.removeprefix("hashrange: ").rstrip("\n")


def test_json_is_one_item_on_each_line(shop: Path) -> None:
    ended = run("query", shop, ALL)  # what a pipe gets unless asked for CSV
    items = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(items) == ORDERS + 2
    assert {"customer": "bob", "sk": "order#1", "status": "open", "zip": "02134"} in items
    assert {"customer": "ann", "sk": "order#07", "total": 7} in items
    assert next(item["sk"] for item in items if item["customer"] == "eve") == HOSTILE
    assert ended.stderr == ""


def test_csv_has_all_columns_those_of_the_key_first(shop: Path) -> None:
    csv.field_size_limit(400_000)
    rows = list(csv.reader(io.StringIO(run("query", shop, ALL, "--csv").stdout, newline="")))
    assert rows[0] == ["customer", "sk", "big", "deep", "image", "status", "total", "zip"]
    assert len(rows) == ORDERS + 3
    assert ["bob", "order#1", "", "", "", "open", "", "02134"] in rows


def test_csv_of_named_columns(shop: Path) -> None:
    ended = run("query", shop, "SELECT zip, sk FROM orders WHERE customer = 'bob'", "--csv")
    assert ended.stdout == "zip,sk\n02134,order#1\n"


def test_pages_follow_each_other(shop: Path) -> None:
    """390 KB are in the first answer of 1 MB; the limit makes many of the others."""
    ended = run("query", shop, f"{ALL} WHERE attribute_type(zip, 'S')", "--limit", 1)
    assert json.loads(ended.stdout)["customer"] == "bob"
    assert run("query", shop, ALL, "--limit", 5).stdout.count("\n") == 5


def test_parameters(shop: Path) -> None:
    statement = "SELECT sk FROM orders WHERE customer = ? AND total = ?"
    parameters = ("--parameter", "ann", "--parameter", "7")
    assert run("query", shop, statement, *parameters).stdout == '{"sk": "order#07"}\n'
    typed = ("--parameter", '{"S": "bob"}', "--parameter", "02134")
    statement = "SELECT sk FROM orders WHERE customer = ? AND zip = ?"
    assert run("query", shop, statement, *typed).stdout == '{"sk": "order#1"}\n'
    assert "is not a value in DynamoDB JSON" in fault(shop, statement, "--parameter", '{"B": "?"}')


def test_capacity_is_told_on_stderr(shop: Path) -> None:
    ended = run("query", shop, "SELECT * FROM orders WHERE customer = 'bob'", "--capacity")
    assert ended.stdout.count("\n") == 1
    assert ended.stderr == "consumed 0.5 capacity units: the table 0.5\n"


def test_a_write(own: Path) -> None:
    statement = "INSERT INTO orders VALUE {'customer': 'cid', 'sk': 'a', 'total': 12.50}"
    assert run("query", own, statement).stdout == ""
    found = run("query", own, "SELECT total FROM orders WHERE customer = 'cid'")
    assert found.stdout == '{"total": 12.5}\n'


def test_a_server(shop: Path) -> None:
    with hashrange.connect(shop) as database, hashrange.serve(database) as server:
        found = run("query", server.url, "SELECT zip FROM orders WHERE customer = 'bob'")
    assert found.stdout == '{"zip": "02134"}\n'


def test_an_error_shows_its_place(shop: Path) -> None:
    lines = fault(shop, "SELECT COUNT(*) FROM orders").splitlines()
    assert lines[0].startswith("ValidationException: ")
    assert lines[1:3] == ["  SELECT COUNT(*) FROM orders", "         ^^^^^"]


def test_what_cannot_be_opened_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        said = fault(url, ALL)
    assert url in said
    foreign = tmp_path / "foreign"
    foreign.write_text("no database")
    for name in (tmp_path / "none.db", tmp_path, foreign):
        line = fault(name, ALL)
        assert str(name) in line
        assert "\n" not in line
    assert "\n" not in said


@pytest.mark.parametrize("library", ["boto3", "rich"])
def test_a_missing_library_is_named(shop: Path, tmp_path: Path, library: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{library!r}] = None\n")
    path = ":".join((str(tmp_path), *sys.path))
    program = "shell" if library == "rich" else "query"
    given = ".mode table\nSELECT zip FROM orders;" if program == "shell" else ""
    arguments = (shop,) if program == "shell" else (shop, ALL)
    ended = run_apart(program, *arguments, given=given, PYTHONPATH=path)
    assert ended.returncode == 1
    extra = "shell" if library == "rich" else library
    assert ended.stderr.endswith(f"is not installed: pip install 'hashrange[{extra}]'\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_that_is_none(shop: Path, limit: str) -> None:
    ended = run("query", shop, ALL, "--limit", limit)
    assert ended.returncode == 2
    assert "is not a number above 0" in ended.stderr


def test_a_closed_pipe_ends_it_quietly(own: Path) -> None:
    program = "from hashrange.tools.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "query", str(own), ALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=SECONDS_MAX) == 1


def test_aws_is_not_written_to_without_asking(tmp_path: Path) -> None:
    """The refusal comes before any request."""
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    for db in ("aws@eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com"):
        said = fault(db, "DELETE FROM t WHERE pk = 'a'", **keys)
        assert said == f"this statement may write to {db}; allow it with --yes"


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    hashrange.connect(path).close()
    assert "ResourceNotFoundException" in fault(path, "SELECT * FROM gone")
