"""The programs of docs/explanation/compared.md print what the page says."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

pytestmark = pytest.mark.foreign

PROGRAMS = Path(__file__).parents[2] / "examples" / "compared"
SAID = ["building: 1 2", "r1: 2", "r2: 1", "r2 after leaving:"]


def test_hashrange(run: Run) -> None:
    assert run(PROGRAMS, sys.executable, "sensors_hashrange.py") == SAID


def test_pynamodb(run: Run) -> None:
    pytest.importorskip("pynamodb", reason="make test-python-clients has it")
    forgotten = "r1 with a forgotten key: 1 2"
    assert run(PROGRAMS, sys.executable, "sensors_pynamodb.py") == [SAID[0], forgotten, *SAID[1:]]


def test_electrodb(run: Run, build: Callable[..., Path]) -> None:
    folder = build("javascript", "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    shutil.copy(PROGRAMS / "sensors_electrodb.mjs", folder)
    assert run(folder, "node", "sensors_electrodb.mjs", env={"NODE_NO_WARNINGS": "1"}) == SAID


def test_the_page_shows_the_model() -> None:
    page = (PROGRAMS.parents[1] / "docs" / "explanation" / "compared.md").read_text()
    source = (PROGRAMS / "sensors_hashrange.py").read_text()
    model = source[source.index("class Sensor(") : source.index("class Sensors(")].strip()
    assert model in page
