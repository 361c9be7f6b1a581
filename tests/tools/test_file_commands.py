"""hashrange compact, restore and backup --compact, each in a process of its own."""

from pathlib import Path

import pytest
from command_line import command_line as run
from programs import fault, path, serving

__all__ = ["path"]  # a fixture
pytestmark = pytest.mark.slow


def test_compact(path: Path) -> None:
    ended = run("compact", path)
    size = path.stat().st_size
    assert ended.returncode == 0
    assert ended.stdout.startswith(f"{path}: ")
    assert ended.stdout.endswith(f" bytes, now {size:,}\n")
    assert run("check", path).returncode == 0


def test_a_served_file_is_not_compacted_or_replaced(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with serving(path):
        assert run("backup", path, copy, "--compact").returncode == 0
        line = f"{path}: another process has it open; stop the server first"
        assert fault("compact", path) == line
        assert fault("restore", copy, path, "--replace") == line


def test_restore(path: Path, tmp_path: Path) -> None:
    copy, restored = tmp_path / "copy.db", tmp_path / "restored.db"
    assert run("backup", path, copy).returncode == 0
    assert run("restore", copy, restored).stdout == f"restored {restored} from {copy}\n"
    assert run("check", restored).returncode == 0
    assert fault("restore", copy, restored).startswith(f"{restored}: exists already; ")
    assert run("restore", copy, restored, "--replace").returncode == 0


@pytest.mark.parametrize("arguments", [("compact",), ("backup", "copy.db"), ("restore", "o.db")])
def test_an_address_is_refused_without_its_password(arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    line = fault(command, "postgresql://me:secret@127.0.0.1:1/app", *rest)
    assert line.startswith("postgresql://me@127.0.0.1:1/app: not a file; ")


@pytest.mark.parametrize("command", ["check", "inspect", "serve", "compact", "distribute"])
def test_the_address_of_a_server_is_not_a_file(command: str) -> None:
    line = fault(command, "http://127.0.0.1:8000")
    assert line.startswith("http://127.0.0.1:8000 is the address of a server; ")


@pytest.mark.parametrize("arguments", [("compact",), ("restore", "other.db")])
def test_a_missing_file(arguments: tuple[str, ...], tmp_path: Path) -> None:
    command, *others = arguments
    missing = tmp_path / "none.db"
    assert fault(command, missing, *others) == f"{missing}: no such file"
