"""`hashrange design draw`: files, views, real tables, and errors of one line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import hashrange
from hashrange.tools.cli.design.draw import draw

from ..test_examples import EXAMPLES, example, served

SENSORS = EXAMPLES / "sensors.py"


@pytest.fixture
def endpoint(database: hashrange.Database) -> Iterator[str]:
    with served(database) as port:
        yield f"http://127.0.0.1:{port}"


def run(
    model: Path,
    view: str | None = None,
    output: Path | None = None,
    table: str | None = None,
    endpoint: str | None = None,
) -> None:
    draw(model, view, output, table, endpoint, None)


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
    database: hashrange.Database,
    endpoint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sensors = example("sensors")
    sensors.table.create(database)
    db = sensors.table.open(sensors.Sensors, database)
    db.put(sensors.Building(building_id="headquarters", name="HQ"))
    run(SENSORS, "table", None, "sensor-management", endpoint)
    assert "building#headquarters" in capsys.readouterr().out
    run(SENSORS, None, tmp_path / "all.html", "sensor-management", endpoint)
    assert "building#headquarters" in (tmp_path / "all.html").read_text()


def test_bad_input(
    database: hashrange.Database,
    endpoint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out.svg"
    assert "did you mean 'GSI3'" in refusal(capsys, SENSORS, "GSI33", out)
    assert "organisations:table" in refusal(capsys, EXAMPLES / "organisations.py", None, out)
    assert "no table 'x'" in refusal(capsys, EXAMPLES / "organisations.py", "x:table", out)
    assert "leave out --view" in refusal(capsys, SENSORS, "table", tmp_path / "o.html")
    assert "no table 'absent'" in refusal(capsys, SENSORS, None, out, "absent", endpoint)
    chat = example("chat").table
    chat.create(database)
    assert "'chat' does not fit the model" in refusal(capsys, SENSORS, None, out, "chat", endpoint)
    broken = tmp_path / "broken.py"
    broken.write_text("import absent_module")
    assert "broken.py, line 1" in refusal(capsys, broken, None, out)
    missing = tmp_path / "missing" / "o.svg"
    assert "create it first" in refusal(capsys, SENSORS, None, missing)
    assert ".svg or .html" in refusal(capsys, SENSORS, None, tmp_path / "o.png")
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["broken.py"]
