"""Prove, sample, create, imports, and the command line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line

import hashrange
from hashrange import design as st
from hashrange.design.tools.create import TableDiffers

from ..models import GET_A, A, item, model, patterns
from ..test_examples import EXAMPLES, example

pytestmark = pytest.mark.slow

TABLES = [
    ("organisations", "projects"),
    ("orders", "table"),
    ("sensors", "table"),
    ("animals", "table"),
    ("chat", "table"),
]
NOT_IMPORTED = (
    *("apsw", "argparse", "asyncio", "boto3", "botocore", "difflib", "httptools", "rich", "uvloop"),
    *("hashrange.runtime", "hashrange.storage", "hashrange.database", "hashrange.expressions"),
)


@pytest.mark.parametrize(("name", "attribute"), TABLES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_every_pattern_of_the_examples_is_proved(name: str, attribute: str, seed: int) -> None:
    table = getattr(example(name), attribute)
    with hashrange.connect() as database:
        proof = st.prove(table, database, seed=seed)
    assert proof.differences == []
    assert set(proof.asked) >= set(table.plans)
    assert proof.items > 0


def test_prove_finds_a_wrong_answer() -> None:
    """An item under a wrong key is missing from every result."""
    table = model(A + patterns("def all(self, id: str) -> st.Query[A]: ..."))

    class Meddling:
        def __init__(self, database: hashrange.Database) -> None:
            self.database = database

        def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
            if operation == "PutItem":
                payload["Item"]["pk"]["S"] += "0"
            return self.database.execute(operation, payload)

    with hashrange.connect() as database:
        assert st.prove(table, Meddling(database)).differences


def test_samples_respect_parents_and_repeat() -> None:
    sensors = example("sensors")
    items: list[Any] = [*st.sample(sensors.table, seed=3)]
    assert items == st.sample(sensors.table, seed=3)
    buildings = {i.building_id for i in items if type(i) is sensors.Building}
    floors = {(i.building_id, i.floor_id) for i in items if type(i) is sensors.Floor}
    rooms = [i for i in items if type(i) is sensors.Room]
    assert rooms
    assert {b for b, _ in floors} <= buildings
    assert {(r.building_id, r.floor_id) for r in rooms} <= floors


def test_create_reports_each_difference(database: hashrange.Database) -> None:
    table = model(A + patterns(GET_A))
    assert table.create(database) is True
    assert table.create(database) is False
    index = item("A", "'a#{id}', 'info'", "id: st.Slug", "i = st.index('GSI1', 'x#{id}')")
    with pytest.raises(TableDiffers, match="there is no index GSI1"):
        model(index + patterns()).create(database)
    other = model(A + patterns(GET_A, table=", keys=('hash', 'range')"))
    with pytest.raises(TableDiffers, match="keyed by pk"):
        other.create(database)


def test_importing_loads_neither_server_nor_cli_nor_driver() -> None:
    script = "import hashrange.design, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "hashrange.design.table" in loaded
    assert [name for name in loaded if name.startswith(NOT_IMPORTED)] == []


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return command_line("design", *words)


def test_the_command_line(tmp_path: Path) -> None:
    sensors = str(EXAMPLES / "sensors.py")
    assert "Get building info" in command("plan", sensors).stdout
    assert command("plan", sensors, "--format", "markdown").stdout.startswith("| Access pattern")
    assert "K16 warning" in command("lint", sensors).stdout
    assert command("lint", sensors).returncode == 0
    assert "0 differences" in command("prove", sensors).stdout
    assert command("rule", "K05").stdout.startswith("K05")
    assert command("rule", "k5").stdout.startswith("K05")
    unknown = command("rule", "K055")
    assert (unknown.returncode, "did you mean" in unknown.stderr) == (1, True)
    refused = tmp_path / "refused.py"
    refused.write_text(
        "from typing import Protocol\nfrom hashrange import design as st\n"
        + A
        + patterns("def by_x(self, x: str) -> st.Query[A]: ...")
    )
    assert command("lint", str(refused)).returncode == 1
    broken = tmp_path / "broken.py"
    broken.write_text("from hashrange import design as st\n" + item("A", "'{x'", "x: str"))
    broken.write_text(broken.read_text() + "table = st.Table('app', A)\n")
    told = command("plan", str(broken))
    assert (told.returncode, told.stderr.count("\n")) == (1, 1)
    assert "broken.py" in told.stderr
    nowhere = command("create", sensors, "http://127.0.0.1:9")
    assert (nowhere.returncode, nowhere.stderr.count("\n")) == (1, 1)
    ignoring = tmp_path / "ignoring.py"
    ignoring.write_text(
        "from typing import Protocol\nfrom hashrange import design as st\n"
        + A
        + patterns(GET_A, table=", ignore=[st.ignore('K99', 'A', reason='none')]")
    )
    told = command("lint", str(ignoring))
    assert (told.returncode, told.stderr.count("\n")) == (1, 1)
    assert "did you mean" in told.stderr
