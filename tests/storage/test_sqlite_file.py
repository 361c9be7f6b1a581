"""The life of a file: created, opened again, refused, backed up, checked."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from hashrange.kv import (
    SYSTEM_SPACE,
    Add,
    Append,
    CreateSpace,
    Damaged,
    Dropped,
    DropSpace,
    Put,
    Range,
    StoreError,
)
from hashrange.storage import SqliteStore
from hashrange.storage.sqlite import format as file_format
from hashrange.storage.sqlite import maintenance
from hashrange.storage.sqlite.snapshot import SqliteSnapshot
from hashrange.testing.store_access import commit, counted, keys, read, row
from hashrange.testing.store_model import value_of

from .conftest import OpenStore


def test_a_second_opening_finds_everything(open_store: OpenStore) -> None:
    first = open_store()
    commit(first, CreateSpace(5), CreateSpace(6), Put(5, b"a", value_of(1)), Add(b"n", 3))
    commit(first, Append(5, 0, b"l", value_of(2)), DropSpace(6))
    first.close()
    second = open_store()
    assert (counted(second, b"n"), row(second, (5, b"a"))) == (3, value_of(1))
    assert read(second, Dropped()) == [6]
    commit(second, Append(5, 0, b"l", value_of(2)))
    one, two = keys(read(second, Range(5, b"l", b"m")))
    assert one < two


def test_closing_leaves_one_file(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    commit(store, Put(SYSTEM_SPACE, b"a", value_of(1)))
    store.close()
    store.close()
    assert os.listdir(path.parent) == [path.name]
    with pytest.raises(StoreError, match="closed"):
        row(store, (SYSTEM_SPACE, b"a"))
    with pytest.raises(StoreError, match="closed"):
        store.begin()


def test_loading_the_memory_store_does_not_load_sqlite() -> None:
    program = "import sys; from hashrange.storage import MemoryStore; print('apsw' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"


# ---- files that are refused, and left as they were ----


def another_program(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (n)")
    connection.close()


def newer_program(path: Path) -> None:
    SqliteStore(str(path)).close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", file_format.VERSION + 1)
    connection.close()


def not_sqlite(path: Path) -> None:
    path.write_text("Dear diary, ")


def not_sqlite_and_long(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def half_a_header(path: Path) -> None:
    SqliteStore(str(path)).close()
    path.write_bytes(path.read_bytes()[:50])


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (another_program, "database of another program"),
        (newer_program, "install a newer one"),
        (not_sqlite, "not a hashrange database"),
        (not_sqlite_and_long, "not a hashrange database"),
        (half_a_header, "is damaged"),
    ],
)
def test_a_foreign_file_is_refused(path: Path, make: object, line: str) -> None:
    assert callable(make)
    make(path)
    before = path.read_bytes()
    with pytest.raises(Damaged, match=line) as raised:
        SqliteStore(str(path))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_ours(open_store: OpenStore, path: Path) -> None:
    path.touch()
    commit(open_store(), Put(SYSTEM_SPACE, b"a", value_of(1)))


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"no directory {tmp_path / 'no'}; create it"):
        SqliteStore(str(tmp_path / "no" / "test.db"))
    with pytest.raises(StoreError, match="is a directory"):
        SqliteStore(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do all")
def test_a_file_without_permission_is_named(path: Path) -> None:
    SqliteStore(str(path)).close()
    for mode in (0o000, 0o400):
        path.chmod(mode)
        with pytest.raises(StoreError, match="permissions"):
            SqliteStore(str(path))


def test_an_unknown_durability_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="durability"):
        SqliteStore(str(path), durability="total")  # type: ignore[arg-type]


# ---- damage ----


def damage(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def test_a_sound_file_verifies(open_store: OpenStore) -> None:
    store = open_store()
    commit(store, CreateSpace(5), *(Put(5, b"%d" % n, value_of(n)) for n in range(300)))
    assert list(store.verify()) == []


def test_a_changed_value_is_found(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    commit(store, CreateSpace(5), Put(5, b"a", value_of(1, b"precious")), Put(5, b"b", bytes(8)))
    commit(store, Put(5, b"c", value_of(1)))
    store.close()
    damage(path, b"precious", b"precioux")
    problems = list(open_store().verify())
    assert [line.split(": ", 1)[1] for line in problems] == [
        "space 5, key 61: wrong checksum",
        "space 5, key 62: wrong checksum",
    ]


def test_damaged_pages_are_found(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    commit(
        store, CreateSpace(5), *(Put(5, b"%03d" % n, value_of(99, b"x" * 99)) for n in range(500))
    )
    store.close()
    content = bytearray(path.read_bytes())
    for page in range(8, len(content) // 4096, 2):
        content[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(content)
    store = open_store()
    assert any("damaged" in line or "Tree" in line for line in store.verify())
    with pytest.raises(Damaged, match="restore a backup"):
        read(store, Range(5, b"", None))


# ---- permissions ----


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_all_files_are_private(path: Path, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = SqliteStore(str(path))
        commit(store, Put(SYSTEM_SPACE, b"a", value_of(1)))
        store.backup(str(tmp_path / "copy.db"))
    finally:
        os.umask(before)
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    store.close()
    files = ["copy.db", *(f"{path.name}{ending}" for ending in ("", "-wal", "-shm"))]
    if sys.platform == "linux":
        files.append(f"{path.name}-turns")
    assert modes == dict.fromkeys(files, 0o600)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_file_that_exists_keeps_its_permissions(path: Path) -> None:
    SqliteStore(str(path)).close()
    path.chmod(0o640)
    SqliteStore(str(path)).close()
    assert path.stat().st_mode & 0o777 == 0o640


# ---- backup ----


def test_a_backup_is_the_database_of_its_moment(
    open_store: OpenStore, path: Path, tmp_path: Path
) -> None:
    store = open_store(durability="relaxed")
    commit(
        store, CreateSpace(5), *(Put(5, b"%d" % n, value_of(9, b"x" * 999)) for n in range(9_000))
    )
    open_one = store.begin()
    open_one.write([Put(5, b"uncommitted", value_of(1))])
    target = tmp_path / "backup.db"
    store.backup(str(target))
    open_one.rollback()
    assert not list(tmp_path.glob("*unfinished*"))
    copy = SqliteStore(str(target))
    assert len(keys(read(copy, Range(5, b"", None)))) == 9_000
    assert list(copy.verify()) == []
    copy.close()


def test_a_backup_overwrites_nothing(open_store: OpenStore, path: Path, tmp_path: Path) -> None:
    store = open_store()
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        store.backup(str(tmp_path / "taken"))
    assert (tmp_path / "taken").read_text() == "mine"
    with pytest.raises(StoreError, match="no directory"):
        store.backup(str(tmp_path / "no" / "backup.db"))


ACCOUNTS = 10_000
"""Of 1 KB each, so that a backup takes several steps."""


def account(number: int, balance: int) -> Put:
    return Put(5, b"%05d" % number, value_of(9, b"%09d" % balance + bytes(1_000)))


class OneAtATime:
    """A number of pages a step, which commits each time it is looked at."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.steps = 0

    def __index__(self) -> int:
        self.steps += 1
        assert self.steps < ACCOUNTS, "the backup begins again after each commit"
        commit(self.store, account(0, self.steps))
        return 1


def test_a_commit_after_every_page_changes_nothing_in_a_backup(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(durability="memory")
    commit(store, CreateSpace(5), *(account(n, 1_000) for n in range(500)))
    pages = OneAtATime(store)
    monkeypatch.setattr(maintenance, "_PAGES_A_STEP", pages)
    store.backup(str(tmp_path / "copy.db"))
    assert pages.steps > 100
    copy = SqliteStore(str(tmp_path / "copy.db"))
    assert row(copy, (5, account(0, 0).key)) == account(0, 1_000).value
    copy.close()


def test_a_backup_of_a_damaged_file_is_refused(
    open_store: OpenStore, path: Path, tmp_path: Path
) -> None:
    store = open_store()
    commit(store, CreateSpace(5), Put(5, b"a", value_of(1, b"precious")))
    store.close()
    damage(path, b"precious", b"precioux")
    with pytest.raises(Damaged, match=r"not backed up, .* space 5, key 61: wrong checksum"):
        open_store().backup(str(tmp_path / "copy.db"))
    assert not list(tmp_path.glob("copy*"))


def test_a_backup_replaces_no_file_that_appears_meanwhile(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"
    monkeypatch.setattr(maintenance, "check", lambda *_: target.write_text("mine"))
    with pytest.raises(StoreError, match="exists already"):
        open_store().backup(str(target))
    assert target.read_text() == "mine"
    assert [file.name for file in tmp_path.glob("copy*")] == [target.name]


@pytest.mark.parametrize("links", [True, False])
def test_a_backup_without_hard_links(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError("this file system has no links")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    store = open_store()
    store.backup(str(tmp_path / "copy.db"))
    assert [file.name for file in tmp_path.glob("copy*")] == ["copy.db"]
    with pytest.raises(StoreError, match="exists already"):
        store.backup(str(tmp_path / "copy.db"))


def test_a_killed_backup_leaves_nothing_under_its_name(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(str(path))
    commit(store, CreateSpace(5), *(account(n, 1_000) for n in range(ACCOUNTS)))
    store.close()
    target = tmp_path / "copy.db"
    program = (
        "import os, sys\n"
        "from hashrange.storage import SqliteStore\n"
        "from hashrange.storage.sqlite import maintenance\n"
        "maintenance.check = lambda *_: os.kill(os.getpid(), 9)\n"
        "SqliteStore(sys.argv[1]).backup(sys.argv[2])\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, path, target], check=False)
    assert ended.returncode != 0
    assert not target.exists()
    store = SqliteStore(str(path))
    store.backup(str(target))
    assert list(store.verify()) == []
    store.close()


# ---- brief snapshots ----


@pytest.mark.parametrize("error", [KeyboardInterrupt, apsw.BusyError])
def test_a_failed_brief_snapshot_does_not_block_the_next_write(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    store = open_store()
    begin = SqliteSnapshot.__init__

    def fail(self: Any, path: str, connection: apsw.Connection, give: Any) -> None:
        if connection is store._writer:
            connection.execute("BEGIN")
            raise error
        begin(self, path, connection, give)

    monkeypatch.setattr(SqliteSnapshot, "__init__", fail)
    with suppress(KeyboardInterrupt):
        store.snapshot(True).close()
    assert not store._using.locked()
    store.begin().rollback()
