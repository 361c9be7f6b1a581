"""Copies a file that is in use, and looks for damage."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from zlib import crc32

import apsw

from hashrange.kv import Damaged, StoreError
from hashrange.storage.sqlite.format import check_folder
from hashrange.storage.sqlite.problems import explain

_PAGES_A_STEP = 1_000
_CRC_BYTES = 4


def backup(source: apsw.Connection, path: str) -> None:
    """Copy `source` to the new file `path`: as of one moment, verified, and synced.

    The copy has a temporary name until it is complete. A backup that is killed leaves at most
    that file. Raises `StoreError`, and `Damaged` if the copy does not verify.
    """
    check_folder(path)
    if os.path.exists(path):
        raise _taken(path)
    unfinished = _new_file(path)
    try:
        _copy(source, unfinished)
        _check(unfinished, source.filename)
        _give_name(unfinished, path)
    except apsw.Error as error:
        raise explain(error, path) from error
    finally:
        with suppress(FileNotFoundError):  # usually it has been renamed by now
            os.remove(unfinished)
    _sync_folder(path)


def _new_file(path: str) -> str:
    folder, name = os.path.split(path)
    try:  # only its owner can read and write it
        descriptor, unfinished = tempfile.mkstemp(".unfinished", f"{name}.", folder)
    except OSError as error:
        raise StoreError(f"{path}: cannot be created: {error.strerror}") from error
    os.close(descriptor)
    return unfinished


def _copy(source: apsw.Connection, path: str) -> None:
    source.execute("BEGIN")
    # A read makes the snapshot. Without one, SQLite would take a new one for each step, and copy
    # from the beginning whenever another connection had committed meanwhile.
    source.pragma("user_version")
    with closing(apsw.Connection(path)) as target:
        target.pragma("journal_mode", "OFF")  # if the copy fails, its file is removed
        target.pragma("fullfsync", source.pragma("fullfsync"))
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)  # the last step syncs the file
    source.execute("COMMIT")


def _check(path: str, source: str) -> None:
    # A file that is declared immutable is read without a write-ahead log or locks beside it.
    readable = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(f"{Path(path).as_uri()}?immutable=1", readable)) as copy:
        for problem in _problems(copy):
            raise Damaged(f"{source}: not backed up, because the copy is damaged: {problem}")


def _give_name(unfinished: str, path: str) -> None:
    """Rename, but never replace a file, even one created since the backup began."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise _taken(path) from None
    except OSError:  # the file system has no hard links
        if os.path.exists(path):
            raise _taken(path) from None
        os.rename(unfinished, path)


def _taken(path: str) -> StoreError:
    return StoreError(f"{path}: exists already; name a new file")


def _sync_folder(path: str) -> None:
    """Make the new name survive a power cut. Windows has no such call."""
    if os.name != "nt":
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sizes(path: str) -> dict[str, int]:
    """The sizes of a database's files, and the room beside them, in bytes."""
    found = {"database_bytes": _size(path), "wal_bytes": _size(f"{path}-wal")}
    with suppress(OSError):
        found["disk_free_bytes"] = shutil.disk_usage(os.path.dirname(path)).free
    return found


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # the log is not there while nobody has the file open
        return 0


def verify(connection: apsw.Connection) -> Iterator[str]:
    """Yield one line for each problem: in SQLite's structures, or in the checksum of a value."""
    path = connection.filename
    try:
        for problem in _problems(connection):
            yield f"{path}: {problem}"
    except apsw.Error as error:
        yield str(explain(error, path))


def _problems(connection: apsw.Connection) -> Iterator[str]:
    for (problem,) in connection.execute("PRAGMA integrity_check"):
        if problem != "ok":
            yield problem
    connection.execute("BEGIN")
    for table in _spaces(connection):
        for key, value in connection.execute(f"SELECT key, value FROM {table}"):
            if int.from_bytes(value[:_CRC_BYTES], "big") != crc32(value[_CRC_BYTES:]):
                yield f"space {table[1:]}, key {key.hex()}: wrong checksum"


def _spaces(connection: apsw.Connection) -> list[str]:
    """The tables of spaces that are not dropped."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 's[0-9]*'"
    return [name for (name,) in connection.execute(names)]
