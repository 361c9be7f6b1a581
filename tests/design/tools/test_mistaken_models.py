"""`hashrange design` prints one line for a model that does not work: where and why."""

import sys
from pathlib import Path

import pytest

import hashrange
from hashrange.tools.cli.design import commands as design

from ..test_examples import EXAMPLES

SENSORS = EXAMPLES / "sensors.py"


@pytest.fixture(autouse=True)
def imports_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("mistaken", "model", "sensors"):
        monkeypatch.setitem(sys.modules, name, None)


def plan_fault(path: Path) -> str:
    with pytest.raises(SystemExit) as ended:
        design.plan(path, "text")
    line = str(ended.value.code)
    assert "\n" not in line
    return line.removeprefix(f"hashrange: {path}")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = 1\ny = (\n", ": SyntaxError: '(' was never closed (mistaken.py, line 2)"),
        ("x = 1\n  y = 2\n", ": IndentationError: unexpected indent (mistaken.py, line 2)"),
        ("x = 1\0", ": SyntaxError: source code string cannot contain null bytes"),
        ("\nimport absent", ", line 2: ModuleNotFoundError: No module named 'absent'"),
        ("def f():\n    1 / 0\nf()\n", ", line 2: ZeroDivisionError: division by zero"),
        ("import json\njson.loads('')", ", line 2: JSONDecodeError: Expecting value: line 1 "),
        ("raise ValueError('two\\nlines')", ", line 1: ValueError: two lines"),
        ("raise ValueError", ", line 1: ValueError"),
        ("x = 1", " declares no st.Table"),
    ],
)
def test_a_mistake_in_the_file(tmp_path: Path, source: str, told: str) -> None:
    path = tmp_path / "mistaken.py"
    path.write_text(source)
    assert plan_fault(path).startswith(told)


def test_a_missing_file(tmp_path: Path) -> None:
    assert plan_fault(tmp_path) == ": is a directory; name a file"
    assert plan_fault(tmp_path / "absent.py") == ": no such file"
    assert plan_fault(tmp_path / ("x" * 1000)) == ": File name too long"


def test_a_file_of_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model"
    path.write_bytes(SENSORS.read_bytes())
    design.plan(path, "text")
    assert capsys.readouterr().out.startswith("sensor-management\n")


@pytest.fixture
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """boto3 finds no region, no profile and no credentials."""
    for name in ("REGION", "DEFAULT_REGION", "PROFILE", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "absent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


@pytest.mark.usefixtures("unconfigured")
def test_create_on_a_server_needs_no_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    with hashrange.serve() as server:
        design.create(SENSORS, server.url, False)
        assert server.database.execute("ListTables", {})["TableNames"] == ["sensor-management"]
    assert "sensor-management" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "db", "told"),
    [
        ({}, "aws", "aws: no region; name it: aws@eu-west-1"),
        ({"AWS_DEFAULT_REGION": "x"}, "http://", "Invalid endpoint: http://"),
        ({"AWS_PROFILE": "absent"}, "aws", "aws: The config profile (absent) could not be found"),
        ({}, "aws:absent@eu-west-1", "The config profile (absent) could not be found"),
    ],
)
def test_create_without_a_place(
    environment: dict[str, str], db: str, told: str, unconfigured: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        unconfigured.setenv(name, value)
    with pytest.raises(SystemExit, match=r"^hashrange: ") as ended:
        design.create(SENSORS, db, False)
    assert str(ended.value.code).endswith(told)


def test_create_looks_at_the_model_first(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no such file"):
        design.create(tmp_path / "absent.py", str(tmp_path / "a.db"), False)
    assert not (tmp_path / "a.db").exists()


def test_create_without_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(SystemExit, match=r"pip install 'hashrange\[boto3\]'"):
        design.create(SENSORS, "aws", False)
