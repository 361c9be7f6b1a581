"""Translates SQLite's errors into those of `hashrange.kv`, with one line that says what to do."""

import errno
import os

import apsw

from hashrange.kv import Busy, Damaged, Full, OutcomeUnknown, ReadOnly, StoreError

_NO_ROOM = (errno.EDQUOT, errno.EFBIG)
"""The system's errors for a quota and a size limit. SQLite reports only a full disk (ENOSPC) by an
error of its own; the other causes are found in `system_errno`."""

_NO_ROOM_FOR_INDEX = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP)


def explain(error: apsw.Error, path: str) -> StoreError:
    """The error to raise for an `error` of a read, or of opening the file."""
    extended: int = getattr(error, "extendedresult", 0)  # missing from the driver's type stubs
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"{path}: another process holds the lock; try again when it is done")
        case apsw.FullError():
            return Full(f"{path}: the disk is full; free some space and try again")
        case apsw.IOError() if extended in _NO_ROOM_FOR_INDEX:
            return Full(f"{path}-shm: the disk is full; free some space and try again")
        case apsw.NotADBError():
            return Damaged(f"{path}: not a hashrange database; name another file")
        case apsw.CorruptError():
            return Damaged(f"{path}: the file is damaged ({error}); restore a backup")
        case apsw.CantOpenError() if reason := _too_many_open_files():
            return StoreError(f"{path}: cannot be opened: {reason}")
        case apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreError(f"{path}: cannot be opened; check the permissions of file and folder")
        case apsw.ReadOnlyError():
            return StoreError(
                f"{path}: cannot be written; check the permissions of file and folder"
            )
        case _:
            return StoreError(f"{path}: {type(error).__name__}: {error}; check the disk")


def _too_many_open_files() -> str:
    """A text for the user if too many files are open, and otherwise "". SQLite does not report this
    cause."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno == errno.EMFILE:
            return "this process has too many open files; raise its limit (ulimit -n)"
        if error.errno == errno.ENFILE:
            return "the system has too many open files; close some, or raise its limit"
    return ""


def explain_write(error: apsw.Error, path: str, system_errno: int) -> StoreError:
    """The error to raise for an `error` of a write that was not committed."""
    problem = explain(error, path)
    extended: int = getattr(error, "extendedresult", 0)
    if extended == apsw.SQLITE_IOERR_WRITE and system_errno in _NO_ROOM:
        return Full(f"{path}: a size limit or quota is reached; raise it and try again")
    if isinstance(error, apsw.IOError) and not isinstance(problem, Full):
        return ReadOnly(
            f"{path}: after an I/O error, the content of the disk is unknown ({error}); "
            "open the file again"
        )
    return problem


def explain_commit(error: apsw.Error, path: str, system_errno: int) -> StoreError:
    """The error to raise for an `error` of COMMIT itself.

    It is OutcomeUnknown after an I/O error, unless the cause is a lack of space. For example, if a
    sync fails, the log may still reach the disk. Then the commit has succeeded when the file is
    next opened.
    """
    problem = explain_write(error, path, system_errno)
    return OutcomeUnknown(str(problem)) if isinstance(problem, ReadOnly) else problem


NO_TABLE = (apsw.SQLError, apsw.SchemaChangeError)
"""SQLite's errors for a missing table: the second is raised if the table has just been dropped."""


def absent_space(error: apsw.Error) -> bool:
    """Whether a statement failed because the table of its space does not exist."""
    return str(error).startswith("no such table: s")
