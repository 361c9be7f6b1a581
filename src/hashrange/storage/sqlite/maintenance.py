"""Backing up a file in use, and looking for damage."""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from zlib import crc32

import apsw

from hashrange.kv import StoreError
from hashrange.storage.sqlite.format import check_folder
from hashrange.storage.sqlite.problems import explain

_PAGES_A_STEP = 1_000
_CRC_BYTES = 4


def backup(source: apsw.Connection, path: str) -> None:
    """Copy under a temporary name first, so that `path` never names an unfinished copy."""
    check_folder(path)
    unfinished = f"{path}.unfinished"
    if os.path.exists(path):
        raise StoreError(f"{path}: exists already; name a new file")
    try:
        _copy(source, unfinished)
        os.rename(unfinished, path)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        if isinstance(error, apsw.Error):
            raise explain(error, path) from error
        raise


def _copy(source: apsw.Connection, path: str) -> None:
    with closing(apsw.Connection(path)) as target:
        source.execute("BEGIN")  # all steps copy from one snapshot
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)
        source.execute("COMMIT")


def verify(connection: apsw.Connection) -> Iterator[str]:
    """Yield one line for each problem."""
    path = connection.filename
    try:
        for (problem,) in connection.execute("PRAGMA integrity_check"):
            if problem != "ok":
                yield f"{path}: {problem}"
        connection.execute("BEGIN")
        for table in _spaces(connection):
            yield from _verify_values(connection, table)
    except apsw.Error as error:
        yield str(explain(error, path))


def _spaces(connection: apsw.Connection) -> list[str]:
    """The tables of spaces that are not dropped."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 's[0-9]*'"
    return [name for (name,) in connection.execute(names)]


def _verify_values(connection: apsw.Connection, table: str) -> Iterator[str]:
    for key, value in connection.execute(f"SELECT key, value FROM {table}"):
        if int.from_bytes(value[:_CRC_BYTES], "big") != crc32(value[_CRC_BYTES:]):
            yield f"{connection.filename}: space {table[1:]}, key {key.hex()}: wrong checksum"
