"""Answers reads on any connection that has a transaction open."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import apsw

from hashrange.kv import Answer, Counters, Dropped, Get, Head, Key, Page, Range, Read
from hashrange.paging import cut, page_of
from hashrange.storage.sqlite.problems import NO_TABLE, absent_space

_COUNTER = "SELECT number FROM statistics WHERE name = ?"
DROPPED = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'd[0-9]*'"


GET_ROWS = 32
"""The number of rows of a space that one statement reads by key. This takes half the time of one
statement for each row."""


class Statements(NamedTuple):
    """The SQL for one space. Its text is always the same, so that prepared statements are
    reused."""

    get: str
    get_many: str
    get_small: str
    head: str
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
        get_many=f"SELECT key, value FROM s{space:d} WHERE key IN ({', '.join('?' * GET_ROWS)})",
        # SQLite knows the length of a value from the row's header, so values that are too large are
        # not read.
        get_small="SELECT CASE WHEN length(value) > ? THEN x'' ELSE value END "
        f"FROM s{space:d} WHERE key = ?",
        head=f"SELECT ({get}), ifnull(({_COUNTER}), 0)",
        # An upsert: REPLACE would delete the row and rewrite both trees.
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
            if read.bytes_max is not None:
                return [_small_value(cursor, key, read.bytes_max) for key in read.keys]
            if read.weight_max is None:
                return values(cursor, read.keys)
            each = (values(cursor, (key,))[0] for key in read.keys)
            return cut(each, read.weight_max)
        case Range():
            return _page(cursor, read)
        case Counters():
            return [counter(cursor, name) for name in read.names]
        case Head():
            return head(cursor, read)
        case Dropped():
            return dropped(cursor)


def dropped(cursor: apsw.Cursor) -> list[int]:
    return [int(name[1:]) for (name,) in cursor.execute(DROPPED)]


@lru_cache(maxsize=4096)
def _glance(one: int, other: int) -> str:
    return f"SELECT ({statements(one).get}), ({statements(other).get})"


def glance(connection: apsw.Connection, one: Key, other: Key) -> tuple[bytes | None, bytes | None]:
    """The values of two rows, read by one statement, so that both are as of one moment."""
    try:
        rows: tuple[bytes | None, bytes | None]
        rows = connection.execute(_glance(one[0], other[0]), (one[1], other[1])).get
        return rows
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        first, second = [_value(connection, key) for key in (one, other)]
        return first, second


def head(cursor: apsw.Cursor, read: Head) -> tuple[bytes | None, int]:
    space, key = read.key
    try:
        answer: tuple[bytes | None, int]
        answer = cursor.execute(statements(space).head, (key, read.name)).get
        return answer
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return None, counter(cursor, read.name)


def counter(cursor: apsw.Cursor | apsw.Connection, name: bytes) -> int:
    return cursor.execute(_COUNTER, (name,)).get or 0


def values(cursor: apsw.Cursor, keys: Sequence[Key]) -> list[bytes | None]:
    execute = cursor.execute
    try:
        if len(keys) == 1:  # the usual case: calling a comprehension would cost a tenth more
            [(space, key)] = keys
            return [execute(statements(space).get, (key,)).get]
        if len(keys) >= GET_ROWS and len({space for space, _ in keys}) == 1:
            return _many_values(cursor, keys)
        return [execute(statements(space).get, (key,)).get for space, key in keys]
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return [_value(cursor, key) for key in keys]


def _many_values(cursor: apsw.Cursor, keys: Sequence[Key]) -> list[bytes | None]:
    get = statements(keys[0][0]).get_many
    wanted = [key for _, key in keys]
    by_key: dict[bytes, bytes] = {}
    for at in range(0, len(wanted), GET_ROWS):
        some = wanted[at : at + GET_ROWS]
        some += some[-1:] * (GET_ROWS - len(some))
        by_key.update(cursor.execute(get, some))
    return [by_key.get(key) for key in wanted]


def _small_value(cursor: apsw.Cursor, row: Key, bytes_max: int) -> bytes | None:
    space, key = row
    try:
        value: bytes | None = cursor.execute(statements(space).get_small, (bytes_max, key)).get
        return value
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return None


def _value(cursor: apsw.Cursor | apsw.Connection, key: Key) -> bytes | None:
    """The value of one row; None if the row or its space is absent."""
    try:
        value: bytes | None = cursor.execute(statements(key[0]).get, (key[1],)).get
        return value
    except NO_TABLE as error:
        if not absent_space(error):
            raise
        return None


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
