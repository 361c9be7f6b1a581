"""Work on a file that no other process has open: compacting it, or replacing it with a backup.

SQLite's exclusive lock keeps all other processes out. A process that has the file open holds a
shared lock. So the exclusive lock is available only if no process has the file open.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw

from hashrange.kv import Busy, Damaged, StoreError
from hashrange.storage.sqlite import maintenance
from hashrange.storage.sqlite.format import check_folder, check_ours, connect
from hashrange.storage.sqlite.problems import explain
from hashrange.storage.sqlite.reads import DROPPED


def compact(path: str) -> tuple[int, int]:
    """Rewrite the file without its free pages and dropped spaces. Return the sizes of the file
    before and after, in bytes.

    After a power cut at any moment, the file is either unchanged or compacted, because the new
    pages are written to the write-ahead log, like those of any commit. Compacting needs disk space
    for two more copies of the rows. Raises `StoreError`, and `Busy` if another process has the file
    open.
    """
    path = os.path.abspath(path)
    # SQLite would put its temporary copy into /var/tmp or /tmp, which may be too small for it.
    os.environ.setdefault("SQLITE_TMPDIR", os.path.dirname(path))
    with _alone(path) as connection:
        before = os.path.getsize(path)
        for problem in maintenance.problems(connection):
            raise Damaged(f"{path}: not compacted, because it is damaged: {problem}")
        for (space,) in connection.execute(DROPPED).fetchall():
            connection.execute(f"DROP TABLE {space}")
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return before, os.path.getsize(path)


def restore(backup: str, path: str, replace: bool = False) -> None:
    """Make a verified and synced copy of a backup, and then give it the name `path`.

    With `replace`, a database at `path` is replaced atomically. Raises `StoreError`, `Busy` if
    another process has this database open, and `Damaged` if the backup does not verify.
    """
    backup, path = os.path.abspath(backup), os.path.abspath(path)
    check_folder(path)
    there = os.path.exists(path)
    if there and not replace:
        raise StoreError(f"{path}: exists already; name a new file, or replace it with --replace")
    if there and os.path.samefile(backup, path):
        raise StoreError(f"{path}: this is the backup itself; name another file")
    if not there and os.path.exists(f"{path}-wal"):
        raise StoreError(f"{path}-wal: the log of another database is in the way; move it away")
    if os.path.exists(f"{backup}-wal"):
        raise StoreError(f"{backup}: is in use; make a backup of it with hashrange backup")
    with maintenance.unfinished(path) as copy, maintenance.immutable(backup) as source:
        try:
            check_ours(source, backup)
            maintenance.copy(source, copy)
            maintenance.check(copy, f"{backup}: not restored")
        except apsw.Error as error:
            raise explain(error, backup) from error
        if there:
            _put_in_place(copy, path)
        else:
            maintenance.give_name(copy, path)
    maintenance.sync_folder(path)


def _put_in_place(copy: str, path: str) -> None:
    """Replace the file at `path` with `copy`, while holding the lock of the old file.

    The log of the old file is removed first, because SQLite would apply it to the new file.
    """
    try:
        with _alone(path) as connection:
            connection.pragma("journal_mode", "DELETE")
            connection.execute("BEGIN EXCLUSIVE")
            os.replace(copy, path)
    except Damaged as error:
        raise Damaged(
            f"{error} (the file was not replaced: move it and its -wal file away first)"
        ) from error


@contextmanager
def _alone(path: str) -> Iterator[apsw.Connection]:
    """A connection that keeps other processes out. Raises Busy if another process has the file
    open."""
    try:
        with closing(connect(path, "full", busy_seconds=0, alone=True)) as connection:
            check_ours(connection, path)
            connection.execute("BEGIN EXCLUSIVE")  # the lock is held until the connection is closed
            connection.execute("COMMIT")
            yield connection
    except apsw.BusyError as error:
        raise Busy(f"{path}: another process has it open; stop the server first") from error
    except apsw.Error as error:
        raise explain(error, path) from error
