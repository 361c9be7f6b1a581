"""Searches for damage part by part: rows that cannot be found, and values that have changed.

Each table has two trees: its rows, and its index by key. A damaged page usually hides rows in one
of the trees; then reads find no row and raise no error. So the search looks up each row by its key,
and each key of the index among the rows.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from time import perf_counter
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from hashrange.storage.sqlite.problems import NO_TABLE, absent_space

_CRC_BYTES = 4
_TABLES = (
    "SELECT name, name = 'statistics' FROM sqlite_schema "
    "WHERE type = 'table' AND (name = 'statistics' OR name GLOB 's[0-9]*')"
)

Borrow = Callable[[], AbstractContextManager[apsw.Connection]]


class _Walk(NamedTuple):
    """A pass over one tree of a table, from the place `first` on.

    For each row, `sql` returns four values: the place to continue from, the key, the other tree's
    entry for this key or place, and the value. `problem` takes these values, and returns the row's
    problem or None.
    """

    sql: str
    first: int | bytes
    problem: Callable[[Any, bytes, Any, bytes], str | None]


def scrub(borrow: Borrow, path: str, seconds: float) -> Iterator[list[str]]:
    """Yield a list of the problems of each part of the file. A part takes about `seconds` seconds.
    `borrow` lends a connection for each part."""
    with borrow() as connection:
        tables = connection.execute(_TABLES).fetchall()
    for table, counters in tables:
        for walk in _walks(str(table), "name" if counters else "key", not counters):
            yield from _parts(borrow, walk, seconds, f"{path}: table {table}")


def _walks(table: str, key: str, has_value: bool) -> list[_Walk]:
    value = "one.value" if has_value else "x''"
    same = f"SELECT other.rowid FROM {table} AS other WHERE other.{key} = one.{key}"
    by_row = (
        f"SELECT one.rowid, one.{key}, ({same}), {value} FROM {table} AS one "
        "WHERE one.rowid > ? ORDER BY one.rowid"
    )
    row = f"SELECT other.{key} FROM {table} AS other NOT INDEXED WHERE other.rowid = one.rowid"
    by_key = (
        f"SELECT one.{key}, one.{key}, ({row}), x'' FROM {table} AS one "
        f"WHERE one.{key} > ? ORDER BY one.{key}"
    )
    changed = _changed if has_value else _lost
    return [_Walk(by_row, -1 << 63, changed), _Walk(by_key, b"", _lost)]


def _lost(place: Any, key: bytes, other: Any, _: bytes) -> str | None:
    return None if other == place else f"key {key.hex()}: its row cannot be found"


def _changed(place: Any, key: bytes, other: Any, value: bytes) -> str | None:
    if int.from_bytes(value[:_CRC_BYTES], "big") != crc32(value[_CRC_BYTES:]):
        return f"key {key.hex()}: wrong checksum"
    return _lost(place, key, other, value)


def _parts(borrow: Borrow, walk: _Walk, seconds: float, where: str) -> Iterator[list[str]]:
    place: int | bytes | None = walk.first
    while place is not None:
        problems: list[str] = []
        try:
            place = _part(borrow, walk, place, seconds, problems)
        except NO_TABLE as error:
            if not absent_space(error):
                raise
            return  # it was dropped meanwhile
        except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
            problems.append(f"it cannot be read ({error})")
            place = None
        yield [f"{where}, {problem}" for problem in problems]


def _part(
    borrow: Borrow, walk: _Walk, place: int | bytes, seconds: float, problems: list[str]
) -> int | bytes | None:
    """Search the part that begins at `place`, and add its problems to `problems`. Returns the place
    where the next part begins; None after the last part."""
    end = perf_counter() + seconds
    with borrow() as connection:
        rows = connection.execute(walk.sql, (place,))
        for now, key, other, value in rows:
            if type(key) is not bytes or type(value) is not bytes:
                problems.append("a row has values that are not bytes")
                return None
            if problem := walk.problem(now, key, other, value):
                problems.append(problem)
            place = now
            if perf_counter() > end:
                rows.close(True)
                return place
    return None
