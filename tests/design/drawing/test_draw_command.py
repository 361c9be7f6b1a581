"""`hashrange design draw`: files, views, real tables, and errors of one line."""

from pathlib import Path

import pytest

import hashrange
from hashrange.tools.cli.design import draw as draw_command
from hashrange.tools.cli.design.draw import draw

from ..test_examples import EXAMPLES, example

SENSORS = EXAMPLES / "sensors.py"


@pytest.fixture
def connected(database: hashrange.Database, monkeypatch: pytest.MonkeyPatch) -> hashrange.Database:
    """The command connects to a database in this process."""
    client = database.boto3_session().client("dynamodb")
    monkeypatch.setattr(draw_command, "client", lambda endpoint, region: client)
    return database


def run(model: Path, view: str | None = None, output: Path | None = None, table: str = "") -> None:
    draw(model, view, output, table or None, "http://localhost" if table else None, None)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object, **named: object) -> str:
    """The line with which the command ends; nothing is written on stdout."""
    with pytest.raises(SystemExit) as ended:
        run(*arguments, **named)  # type: ignore[arg-type]
    assert capsys.readouterr().out == ""
    message = str(ended.value)
    assert message.startswith("hashrange: ")
    assert "\n" not in message
    return message


def test_svg_and_html(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(SENSORS, "GSI3")
    assert capsys.readouterr().out.startswith("<svg")
    run(SENSORS, "entities", tmp_path / "e.svg")
    assert (tmp_path / "e.svg").read_text().startswith("<svg")
    run(SENSORS, None, tmp_path / "all.html")
    assert (tmp_path / "all.html").read_text().startswith("<!doctype html>")
    run(EXAMPLES / "organisations.py", "projects:by_owner")
    assert "by_owner" in capsys.readouterr().out


def test_a_real_table(
    connected: hashrange.Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sensors = example("sensors")
    sensors.table.create(connected)
    db = sensors.table.open(sensors.Sensors, connected)
    db.put(sensors.Building(building_id="headquarters", name="HQ"))
    run(SENSORS, "table", None, "sensor-management")
    assert "building#headquarters" in capsys.readouterr().out
    run(SENSORS, None, tmp_path / "all.html", "sensor-management")
    assert "building#headquarters" in (tmp_path / "all.html").read_text()


def test_bad_input(
    connected: hashrange.Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.svg"
    assert "did you mean 'GSI3'" in refusal(capsys, SENSORS, "GSI33", out)
    assert "organisations:table" in refusal(capsys, EXAMPLES / "organisations.py", None, out)
    assert "no table 'x'" in refusal(capsys, EXAMPLES / "organisations.py", "x:table", out)
    assert "leave out --view" in refusal(capsys, SENSORS, "table", tmp_path / "o.html")
    assert "no table 'absent'" in refusal(capsys, SENSORS, None, out, table="absent")
    chat = example("chat").table
    chat.create(connected)
    assert "'chat' differs" in refusal(capsys, SENSORS, None, out, table="chat")
    broken = tmp_path / "broken.py"
    broken.write_text("import absent_module")
    assert "broken.py, line 1" in refusal(capsys, broken, None, out)
    missing = tmp_path / "missing" / "o.svg"
    assert "create it first" in refusal(capsys, SENSORS, None, missing)
    assert ".svg or .html" in refusal(capsys, SENSORS, None, tmp_path / "o.png")
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["broken.py"]
