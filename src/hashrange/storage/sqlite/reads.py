"""Answers to reads, over any connection that stands in a transaction."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import apsw

from hashrange.kv import Answer, Counters, Dropped, Get, Key, Page, Range, Read
from hashrange.storage.paging import page_of
from hashrange.storage.sqlite.problems import NO_TABLE, absent_space

_COUNTER = "SELECT number FROM counters WHERE name = ?"
_DROPPED = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'd[0-9]*'"


class Statements(NamedTuple):
    """SQL by space: the same string each time, so that prepared statements are found."""

    get: str
    glance: str
    put: str
    delete: str
    up: str
    up_to_end: str
    down: str
    down_from_end: str


@lru_cache(maxsize=4096)
def statements(space: int) -> Statements:
    get = f"SELECT value FROM s{space:d} WHERE key = ?"
    rows = f"SELECT key, value FROM s{space:d} WHERE key >= ?"
    return Statements(
        get=get,
        glance=f"SELECT ifnull(({_COUNTER}), 0), ({get})",
        # An upsert, not REPLACE, which would delete the row and write both trees anew.
        put=f"INSERT INTO s{space:d} VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        delete=f"DELETE FROM s{space:d} WHERE key = ?",
        up=f"{rows} AND key < ? ORDER BY key",
        up_to_end=f"{rows} ORDER BY key",
        down=f"{rows} AND key < ? ORDER BY key DESC",
        down_from_end=f"{rows} ORDER BY key DESC",
    )


def answer(cursor: apsw.Cursor, read: Read) -> Answer:
    match read:
        case Get():
            return _values(cursor, read.keys)
        case Range():
            return _page(cursor, read)
        case Counters():
            return [counter(cursor, name) for name in read.names]
        case Dropped():
            return dropped(cursor)


def dropped(cursor: apsw.Cursor) -> list[int]:
    return [int(name[1:]) for (name,) in cursor.execute(_DROPPED)]


def glance(connection: apsw.Connection, name: bytes, key: Key) -> tuple[int, bytes | None]:
    """One statement, so that counter and row come from one snapshot."""
    try:
        found: tuple[int, bytes | None]
        found = connection.execute(statements(key[0]).glance, (name, key[1])).get
        return found
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return counter(connection, name), None


def counter(cursor: apsw.Cursor | apsw.Connection, name: bytes) -> int:
    return cursor.execute(_COUNTER, (name,)).get or 0


def _values(cursor: apsw.Cursor, keys: Sequence[Key]) -> list[bytes | None]:
    execute = cursor.execute
    try:
        return [execute(statements(space).get, (key,)).get for space, key in keys]
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return [None] if len(keys) == 1 else [_values(cursor, [key])[0] for key in keys]


def _page(cursor: apsw.Cursor, read: Range) -> Page:
    sql = statements(read.space)
    try:
        if read.end is not None:
            text = sql.down if read.reverse else sql.up
            rows = cursor.execute(text, (read.start, read.end))
        else:
            text = sql.down_from_end if read.reverse else sql.up_to_end
            rows = cursor.execute(text, (read.start,))
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return Page([], True)
    return page_of(rows, read)
