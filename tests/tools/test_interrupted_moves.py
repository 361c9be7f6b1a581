"""An export or import that is ended goes on where it was, and nothing is half written."""

import json
import resource
import signal
import subprocess
import time
from pathlib import Path

import drawn_items
import pytest
from moving_data import Run, content, fault, fill, folder, numbered, run
from programs import command
from waiting import SECONDS_MAX

import hashrange

__all__ = ["folder", "run"]  # fixtures
pytestmark = pytest.mark.deep

MANY = 6_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.db"
    fill(str(path), [numbered(number) | {"v": {"S": "x" * 2000}} for number in range(MANY)])
    return path


@pytest.mark.parametrize(("by", "name"), [(signal.SIGKILL, "a.jsonl"), (signal.SIGINT, "a.csv")])
def test_an_export_goes_on_where_it_was_ended(
    by: signal.Signals, name: str, many: Path, folder: Path, run: Run
) -> None:
    arguments = ("export", many, "table", "-o", name, "--rate", 300)
    for _ in range(2):
        _end(by, arguments, Path(f"{name}.progress"))
    assert not Path(name).exists()
    ended = run("export", many, "table", "-o", name)
    assert ended.status == 0, ended.error
    assert "before the interruption" in ended.out
    assert run("import", "b.db", "table", name, "--create").status == 0
    assert content("b.db") == content(str(many))
    assert sorted(path.name for path in Path().iterdir() if path.name.startswith("a.")) == [
        name,
        f"{name}.table.json",
    ]


def _end(by: signal.Signals, arguments: tuple[object, ...], progress: Path) -> None:
    """Run a command until it has come further, then end it by a signal."""
    before = _done(progress)
    with subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while _done(progress) <= before:
            assert process.poll() is None, "it ended before it could be interrupted"
            time.sleep(0.01)
        process.send_signal(by)
        _, error = process.communicate(timeout=SECONDS_MAX)
    if by == signal.SIGINT:
        assert process.returncode == 130
        assert error == "hashrange: interrupted; run the same command again to continue\n"


def _done(progress: Path) -> int:
    try:
        return int(json.loads(progress.read_bytes())["state"]["items"])
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize(
    ("by", "name"),
    [(signal.SIGKILL, "a.jsonl"), (signal.SIGINT, "a.csv.gz"), (signal.SIGKILL, "folder")],
)
def test_an_import_goes_on_where_it_was_ended(
    by: signal.Signals, name: str, many: Path, folder: Path, run: Run
) -> None:
    chosen = ["--format", "s3-export"] if name == "folder" else []
    assert run("export", many, "table", "-o", name, *chosen).status == 0
    arguments = ("import", "b.db", "table", name, "--create", "--rate", 2500)
    for _ in range(2):
        _end(by, arguments, Path(f"{name}.progress"))
    ended = run("import", "b.db", "table", name)
    assert ended.status == 0, ended.error
    assert "before the interruption" in ended.out
    assert not Path(f"{name}.progress").exists()
    assert content("b.db") == content(str(many))


def test_another_transfer_does_not_go_on_from_there(many: Path, folder: Path, run: Run) -> None:
    arguments = ("export", many, "table", "-o", "a.jsonl", "--rate", 300)
    _end(signal.SIGINT, arguments, Path("a.jsonl.progress"))
    fill("b.db", [])
    line = fault(run("export", "b.db", "table", "-o", "a.jsonl"))
    assert (
        line == "a.jsonl.progress: belongs to another transfer; finish that one, or remove the file"
    )


def test_a_table_that_is_deleted_underneath(folder: Path) -> None:
    with hashrange.serve() as server:
        client = server.database.boto3_session().client("dynamodb")
        client.create_table(**drawn_items.TABLE)
        lines = [json.dumps({"Item": numbered(number)}) for number in range(40_000)]
        Path("a.jsonl").write_text("\n".join(lines))
        arguments = ("import", server.url, "table", "a.jsonl", "--parallel", 1)
        with subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            while client.scan(TableName="table", Limit=1)["Count"] == 0:
                time.sleep(0.01)
            client.delete_table(TableName="table")
            out, error = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, out) == (1, "")
    assert "ResourceNotFoundException" in error
    assert error.count("\n") == 1


def with_a_small_disk(*arguments: object) -> str:
    """The line that a command prints if no file may become larger than 400 KB."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    ended = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
        preexec_fn=limit,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    [line] = [line for line in ended.stderr.splitlines() if line.startswith("hashrange: ")]
    return line


def test_a_full_disk_ends_an_import_at_once(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(number) | {"v": {"S": "x" * 5000}} for number in range(200)])
    assert run("export", "a.db", "table", "-o", "a.jsonl").status == 0
    began = time.monotonic()
    assert "b.db" in with_a_small_disk("import", "b.db", "table", "a.jsonl", "--create")
    failed = time.monotonic()
    subprocess.run(command("import", "b.db", "table", "a.jsonl", "--create"), check=True)
    assert failed - began < 10 * (time.monotonic() - failed)
    assert content("b.db") == content("a.db")


def test_a_full_disk_leaves_nothing_half_written(folder: Path, run: Run) -> None:
    fill("a.db", [numbered(number) | {"v": {"S": "x" * 5000}} for number in range(200)])
    assert "File too large" in with_a_small_disk("export", "a.db", "table", "-o", "b.csv")
    assert not Path("b.csv").exists()
    assert run("export", "a.db", "table", "-o", "b.csv").status == 0
    assert run("import", "b.db", "table", "b.csv", "--create").status == 0
    assert content("b.db") == content("a.db")
