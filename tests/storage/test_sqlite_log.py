"""A flipped bit in the log after a crash: SQLite drops all later commits without a word."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from shutil import copy
from struct import unpack

import pytest

import hashrange
from hashrange.kv import SYSTEM_SPACE, Damaged, Put, Range
from hashrange.storage import SqliteStore
from hashrange.storage.sqlite import log
from hashrange.testing.store_access import commit, keys, read
from hashrange.testing.store_model import value_of

from .conftest import OpenStore

COMMITS = 12
HEADER = 32
FRAME = 24 + 4096
ROWS = [b"%03d" % number for number in range(COMMITS)]


@pytest.fixture
def killed(tmp_path: Path, open_store: OpenStore, path: Path) -> Path:
    """The files of a process that was killed after its commits."""
    store = open_store()
    for number in range(COMMITS):
        commit(store, Put(SYSTEM_SPACE, ROWS[number], value_of(1, bytes([number]) * 3_000)))
    (tmp_path / "killed").mkdir()
    for name in (path, log_of(path)):
        copy(name, tmp_path / "killed")
    return tmp_path / "killed" / path.name


def log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


def flip(path: Path, offset: int, bit: int = 3) -> None:
    content = bytearray(log_of(path).read_bytes())
    content[offset] ^= 1 << bit
    log_of(path).write_bytes(content)


def last_frames(path: Path, transactions: int) -> range:
    """The numbers of the frames of the last transactions, counted from 0."""
    content = log_of(path).read_bytes()
    frames = (len(content) - HEADER) // FRAME
    sizes = (unpack(">I", content[at(n, 4) : at(n, 8)])[0] for n in range(frames))
    ends = [number for number, size in enumerate(sizes) if size]
    return range(ends[-transactions - 1] + 1, frames)


def at(frame: int, offset: int) -> int:
    return HEADER + frame * FRAME + offset


def rows_in(store: SqliteStore) -> list[bytes]:
    return keys(read(store, Range(SYSTEM_SPACE, b"", None)))


def test_a_killed_process_loses_nothing(killed: Path) -> None:
    store = SqliteStore(str(killed))
    assert rows_in(store) == ROWS
    store.close()


@pytest.mark.parametrize("offset", [0, 3, 5, 9, 15, 16, 23, 24, 31])
def test_a_damaged_header_is_refused(killed: Path, offset: int) -> None:
    flip(killed, offset)
    before = log_of(killed).read_bytes()
    with pytest.raises(Damaged, match=r"-wal: the header is damaged, .*restore a backup"):
        SqliteStore(str(killed))
    assert log_of(killed).read_bytes() == before
    with pytest.raises(Damaged):
        SqliteStore(str(killed))


@pytest.mark.parametrize("offset", [0, 7, 8, 15, 16, 23, 24, 2_000, FRAME - 1])
@pytest.mark.parametrize("frame", [0, 3, 9, 20])
def test_a_damaged_frame_is_refused(killed: Path, frame: int, offset: int) -> None:
    assert frame not in last_frames(killed, 2)
    flip(killed, at(frame, offset))
    with pytest.raises(Damaged, match=rf"-wal: frame {frame + 1} is damaged.*restore a backup"):
        SqliteStore(str(killed))


def test_damage_in_the_last_commit_is_taken_for_a_power_cut(killed: Path) -> None:
    """That is what an interrupted write leaves, so a file may not be refused for it."""
    frames = last_frames(killed, 1)
    flip(killed, at(frames[-1], 2_000))
    store = SqliteStore(str(killed))
    assert rows_in(store) == ROWS[:-1]
    store.close()


def test_relaxed_durability_goes_on_and_says_so(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flip(killed, at(9, 2_000))
    store = SqliteStore(str(killed), durability="relaxed")
    left = rows_in(store)
    assert 0 < len(left) < COMMITS
    [line] = caplog.messages
    assert "frame 10 is damaged, and later commits cannot be read" in line
    commit(store, Put(SYSTEM_SPACE, b"later", value_of(1)))
    store.close()
    store = SqliteStore(str(killed))
    assert rows_in(store) == [*left, b"later"]
    store.close()


def test_another_process_accepts_the_log_that_the_first_one_accepted(killed: Path) -> None:
    flip(killed, at(9, 2_000))
    first = SqliteStore(str(killed), durability="relaxed")
    commit(first, Put(SYSTEM_SPACE, b"later", value_of(1)))
    second = SqliteStore(str(killed))
    assert rows_in(second) == rows_in(first)
    second.close()
    first.close()


def test_a_frame_that_is_just_being_written_is_not_damage(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here another process commits while the log is copied, and one frame is half written."""
    writer = open_store()
    commit(writer, Put(SYSTEM_SPACE, b"a", value_of(1)))
    end = (log_of(path).stat().st_size - HEADER) // FRAME
    copies = 0

    def half_written(whole: bytes) -> BytesIO:
        nonlocal copies
        copies += 1
        if copies > 1:
            return BytesIO(whole)
        for number in range(3):
            commit(writer, Put(SYSTEM_SPACE, b"a", value_of(number)))
        copy = bytearray(log_of(path).read_bytes())
        copy[at(end, 9)] ^= 1
        return BytesIO(copy)

    monkeypatch.setattr(log, "BytesIO", half_written)
    SqliteStore(str(path)).close()
    assert copies > 1


@pytest.mark.parametrize("copied", [0, 64 << 20])
def test_a_log_in_use_is_verified(
    open_store: OpenStore, path: Path, monkeypatch: pytest.MonkeyPatch, copied: int
) -> None:
    """A log that is too large for a copy is read while others write."""
    monkeypatch.setattr(log, "_COPIED_BYTES_MAX", copied)
    store = open_store()
    for number in range(COMMITS):
        commit(store, Put(SYSTEM_SPACE, ROWS[number], value_of(1, bytes(3_000))))
    assert list(store.verify()) == []
    flip(path, at(3, 17))
    assert f"{path}-wal: frame 4 is damaged" in next(store.verify())


@pytest.mark.parametrize(
    ("offset", "problem"),
    [(9, "the header is damaged"), (at(3, 17), "frame 4 is damaged"), (at(4, 99), "frame 5 is")],
)
def test_verify_reads_the_log_of_an_open_file(
    open_store: OpenStore, path: Path, offset: int, problem: str
) -> None:
    store = open_store()
    for number in range(COMMITS):
        commit(store, Put(SYSTEM_SPACE, ROWS[number], value_of(1, bytes(3_000))))
    assert list(store.verify()) == []
    flip(path, offset)
    assert f"{path}-wal: {problem}" in next(store.verify())
    flip(path, offset)
    assert list(store.verify()) == []


TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}
HEADER_HALF_WRITTEN = """
import fcntl, mmap, sys, time
with open(sys.argv[1] + "-shm", "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 120)  # the lock of writers
    index = mmap.mmap(file.fileno(), 0)
    index[16] ^= 1
    print("held", flush=True)
    time.sleep(0.2)
    index[16] ^= 1
"""


def test_a_check_waits_for_a_writer_that_changes_the_header_of_the_index(path: Path) -> None:
    command = [sys.executable, "-c", HEADER_HALF_WRITTEN, str(path)]
    with hashrange.connect(path) as database:
        for name in ("one", "two"):
            database.execute("CreateTable", {**TABLE, "TableName": name})
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            assert writer.stdout.readline() == b"held\n"
            assert list(database.check()) == []
