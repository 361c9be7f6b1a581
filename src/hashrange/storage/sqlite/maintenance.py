"""Copies a file that is in use, and searches it for damage."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from zlib import crc32

import apsw

from hashrange.kv import Damaged, StoreError
from hashrange.storage.sqlite.format import check_folder
from hashrange.storage.sqlite.problems import explain

_PAGES_A_STEP = 1_000
_UNFINISHED = ".unfinished"
_CRC_BYTES = 4


def backup(source: apsw.Connection, path: str, compact: bool = False) -> None:
    """Copy `source`, as of one moment, to the new file `path`, and verify and sync the copy.

    A `compact` copy has no free pages. It takes more processor time, and cannot be interrupted.

    The copy has a temporary name until it is complete. A killed backup can leave a file with this
    name. If it is killed while the copy has both names, the next backup to `path` replaces the copy
    and removes the temporary name. Raises `StoreError`, and `Damaged` if the copy does not verify.
    """
    check_folder(path)
    ended = _links_left(path)
    if os.path.exists(path) and not ended:
        raise _taken(path)
    with unfinished(path) as target:
        try:
            if compact:
                _copy_rows(source, target)
            else:
                copy(source, target)
            check(target, f"{source.filename}: not backed up")
        except apsw.Error as error:
            raise explain(error, path) from error
        if ended:
            os.replace(target, path)
        else:
            give_name(target, path)
        sync_folder(path)
    for link in ended:
        os.remove(link)


def _links_left(path: str) -> list[str]:
    """The temporary names that the file `path` also has. A killed backup leaves such a name if its
    copy already had the name `path`."""
    folder, name = os.path.split(path)
    beside = (
        each.path
        for each in os.scandir(folder)
        if each.name.startswith(f"{name}.") and each.name.endswith(_UNFINISHED)
    )
    try:
        return [each for each in beside if os.path.samefile(each, path)]
    except FileNotFoundError:
        return []


@contextmanager
def unfinished(path: str) -> Iterator[str]:
    """Create a file beside `path`. It is removed at the end unless it has been renamed."""
    made = _new_file(path)
    try:
        yield made
    finally:
        with suppress(FileNotFoundError):
            os.remove(made)


def _new_file(path: str) -> str:
    folder, name = os.path.split(path)
    try:  # only the owner can read and write it
        descriptor, made = tempfile.mkstemp(_UNFINISHED, f"{name}.", folder)
    except OSError as error:
        raise StoreError(f"{path}: cannot be created: {error.strerror}") from error
    os.close(descriptor)
    return made


def copy(source: apsw.Connection, path: str) -> None:
    source.execute("BEGIN")
    # A read makes the snapshot. Without one, SQLite would take a new one for each step, and copy
    # from the beginning whenever another connection had committed meanwhile.
    source.pragma("user_version")
    with closing(apsw.Connection(path)) as target:
        target.pragma("journal_mode", "OFF")  # if the copy fails, the file is removed
        target.pragma("fullfsync", source.pragma("fullfsync"))
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)  # the last step syncs the file
    source.execute("COMMIT")


def _copy_rows(source: apsw.Connection, path: str) -> None:
    source.execute("VACUUM INTO ?", (path,))
    with open(path, "rb+") as written:  # SQLite leaves the sync to its caller
        os.fsync(written.fileno())


def immutable(path: str) -> closing[apsw.Connection]:
    """A connection that reads a file without its log and without locks. Meanwhile the file must not
    change."""
    readable = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return closing(apsw.Connection(f"{Path(path).as_uri()}?immutable=1", readable))


def check(path: str, refusal: str) -> None:
    """Verify a file. If there is a problem, raises `Damaged` with a message that begins with
    `refusal`."""
    with immutable(path) as readable:
        for problem in problems(readable):
            raise Damaged(f"{refusal}, because the copy is damaged: {problem}")


def give_name(unfinished: str, path: str) -> None:
    """Rename the file `unfinished` to `path`. Raises StoreError if `path` exists, even if it was
    created since the backup began."""
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


def sync_folder(path: str) -> None:
    """Sync the folder of `path`, so that a new name in it survives a power cut. Windows has no call
    for this, so nothing is done there."""
    if os.name != "nt":
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sizes(path: str) -> dict[str, int]:
    """The sizes of a database's files, and the free space on their disk, in bytes."""
    figures = {"database_bytes": _size(path), "wal_bytes": _size(f"{path}-wal")}
    with suppress(OSError):
        figures["disk_free_bytes"] = shutil.disk_usage(os.path.dirname(path)).free
    return figures


def pages(connection: apsw.Connection) -> dict[str, int]:
    """The version of the file's format, the size of a page, and the number of free pages."""
    return {
        "format": connection.pragma("user_version"),
        "page_bytes": connection.pragma("page_size"),
        "free_pages": connection.pragma("freelist_count"),
    }


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # there is no log while nobody has the file open
        return 0


def verify(connection: apsw.Connection) -> Iterator[str]:
    """Yield one line for each problem: in SQLite's structures, or in the checksum of a value."""
    path = connection.filename
    try:
        for problem in problems(connection):
            yield f"{path}: {problem}"
    except apsw.Error as error:
        yield str(explain(error, path))


def problems(connection: apsw.Connection) -> Iterator[str]:
    """Yield each fault of SQLite's structures, and each value with a wrong checksum."""
    for (problem,) in connection.execute("PRAGMA integrity_check"):
        if problem != "ok":
            yield problem
    connection.execute("BEGIN")
    for table in _spaces(connection):
        for key, value in connection.execute(f"SELECT key, value FROM {table}"):
            if int.from_bytes(value[:_CRC_BYTES], "big") != crc32(value[_CRC_BYTES:]):
                yield f"space {table[1:]}, key {key.hex()}: wrong checksum"
    connection.execute("COMMIT")


def _spaces(connection: apsw.Connection) -> list[str]:
    """The tables of spaces that are not dropped."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 's[0-9]*'"
    return [name for (name,) in connection.execute(names)]
