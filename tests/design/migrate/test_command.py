"""`hashrange design migrate` from the plan to the end, on a database file."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from command_line import command_line

import hashrange

from ..test_examples import EXAMPLES

pytestmark = pytest.mark.slow

MODELS = [str(EXAMPLES / "migrate" / f"sensors_by_{name}.py") for name in ("day", "time")]


def migrate(command: str, file: Path, *more: str) -> CompletedProcess[str]:
    """Run a command in this process."""
    settings = ["--lease", "0", "--signature-life", "0"]
    return command_line("design", "migrate", command, *MODELS, file, *settings, *more)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(EXAMPLES / "migrate"))
    import sensors_by_day as model

    path = tmp_path / "sensors.db"
    first = datetime(2026, 1, 1, tzinfo=UTC)
    with hashrange.connect(path) as database:
        model.table.create(database)
        db = model.table.open(model.Measurements, database)
        for hour in range(40):
            at = first + timedelta(hours=hour)
            db.put(model.Measurement(sensor_id="s", at=at, value=Decimal(hour)))
    return path


def test_the_commands_take_a_table_to_its_new_model(file: Path) -> None:
    planned = json.loads(migrate("plan", file, "--json", "--rate", "10").stdout)
    assert [step["phase"] for step in planned["steps"]][:3] == ["expand", "dual", "backfill"]
    assert planned["steps"][2]["units"] == 160
    shown = migrate("start", file, "--dry-run").stdout.splitlines()
    assert {json.loads(line)["Operation"] for line in shown} == {"TransactWriteItems"}
    assert migrate("status", file).stdout == "old: complete\n"
    assert migrate("start", file).stdout == "expand: complete\n"
    for phase in ("dual", "backfill", "verify", "read-new", "new"):
        assert migrate("advance", file).stdout.startswith(f"{phase}: complete")
    assert migrate("verify", file).stdout == "0 items differ\n"
    refused = migrate("back", file)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "reverse migration" in refused.stderr
    assert migrate("advance", file).stdout == "contracting: complete, 40 items\n"
    assert json.loads(migrate("finish", file, "--json").stdout)["phase"] == "done"


def test_mistakes_get_one_line(file: Path) -> None:
    for command in ("advance", "back", "pause", "resume", "verify", "finish"):
        done = migrate(command, file)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "begin with `start`" in done.stderr
    assert "not a number" in migrate("plan", file, "--rate", "x").stderr
    assert "no such file" in migrate("status", file.parent / "other.db").stderr
