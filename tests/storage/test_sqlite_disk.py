"""A disk that is full, broken or slow: nothing acknowledged is lost, and nothing half written."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from small import log_of
from waiting import SECONDS_MAX

from hashrange.kv import (
    SYSTEM_SPACE,
    Add,
    Counters,
    Full,
    OutcomeUnknown,
    Put,
    Range,
    ReadOnly,
    StoreError,
)
from hashrange.runtime.health import probe
from hashrange.storage import SqliteStore
from hashrange.testing.store_access import counted, keys, read, row
from hashrange.testing.store_model import value_of

from .conftest import OpenStore
from .disk import Disk, Fault, after, disk, is_broken, is_full, takes_no_more, works

BIG = value_of(9, bytes(9_000))


@pytest.fixture
def the_disk() -> Iterator[Disk]:
    with disk() as made:
        yield made


def write_pair(store: SqliteStore, number: int) -> None:
    """Two rows and a counter, all or nothing."""
    transaction = store.begin()
    try:
        for half in (b"a", b"b"):
            transaction.write([Put(SYSTEM_SPACE, b"%03d" % number + half, BIG), Add(b"n", 1)])
    except StoreError:
        transaction.rollback()
        raise
    transaction.commit()


def write_pairs(store: SqliteStore, numbers: range) -> list[int]:
    """The pairs that were acknowledged."""
    done = []
    for number in numbers:
        try:
            write_pair(store, number)
            done.append(number)
        except (Full, OutcomeUnknown, ReadOnly):
            pass
    return done


def assert_has(store: SqliteStore, pairs: list[int]) -> None:
    rows = [b"%03d" % number + half for number in pairs for half in (b"a", b"b")]
    assert keys(read(store, Range(SYSTEM_SPACE, b"", None))) == rows
    assert read(store, Counters((b"n",))) == [len(rows)]
    assert list(store.verify()) == []


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_a_disk_that_fills_up_at_any_write(the_disk: Disk, tmp_path: Path, durability: str) -> None:
    for steps in range(0, 60, 3):
        path = str(tmp_path / f"{steps}.db")
        store = SqliteStore(path, durability=durability)  # type: ignore[arg-type]
        the_disk.on_write = after(steps, is_full)
        done = write_pairs(store, range(8))
        assert len(done) < 8
        the_disk.on_write = works
        assert_has(store, done)
        done += write_pairs(store, range(8, 10))
        assert done[-2:] == [8, 9], "it writes again when there is room again"
        store.close()
        reopened = SqliteStore(path)
        assert_has(reopened, done)
        reopened.close()


@pytest.mark.parametrize("reason", [errno.EDQUOT, errno.EFBIG])
def test_a_quota_or_size_limit_reached_at_any_write(
    the_disk: Disk, tmp_path: Path, reason: int
) -> None:
    for steps in range(0, 60, 6):
        path = str(tmp_path / f"{steps}.db")
        store = SqliteStore(path)
        the_disk.on_write, the_disk.reason = after(steps, takes_no_more), reason
        done = write_pairs(store, range(8))
        assert len(done) < 8
        with pytest.raises(Full, match="a size limit or quota is reached"):
            write_pair(store, 99)
        the_disk.on_write, the_disk.reason = works, 0
        done += write_pairs(store, range(8, 10))
        assert done[-2:] == [8, 9], "it writes again when there is room again"
        assert_has(store, done)
        store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
@pytest.mark.parametrize("limit", [200_000, 250_001, 300_003])
def test_the_size_limit_of_a_process(path: Path, limit: int) -> None:
    program = (
        "import resource, sys\n"
        "from hashrange.kv import *\n"
        "from hashrange.storage import SqliteStore\n"
        "store = SqliteStore(sys.argv[1])\n"
        "none = resource.RLIM_INFINITY\n"
        "def write(n):\n"
        "    transaction = store.begin()\n"
        "    try:\n"
        "        transaction.write([Put(0, b'%03d' % n, bytes(9000))])\n"
        "    except StoreError:\n"
        "        transaction.rollback()\n"
        "        raise\n"
        "    transaction.commit()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), none))\n"
        "try:\n"
        "    for n in range(900): write(n)\n"
        "except Full: pass\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (none, none))\n"
        "write(n)\n"
        "print(n + 1)\n"
        "store.close()\n"
    )
    words = [sys.executable, "-c", program, str(path), str(limit)]
    written = int(subprocess.check_output(words, text=True))
    assert written < 900
    store = SqliteStore(str(path))
    assert len(keys(read(store, Range(SYSTEM_SPACE, b"", None)))) == written
    store.close()


# ---- checkpoints ----


@pytest.fixture
def often() -> Iterator[None]:
    with log_of(1):
        yield


def write_and_wait(store: SqliteStore, numbers: range) -> None:
    for number in numbers:
        write_pair(store, number)
        store._checkpointer.wait()


def in_checkpoints(fault: Fault) -> Fault:
    """Fail while a checkpoint runs, and not in a commit."""

    def step() -> None:
        if threading.current_thread() is not threading.main_thread():
            fault()

    return step


@pytest.mark.usefixtures("often")
def test_failed_checkpoints_are_logged_once_and_counted(
    the_disk: Disk, open_store: OpenStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store()
    the_disk.on_write = in_checkpoints(is_full)
    write_and_wait(store, range(5))
    assert store._checkpointer.failures == 5
    (line,) = caplog.messages
    assert line.startswith(f"a checkpoint failed: {path}: the disk is full")
    the_disk.on_write = works
    write_and_wait(store, range(5, 7))
    assert store._checkpointer.failures == 0
    assert caplog.messages[1:] == ["checkpoints succeed again, after 5 failures"]
    assert_has(store, list(range(7)))


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_no_checkpoint_follows_one_whose_sync_failed(
    the_disk: Disk, path: Path, durability: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(str(path), durability=durability)  # type: ignore[arg-type]
    the_disk.on_sync = in_checkpoints(is_broken)
    write_and_wait(store, range(1))
    the_disk.on_sync = works
    assert "the content of the disk is unknown" in caplog.text
    with pytest.raises(ReadOnly, match="open the file again"):
        store.begin()
    assert_has(store, [0])
    log = Path(f"{path}-wal")
    before = log.read_bytes()
    store.close()
    assert log.read_bytes() == before, "and none when it is closed"
    reopened = SqliteStore(str(path))
    assert_has(reopened, [0])
    write_pair(reopened, 1)
    reopened.close()


def test_the_checkpoint_of_closing_fails_aloud(
    the_disk: Disk, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(str(path), durability="relaxed")
    write_pair(store, 1)
    the_disk.on_sync = is_broken
    store.close()
    the_disk.on_sync = works
    assert caplog.text.count("a checkpoint failed") == 1
    assert Path(f"{path}-wal").stat().st_size
    reopened = SqliteStore(str(path))
    assert_has(reopened, [1])
    reopened.close()


def test_the_message_of_a_full_disk(the_disk: Disk, open_store: OpenStore, path: Path) -> None:
    store = open_store()
    the_disk.on_write = is_full
    with pytest.raises(Full, match="the disk is full; free some space") as raised:
        write_pair(store, 1)
    the_disk.on_write = works
    assert str(raised.value).startswith(str(path))


def test_a_disk_that_breaks_at_any_sync(the_disk: Disk, tmp_path: Path) -> None:
    for steps in range(8):
        path = str(tmp_path / f"{steps}.db")
        store = SqliteStore(path)
        the_disk.on_sync = after(steps, is_broken)
        done = write_pairs(store, range(8))
        the_disk.on_sync = works
        with pytest.raises(ReadOnly, match="open the file again"):
            store.begin()
        assert_has(store, done)
        store.close()
        reopened = SqliteStore(path)
        kept = keys(read(reopened, Range(SYSTEM_SPACE, b"", None)))
        assert kept[: 2 * len(done)] == [b"%03d" % n + half for n in done for half in (b"a", b"b")]
        assert len(kept) in (2 * len(done), 2 * len(done) + 2), "at most the one left open"
        write_pair(reopened, 500)
        reopened.close()


def test_a_commit_whose_sync_fails_has_an_unknown_outcome(
    the_disk: Disk, open_store: OpenStore, path: Path
) -> None:
    store = open_store()
    write_pair(store, 1)
    the_disk.on_sync = is_broken
    with pytest.raises(
        OutcomeUnknown, match=r"content of the disk is unknown .* open the file again"
    ) as raised:
        write_pair(store, 2)
    assert str(raised.value).startswith(str(path))
    the_disk.on_sync = works
    with pytest.raises(ReadOnly, match="open the file again"):
        store.begin()


def test_a_backup_to_a_full_disk_leaves_no_file(
    the_disk: Disk, open_store: OpenStore, tmp_path: Path
) -> None:
    store = open_store()
    write_pairs(store, range(3))
    the_disk.on_write = after(2, is_full)
    with pytest.raises(Full):
        store.backup(str(tmp_path / "backup.db"))
    the_disk.on_write = works
    assert not list(tmp_path.glob("backup*"))


def test_a_backup_whose_sync_fails_leaves_no_file(
    the_disk: Disk, open_store: OpenStore, tmp_path: Path
) -> None:
    store = open_store()
    write_pairs(store, range(3))
    the_disk.on_sync = is_broken
    with pytest.raises(StoreError):
        store.backup(str(tmp_path / "backup.db"))
    the_disk.on_sync = works
    assert not list(tmp_path.glob("backup*"))
    store.backup(str(tmp_path / "backup.db"))


def test_the_name_of_a_backup_is_synced(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut may take a name away if only the content of its file was synced."""
    names: list[list[str]] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            names.append(os.listdir(descriptor))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    open_store().backup(str(tmp_path / "backup.db"))
    assert any("backup.db" in each for each in names)


def test_readers_go_on_while_a_commit_waits_for_the_disk(
    the_disk: Disk, open_store: OpenStore
) -> None:
    store = open_store()
    write_pair(store, 1)
    reached, go_on = threading.Event(), threading.Event()

    def waits() -> None:
        reached.set()
        go_on.wait(SECONDS_MAX)

    the_disk.on_sync = waits
    committing = threading.Thread(target=write_pair, args=(store, 2))
    committing.start()
    assert reached.wait(SECONDS_MAX)
    assert (counted(store, b"n"), row(store, (SYSTEM_SPACE, b"002a"))) == (2, None)
    assert keys(read(store, Range(SYSTEM_SPACE, b"", None))) == [b"001a", b"001b"]
    assert committing.is_alive()
    go_on.set()
    committing.join()
    the_disk.on_sync = works
    assert (counted(store, b"n"), row(store, (SYSTEM_SPACE, b"002a"))) == (4, BIG)


def test_a_probe_knows_of_a_full_disk_and_of_a_failed_sync(
    the_disk: Disk, open_store: OpenStore
) -> None:
    store = open_store()
    probe(store)
    the_disk.on_write = is_full
    with pytest.raises(Full):
        probe(store)
    the_disk.on_write = works
    probe(store)
    the_disk.on_sync = is_broken
    with pytest.raises(OutcomeUnknown):
        probe(store)
    the_disk.on_sync = works
    with pytest.raises(ReadOnly):
        probe(store)
