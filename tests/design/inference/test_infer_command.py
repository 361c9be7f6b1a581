"""`hashrange design infer`: a model on stdout, a summary on stderr, and errors of one line."""

from pathlib import Path

import pytest

import hashrange
from hashrange.tools.cli.design import infer as infer_command
from hashrange.tools.cli.design.commands import plan
from hashrange.tools.cli.design.infer import infer

from ..test_examples import example
from .tables import fill


@pytest.fixture
def connected(database: hashrange.Database, monkeypatch: pytest.MonkeyPatch) -> hashrange.Database:
    """The command connects to a database in this process."""
    client = database.boto3_session().client("dynamodb")
    monkeypatch.setattr(infer_command, "client", lambda endpoint, region: client)
    return database


def test_a_model_file(
    connected: hashrange.Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The written file is a model for the other commands."""
    fill(example("sensors").table, connected)
    infer("sensor-management", 5000, 1e6, None, None, None)
    printed = capsys.readouterr()
    assert printed.out.startswith('"""The model of sensor-management, inferred from')
    assert "are reproduced exactly, 0 fit no entity\n" in printed.err
    path = tmp_path / "model.py"
    infer("sensor-management", 5000, 1e6, None, None, path)
    assert path.read_text() == printed.out
    plan(path, "text")
    assert "GSI 3" in capsys.readouterr().out


def test_a_progress_bar_on_a_terminal(
    connected: hashrange.Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fill(example("sensors").table, connected)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    infer("sensor-management", 100, 1e6, None, None, None)
    shown = capsys.readouterr().err.split("\r")
    assert shown[-2] == f"[{'#' * 30}] 100 of 100 items"
    assert shown[-1].endswith("0 fit no entity\n")


def test_binary_values_through_boto3(
    connected: hashrange.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    client = connected.boto3_session().client("dynamodb")
    client.create_table(
        TableName="app",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="app", Item={"id": {"B": b"\x00\xff"}, "data": {"B": b"\x01"}})
    infer("app", 10, 1e6, None, None, None)
    printed = capsys.readouterr()
    assert "data: bytes" in printed.out
    assert "the keys of 1 are reproduced" in printed.err


def test_bad_input(
    connected: hashrange.Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.py"
    for table, sample, rate in (("absent", 10, 1.0), ("t", 0, 1.0), ("t", 10, 0.0), ("t", 1, -1.0)):
        with pytest.raises(SystemExit) as ended:
            infer(table, sample, rate, None, None, out)
        assert str(ended.value).startswith("hashrange: ")
        assert "\n" not in str(ended.value)
    assert capsys.readouterr().out == ""
    assert not out.exists()
