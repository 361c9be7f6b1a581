"""Compacting a file and restoring a backup: completely or not at all, while nobody else has it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from hashrange.database.connecting import compact, restore
from hashrange.kv import Busy, CreateSpace, Damaged, Delete, DropSpace, Get, Put, StoreError
from hashrange.storage import SqliteStore

from .conftest import OpenStore

ROWS = 2_000
KEPT = 20
SPACE, DROPPED = 5, 6


def row(number: int, space: int = SPACE) -> Put:
    value = number.to_bytes(4, "big") * 250
    return Put(space, number.to_bytes(16, "big"), crc32(value).to_bytes(4, "big") + value)


def commit(store: SqliteStore, *writes: CreateSpace | DropSpace | Put | Delete) -> None:
    transaction = store.begin()
    transaction.write(writes)
    transaction.commit()


def fill(path: Path) -> None:
    """A file of 4 MB of which 20 rows are left, and a dropped space that is not purged yet."""
    store = SqliteStore(str(path))
    commit(store, CreateSpace(SPACE), CreateSpace(DROPPED))
    commit(store, *(row(n, space) for n in range(ROWS) for space in (SPACE, DROPPED)))
    commit(store, *(Delete(SPACE, row(n).key) for n in range(KEPT, ROWS)), DropSpace(DROPPED))
    store.close()


def assert_has_the_rows(path: Path) -> None:
    store = SqliteStore(str(path))
    assert list(store.verify()) == []
    snapshot = store.snapshot()
    keys = tuple((SPACE, row(n).key) for n in range(KEPT + 1))
    assert snapshot.read(Get(keys)) == [*(row(n).value for n in range(KEPT)), None]
    snapshot.close()
    store.close()


# ---- compact ----


def test_a_compacted_file_is_small_and_complete(path: Path) -> None:
    fill(path)
    before, after = compact(path)
    assert before > 4_000_000
    assert path.stat().st_size == after < 100_000
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert_has_the_rows(path)


def test_a_compact_backup_is_small_and_complete(
    path: Path, tmp_path: Path, open_store: OpenStore
) -> None:
    fill(path)
    store = open_store()
    store.backup(str(tmp_path / "small.db"), compact=True)
    store.backup(str(tmp_path / "large.db"))
    small, large = ((tmp_path / f"{name}.db").stat().st_size for name in ("small", "large"))
    assert small < large * 0.6, "the dropped space is still in it"
    assert_has_the_rows(tmp_path / "small.db")


@pytest.mark.parametrize("act", [compact, lambda path: restore("backup", path, replace=True)])
def test_a_file_in_use_is_left_alone(
    path: Path,
    open_store: OpenStore,
    act: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(path)
    monkeypatch.chdir(path.parent)
    store = open_store()
    store.backup("backup")
    program = "import sys\nfrom hashrange.storage import SqliteStore\n"
    program += "store = SqliteStore(sys.argv[1])\nprint(flush=True)\nsys.stdin.read()\n"
    store.close()
    content = path.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(Busy, match="another process has it open; stop the server first"):
            act(path)
        assert other.stdin
        other.stdin.close()
    assert path.read_bytes() == content
    act(path)
    assert_has_the_rows(path)


def test_nobody_opens_a_file_that_is_compacted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    program = "import sys\nfrom hashrange.storage import SqliteStore\n"
    program += "SqliteStore(sys.argv[1], busy_seconds=0)\n"
    said: list[str] = []

    def meanwhile(_connection: object) -> list[str]:
        command = [sys.executable, "-c", program, str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        said.append(ended.stderr.splitlines()[-1])
        return []

    monkeypatch.setattr("hashrange.storage.sqlite.maintenance.problems", meanwhile)
    compact(path)
    assert said == [
        f"hashrange.kv.Busy: {path}: another process holds the lock; try again when it is done"
    ]


def test_a_damaged_file_is_not_compacted(path: Path) -> None:
    fill(path)
    content = path.read_bytes()
    value = row(1).value
    assert content.count(value) >= 1
    damaged = content.replace(value, value[:-1] + b"!")
    path.write_bytes(damaged)
    with pytest.raises(Damaged, match="not compacted, because it is damaged"):
        compact(path)
    assert path.read_bytes() == damaged


@pytest.mark.deep
@pytest.mark.slow
def test_a_process_that_is_killed_while_it_compacts(path: Path) -> None:
    """At each of many writes and syncs: the file opens afterwards and has every row."""
    program = (
        "import os, sys\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "from disk import after, disk\n"
        "from hashrange.database.connecting import compact\n"
        "with disk() as the_disk:\n"
        "    stop = after(int(sys.argv[2]), lambda: os._exit(9))\n"
        "    the_disk.on_write = the_disk.on_sync = stop\n"
        "    compact(sys.argv[1])\n"
    )
    killed, source = 0, path.with_name("source.db")
    fill(source)
    for steps in (0, 1, 2, 3, 5, 8, 12, 17, 23, 30, 40, 60, 100):
        shutil.copy(source, path)
        command = [sys.executable, "-c", program, str(path), str(steps), str(Path(__file__).parent)]
        killed += subprocess.run(command, check=False, cwd=path.parent).returncode == 9
        assert_has_the_rows(path)
    assert killed >= 5


# ---- restore ----


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    fill(tmp_path / "source.db")
    store = SqliteStore(str(tmp_path / "source.db"))
    store.backup(str(tmp_path / "backup.db"))
    store.close()
    return tmp_path / "backup.db"


def test_a_backup_comes_back(path: Path, backup: Path) -> None:
    restore(backup, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert_has_the_rows(path)


def test_a_database_is_replaced_only_on_request(path: Path, backup: Path) -> None:
    store = SqliteStore(str(path))
    commit(store, CreateSpace(7))
    store.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        restore(backup, path)
    assert path.read_bytes() == content
    restore(backup, path, replace=True)
    assert_has_the_rows(path)


def test_the_log_of_a_replaced_database_is_not_applied(path: Path, backup: Path) -> None:
    program = (
        "import os, sys\n"
        "from hashrange.storage import SqliteStore\n"
        "from hashrange.kv import CreateSpace\n"
        "transaction = SqliteStore(sys.argv[1]).begin()\n"
        "transaction.write([CreateSpace(9)])\n"
        "transaction.commit()\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", program, path], check=False)
    assert Path(f"{path}-wal").stat().st_size > 0
    restore(backup, path, replace=True)
    assert not Path(f"{path}-wal").exists()
    assert_has_the_rows(path)


def test_a_damaged_backup_changes_nothing(path: Path, backup: Path) -> None:
    restore(backup, path)
    content = path.read_bytes()
    value = row(1).value
    backup.write_bytes(backup.read_bytes().replace(value, value[:-1] + b"!"))
    with pytest.raises(Damaged, match="not restored, because the copy is damaged"):
        restore(backup, path, replace=True)
    assert path.read_bytes() == content
    assert sorted(os.listdir(path.parent)) == ["backup.db", "source.db", path.name]


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"junk" * 2000, "not a hashrange database"), (b"", "an empty file; name a database")],
)
def test_another_file_is_no_backup(path: Path, tmp_path: Path, content: bytes, line: str) -> None:
    (tmp_path / "junk").write_bytes(content)
    with pytest.raises(Damaged, match=line):
        restore(tmp_path / "junk", path)
    assert not path.exists()


def test_a_database_in_use_is_no_backup(path: Path, backup: Path) -> None:
    store = SqliteStore(str(backup))
    commit(store, CreateSpace(8))
    with pytest.raises(StoreError, match="make a backup of it with hashrange backup"):
        restore(backup, path)
    store.close()


def test_a_log_without_its_database_is_in_the_way(path: Path, backup: Path) -> None:
    Path(f"{path}-wal").write_bytes(b"left")
    with pytest.raises(StoreError, match="the log of another database is in the way"):
        restore(backup, path)
    assert not path.exists()


def test_a_file_that_is_no_database_is_not_replaced(path: Path, backup: Path) -> None:
    path.write_bytes(b"precious" * 1000)
    with pytest.raises(Damaged, match="move it and its -wal file away first"):
        restore(backup, path, replace=True)
    assert path.read_bytes() == b"precious" * 1000
