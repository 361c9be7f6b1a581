"""The commands. Those that serve run in a process of their own."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError
from command_line import command_line as run
from programs import fault, path, run_apart, serving

import hashrange
from hashrange.tools.cli import app

__all__ = ["path"]  # a fixture
pytestmark = pytest.mark.slow


class TestServe:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_second_start_finds_the_data(self, path: Path, number: signal.Signals) -> None:
        with serving(path) as first:
            assert str(path) in first.greeting
            item = {"pk": {"S": "a"}}
            first.client().put_item(TableName="Things", Item=item)
            assert first.end(number) == (0, "")
        with serving(path, "--durability", "relaxed") as second:
            assert second.client().get_item(TableName="Things", Key=item)["Item"] == item

    def test_in_memory(self) -> None:
        with serving() as server:
            assert "in memory" in server.greeting
            assert server.client().list_tables()["TableNames"] == []

    def test_an_idle_client_does_not_delay_the_end(self) -> None:
        with serving() as server, socket.create_connection(("127.0.0.1", server.port)):
            client = server.client()
            client.list_tables()
            assert server.end(signal.SIGTERM) == (0, "")
            with pytest.raises(EndpointConnectionError):
                client.list_tables()

    def test_each_request_is_logged_when_asked(self) -> None:
        with serving("--access-log") as server:
            server.client().list_tables()
            _, said = server.end(signal.SIGINT)
        [line] = said.splitlines()
        assert "INFO hashrange.access operation=ListTables table= status=200 " in line

    def test_its_memory(self) -> None:
        with serving() as server:
            server.client().list_tables()
            status = Path(f"/proc/{server.process.pid}/status")
            if not status.exists():
                pytest.skip("this system tells no memory in /proc")
            used = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        assert used
        assert int(used[1]) < 60 * 1024

    def test_a_port_in_use_is_noticed_before_a_file_is_made(self, tmp_path: Path) -> None:
        path = tmp_path / "new.db"
        with serving() as server:
            assert fault("serve", path, "--port", server.port) == (
                f"port {server.port} of 127.0.0.1 is in use; choose another port"
            )
        assert not path.exists()

    def test_another_address(self, tmp_path: Path) -> None:
        path = tmp_path / "new.db"
        assert "0.0.0.0 is not a loopback address" in fault("serve", path, "--host", "0.0.0.0")
        assert not path.exists()

    def test_a_missing_directory(self, tmp_path: Path) -> None:
        assert str(tmp_path / "none") in fault("serve", tmp_path / "none" / "app.db", "--port", 0)

    def test_a_directory(self, tmp_path: Path) -> None:
        assert str(tmp_path) in fault("serve", tmp_path, "--port", 0)

    @pytest.mark.parametrize(
        "content", [b"not a database at all", b"SQLite format 3\0" + b"x" * 99]
    )
    def test_a_foreign_file(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "foreign"
        path.write_bytes(content)
        assert str(path) in fault("serve", path, "--port", 0)
        assert path.read_bytes() == content

    def test_a_database_of_another_program(self, tmp_path: Path) -> None:
        path = tmp_path / "theirs.db"
        with sqlite3.connect(path) as theirs:
            theirs.execute("CREATE TABLE t (a)")
        theirs.close()
        content = path.read_bytes()
        assert str(path) in fault("serve", path, "--port", 0)
        assert path.read_bytes() == content

    def test_a_file_that_may_not_be_written(self, path: Path) -> None:
        path.chmod(0o400)
        if os.access(path, os.W_OK):
            pytest.skip("this user may write everything")
        assert str(path) in fault("serve", path, "--port", 0)

    def test_an_invalid_value(self) -> None:
        ended = run("serve", "--durability", "some")
        assert ended.returncode == 2
        assert "full" in ended.stderr


class TestBackup:
    def test_a_backup_is_complete(self, path: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy.db"
        with serving(path):
            assert run("backup", path, copy).returncode == 0
        with hashrange.connect(copy) as database:
            assert database.execute("Scan", {"TableName": "Things"})["Count"] == 1
        assert run("check", copy).returncode == 0

    def test_an_existing_file_is_not_overwritten(self, path: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy.db"
        copy.write_bytes(b"precious")
        assert str(copy) in fault("backup", path, copy)
        assert copy.read_bytes() == b"precious"

    def test_a_missing_file(self, tmp_path: Path) -> None:
        missing = tmp_path / "none.db"
        assert fault("backup", missing, tmp_path / "copy.db") == f"{missing}: no such file"
        assert not missing.exists()

    def test_a_missing_directory(self, path: Path, tmp_path: Path) -> None:
        assert str(tmp_path / "none") in fault("backup", path, tmp_path / "none" / "copy.db")


class TestCheck:
    def test_a_sound_database(self, path: Path) -> None:
        ended = run("check", path)
        assert (ended.returncode, ended.stdout) == (0, f"{path}: no problem found\n")

    def test_a_damaged_row(self, path: Path) -> None:
        content = path.read_bytes()
        assert content.count(b'"kept"') == 1
        path.write_bytes(content.replace(b'"kept"', b'"kepd"'))
        ended = run("check", path)
        assert ended.returncode == 1
        assert ended.stdout
        assert re.fullmatch(rf"hashrange: {path}: \d problems? found\n", ended.stderr)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        missing = tmp_path / "none.db"
        assert fault("check", missing) == f"{missing}: no such file"
        assert not missing.exists()

    def test_a_directory(self, tmp_path: Path) -> None:
        assert fault("check", tmp_path) == f"{tmp_path}: is a directory; name a file"


def test_the_version() -> None:
    assert re.fullmatch(r"hashrange \d+\.\d+\.\d+\n", run("--version").stdout)


def test_ctrl_c_while_modules_are_imported() -> None:
    program = (
        "import sys; from hashrange.tools.cli import main\n"
        "class Interrupted:\n"
        "    def find_spec(self, *_): raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted()); main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (130, "")


def test_each_command_is_added_by_its_module() -> None:
    for command in app.COMMANDS:
        [choices] = [each.choices for each in app._parser([command])._actions if each.choices]
        assert command in choices
    [choices] = [each.choices for each in app._parser()._actions if each.choices]
    assert list(choices) == list(app.COMMANDS)


def test_help_names_the_commands() -> None:
    said = run().stdout
    assert all(name in said for name in ("serve", "backup", "check", "design"))
    assert "examples:\n  hashrange serve app.db  " in said


@pytest.mark.parametrize("command", ["", "explain", "import", "design cost"])
def test_help_is_printed_in_a_poorer_locale(command: str) -> None:
    ended = run_apart(*command.split(), "--help", PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\\u" not in ended.stdout


@pytest.mark.parametrize(
    "line", ["serve --prt", "backup a.db b.db c.db", "design --prt", "design plan m.py --prt"]
)
def test_an_unknown_argument_shows_the_usage_of_its_command(line: str) -> None:
    *words, unknown = line.split()
    ended = run(*words, unknown)
    name = " ".join(word for word in words if word.isalpha())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"usage: hashrange {name} [-h]")
    assert ended.stderr.endswith(f"hashrange {name}: error: unrecognized arguments: {unknown}\n")
