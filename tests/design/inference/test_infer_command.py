"""`hashrange design infer`: a model on stdout, a summary on stderr, and errors of one line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import command_line

import hashrange
from hashrange.tools.cli.design.commands import plan
from hashrange.tools.cli.design.infer import infer

from ..test_examples import example, served
from .tables import fill


@pytest.fixture
def endpoint(database: hashrange.Database) -> Iterator[str]:
    with served(database) as port:
        yield f"http://127.0.0.1:{port}"


def test_a_model_file(
    database: hashrange.Database, endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The written file is a model for the other commands."""
    fill(example("sensors").table, database)
    infer("sensor-management", 5000, 1e6, endpoint, None, None)
    printed = capsys.readouterr()
    assert printed.out.startswith('"""The model of sensor-management, inferred from')
    assert "are reproduced exactly; no entity fits 0 items\n" in printed.err
    path = tmp_path / "model.py"
    infer("sensor-management", 5000, 1e6, endpoint, None, path)
    assert path.read_text() == printed.out
    plan(path, "text")
    assert "GSI 3" in capsys.readouterr().out


def test_a_progress_bar_on_a_terminal(database: hashrange.Database, endpoint: str) -> None:
    fill(example("sensors").table, database)
    words = ("--sample", 100, "--rate", 1e6, "--endpoint", endpoint)
    told = command_line("design", "infer", "--table", "sensor-management", *words, terminal=True)
    shown = told.stderr.split("\r")
    assert shown[-2] == f"[{'#' * 30}] 100 of 100 items"
    assert shown[-1].startswith("\x1b[K")
    assert shown[-1].endswith("no entity fits 0 items\n")


def test_binary_values_through_boto3(
    database: hashrange.Database, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client = database.boto3_session().client("dynamodb")
    client.create_table(
        TableName="app",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="app", Item={"id": {"B": b"\x00\xff"}, "data": {"B": b"\x01"}})
    infer("app", 10, 1e6, endpoint, None, None)
    printed = capsys.readouterr()
    assert "data: bytes" in printed.out
    assert "the keys of 1 item are reproduced" in printed.err


def test_bad_input(
    database: hashrange.Database, endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.py"
    for table, sample, rate in (("absent", 10, 1.0), ("t", 0, 1.0), ("t", 10, 0.0), ("t", 1, -1.0)):
        with pytest.raises(SystemExit) as ended:
            infer(table, sample, rate, endpoint, None, out)
        assert str(ended.value).startswith("hashrange: ")
        assert "\n" not in str(ended.value)
    assert capsys.readouterr().out == ""
    assert not out.exists()
