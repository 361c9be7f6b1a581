"""`hashrange design migrate` from the plan to the end, on a database file."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

import hashrange
from hashrange.tools.cli.app import run

from ..test_examples import EXAMPLES

pytestmark = pytest.mark.slow

MODELS = [str(EXAMPLES / "migrate" / f"sensors_by_{name}.py") for name in ("day", "time")]


class Ended(NamedTuple):
    status: int
    out: str
    error: str


Migrate = Callable[..., Ended]


@pytest.fixture
def migrate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Migrate:
    """Run a command in this process."""
    settings = ["--lease", "0", "--signature-life", "0"]

    def ended(command: str, file: Path, *more: str) -> Ended:
        line = ["hashrange", "design", "migrate", command, *MODELS, str(file), *settings, *more]
        monkeypatch.setattr(sys, "argv", line)
        code: int | str | None = None
        try:
            run()
        except SystemExit as exit:
            code = exit.code
        said = capsys.readouterr()
        if isinstance(code, str):
            return Ended(1, said.out, f"{said.err}{code}\n")
        return Ended(code or 0, said.out, said.err)

    return ended


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


def test_the_commands_take_a_table_to_its_new_model(file: Path, migrate: Migrate) -> None:
    planned = json.loads(migrate("plan", file, "--json", "--rate", "10").out)
    assert [step["phase"] for step in planned["steps"]][:3] == ["expand", "dual", "backfill"]
    assert planned["steps"][2]["units"] == 160
    shown = migrate("start", file, "--dry-run").out.splitlines()
    assert {json.loads(line)["Operation"] for line in shown} == {"TransactWriteItems"}
    assert migrate("status", file).out == "old: complete\n"
    assert migrate("start", file).out == "expand: complete\n"
    for phase in ("dual", "backfill", "verify", "read-new", "new"):
        assert migrate("advance", file).out.startswith(f"{phase}: complete")
    assert migrate("verify", file).out == "0 items differ\n"
    refused = migrate("back", file)
    assert (refused.status, refused.error.count("\n")) == (1, 1)
    assert "reverse migration" in refused.error
    assert migrate("advance", file).out == "contracting: complete, 40 items\n"
    assert json.loads(migrate("finish", file, "--json").out)["phase"] == "done"


def test_mistakes_get_one_line(file: Path, migrate: Migrate) -> None:
    for command in ("advance", "back", "pause", "resume", "verify", "finish"):
        done = migrate(command, file)
        assert (done.status, done.error.count("\n")) == (1, 1), done.error
        assert "begin with `start`" in done.error
    assert "not a number" in migrate("plan", file, "--rate", "x").error
    assert "no such file" in migrate("status", file.parent / "other.db").error
