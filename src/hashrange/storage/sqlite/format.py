"""The format of the file: its application id, its format version, and the tables in it.

    s<id>        key BLOB UNIQUE, value BLOB     the rows of a space
    d<id>        the same                        the rows of a dropped space, until purged
    statistics   name BLOB UNIQUE, number        the counters, which `Add` and `Max` change, and
                                                 the last number that `Append` used (`SEQUENCE`)

In version 1, `statistics` was called `counters`, and had numbers of the engine that decisions rely
on. Since version 2 those numbers are rows. The table has a new name because of older programs that
have the file open during the upgrade: their next statement fails, instead of changing a table that
is no longer read.

In version 2 the last number of `Append` was in a table of its own, called `sequence`, so each
commit with an appended row wrote one more page. Since version 3 it is in `statistics`. The upgrade
drops `sequence`, so that programs of version 2 that still have the file open fail, too.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress

import apsw

from hashrange.kv import SYSTEM_SPACE, Damaged, Durability, StoreError

APPLICATION_ID = 0x48527267  # "HRrg"
VERSION = 3
SEQUENCE = b"appended"
"""The name in `statistics` of the last number that `Append` used."""


def _rename_counters(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE counters RENAME TO statistics")


def _count_in_statistics(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO statistics SELECT ?, number FROM sequence", (SEQUENCE,))
    connection.execute("DROP TABLE sequence")


UPGRADES: dict[int, Callable[[apsw.Connection], None]] = {
    1: _rename_counters,
    2: _count_in_statistics,
}
"""Maps the version of a file to the function that upgrades the file to the next version."""

# NORMAL syncs at checkpoints only: a power cut loses the last commits, never the file. OFF leaves
# everything to the operating system. With both, commits survive the end of the process.
_SYNCHRONOUS: dict[str, str] = {"full": "FULL", "relaxed": "NORMAL", "memory": "OFF"}
_CACHE_KIB = 16_000
_WAL_BYTES_KEPT = 64 << 20
_STATEMENTS_CACHED = 400
"""The number of prepared statements that a connection keeps. A space in use needs about three. A
put without a prepared statement takes 50 % longer."""


def create_file(path: str) -> None:
    """Create the file, if it does not exist, with permissions for its owner only.

    SQLite gives the same permissions to the log and to the log's index.
    """
    with suppress(OSError):  # it exists, or SQLite will report why it cannot be created
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def connect(
    path: str, durability: Durability, busy_seconds: float, alone: bool = False
) -> apsw.Connection:
    """Open a connection to the file. With `alone`, SQLite's exclusive lock keeps other processes
    out."""
    connection = apsw.Connection(path, statementcachesize=_STATEMENTS_CACHED)
    on_macos = int(sys.platform == "darwin")
    for name, value in (
        ("locking_mode", "EXCLUSIVE" if alone else "NORMAL"),
        ("busy_timeout", int(busy_seconds * 1000)),
        ("synchronous", _SYNCHRONOUS[durability]),
        ("fullfsync", on_macos),
        ("checkpoint_fullfsync", on_macos),
        ("wal_autocheckpoint", 0),
        ("journal_size_limit", _WAL_BYTES_KEPT),
        ("cache_size", -_CACHE_KIB),
    ):
        connection.pragma(name, value)
    return connection


def check_folder(path: str) -> None:
    """Raise a `StoreError` if the directory of `path` does not exist, or if `path` is a directory.
    SQLite would only say "unable to open database file"."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreError(f"{path}: there is no directory {folder}; create it first")
    if os.path.isdir(path):
        raise StoreError(f"{path}: is a directory; name a file")


def prepare(connection: apsw.Connection, path: str) -> None:
    """Create the tables of a new file, or upgrade an older one. Raises `Damaged` for a file of
    another program or of a newer version."""
    if connection.readonly("main"):
        raise StoreError(f"{path}: cannot be written; check its permissions")
    if connection.pragma("journal_mode") == "wal" and _version(connection, path) == VERSION:
        return
    _version(connection, path)  # refuse the file before anything is changed
    if connection.pragma("journal_mode", "WAL") != "wal":
        raise StoreError(f"{path}: this file system cannot share memory; use a local disk")
    connection.execute("BEGIN IMMEDIATE")
    try:  # another process may have upgraded it meanwhile: check again, under the lock
        version = _version(connection, path)
        if version == 0:
            _create(connection)
        for older in range(version or VERSION, VERSION):
            UPGRADES[older](connection)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def check_ours(connection: apsw.Connection, path: str) -> None:
    """Raise `Damaged` unless the file is a database that this version reads."""
    if _version(connection, path) == 0:
        raise Damaged(f"{path}: is an empty file; name a database")


def create_space(connection: apsw.Connection, space: int) -> None:
    connection.execute(f"CREATE TABLE s{space:d} (key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)")


def _create(connection: apsw.Connection) -> None:
    connection.execute(
        "CREATE TABLE statistics (name BLOB NOT NULL UNIQUE, number INTEGER NOT NULL)"
    )
    create_space(connection, SYSTEM_SPACE)


def _version(connection: apsw.Connection, path: str) -> int:
    """The format version; 0 if the file is empty. Raises `Damaged` for a file of another program or
    of a newer version."""
    application_id = connection.pragma("application_id")
    version: int = connection.pragma("user_version")
    if application_id == version == connection.execute("SELECT count(*) FROM sqlite_schema").get:
        return 0  # all three are 0
    if application_id != APPLICATION_ID or version < 1:
        raise Damaged(f"{path}: is a database of another program; name another file")
    if version > VERSION:
        raise Damaged(
            f"{path}: has format {version}, but this hashrange reads formats up to {VERSION}; "
            "install a newer one"
        )
    return version
