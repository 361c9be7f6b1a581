"""hashrange serve --archive, restore and archive, each in a process of its own."""

import re
from pathlib import Path

import pytest
from command_line import command_line as run
from programs import fault, path
from running_workers import client, create, metric, workers
from waiting import wait_until

import hashrange

__all__ = ["path"]  # a fixture
pytestmark = pytest.mark.slow


def keys(path: Path) -> set[str]:
    """Those of the items; none if the file is older than the table."""
    with hashrange.connect(path) as database:
        if not database.execute("ListTables", {})["TableNames"]:
            return set()
        answer = database.execute("Scan", {"TableName": "Things"})
    return {item["pk"]["S"] for item in answer["Items"]}


def test_a_served_file_is_restored_as_of_a_moment(tmp_path: Path) -> None:
    place, served = tmp_path / "archive", tmp_path / "app.db"
    with workers(served, "--archive", place) as server:
        one = client(server)
        create(one, "Things")
        one.put_item(TableName="Things", Item={"pk": {"S": "first"}})
        wait_until(lambda: list(place.glob("snapshots/*/*")))
        line = run("archive", "list", place).stdout
        found = re.search(r"any moment from (\S+) to (\S+), \d+ commits", line)
        assert found
        wait_until(lambda: metric(server, "hashrange_archive_lag_seconds") < 3)
        assert metric(server, "hashrange_archive_failures") == 0
        one.put_item(TableName="Things", Item={"pk": {"S": "second"}})
    assert run("archive", "check", place).returncode == 0
    early, late = tmp_path / "early.db", tmp_path / "late.db"
    ended = run("restore", place, early, "--at", found[2])
    assert ended.stdout.startswith(f"restored {early} from {place}: {found[2]} (generation 1, ")
    assert run("restore", place, late).returncode == 0
    assert keys(late) == {"first", "second"}
    assert keys(early) <= {"first"}
    assert fault("restore", place, late).startswith(f"{late}: exists already; ")
    assert fault("restore", place, "x.db", "--at", "2000-01-01").startswith(
        f"{place}: 2000-01-01T00:00:00.000Z is too early; "
    )


def test_what_cannot_be_restored_is_one_line(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    (tmp_path / "empty").mkdir()
    assert "there is no archive here" in fault("restore", tmp_path / "empty", target)
    assert "there is nothing to restore" in fault("archive", "list", tmp_path / "empty")
    for words in (("postgresql://h/n", target), (path, "postgresql://h/n")):
        assert "pgBackRest or WAL-G" in fault("restore", *words)
    assert "--at is only for an archive" in fault("restore", path, target, "--at", "2030-01-01")
    assert "from an archive, DB must be a new file" in fault("restore", tmp_path, path, "--replace")
    assert run("restore", path, target, "--at", "soon").returncode == 2
    assert not target.exists()


def test_an_archive_that_cannot_be_used_is_one_line(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    line = fault("serve", path, "--port", 0, "--archive", tmp_path / "file")
    assert line.startswith(f"the archive cannot be used: {tmp_path}/file: ")
    assert "needs a database file" in fault("serve", "--port", 0, "--archive", tmp_path)
    assert run("serve", path, "--archive", tmp_path, "--archive-days", "0").returncode == 2
