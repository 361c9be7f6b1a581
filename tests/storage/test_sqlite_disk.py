"""A disk that is full, broken or slow: nothing acknowledged is lost, and nothing half written."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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
from hashrange.storage import SqliteStore
from hashrange.testing.store_access import counted, keys, read, row
from hashrange.testing.store_model import value_of

from .conftest import OpenStore
from .disk import Disk, after, disk, is_broken, is_full, is_slow, works

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
    """Those that were acknowledged."""
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
        with pytest.raises(ReadOnly, match="open it again"):
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
        OutcomeUnknown, match=r"not known what is on disk .* open it again"
    ) as raised:
        write_pair(store, 2)
    assert str(raised.value).startswith(str(path))
    the_disk.on_sync = works
    with pytest.raises(ReadOnly, match="open it again"):
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


def test_readers_go_on_while_a_commit_waits_for_the_disk(
    the_disk: Disk, open_store: OpenStore
) -> None:
    store = open_store()
    write_pair(store, 1)
    the_disk.on_sync = is_slow
    committing = threading.Thread(target=write_pair, args=(store, 2))
    committing.start()
    time.sleep(0.1)
    begun = time.monotonic()
    assert (counted(store, b"n"), row(store, (SYSTEM_SPACE, b"002a"))) == (2, None)
    assert keys(read(store, Range(SYSTEM_SPACE, b"", None))) == [b"001a", b"001b"]
    assert time.monotonic() - begun < 0.1
    assert committing.is_alive()
    committing.join()
    the_disk.on_sync = works
    assert (counted(store, b"n"), row(store, (SYSTEM_SPACE, b"002a"))) == (4, BIG)
