"""The reads and writes of the `citus` dialect: each statement names one slot, so one shard.

Citus spreads slots over nodes. If a transaction writes to several nodes, it commits in two phases,
and for a moment a reader sees the new row on one node and the old one on another: PostgreSQL's
snapshots do not span nodes. Three things make up for that:

- Rows that must come from one moment are read under row locks, in the order of the keys. A lock
  waits for a commit that has begun on the node of the row. A key without a row cannot be locked, so
  a row is inserted, which waits in the same way, and the transaction is rolled back.
- A commit looks again, under such locks, at all that the transaction has read.
- A row that is deleted unread is first written, because a deletion does not wait for a row whose
  commit another node shows already, but this one does not.

The statements are kept simple, because Citus routes a statement to one shard only if it sees one
value of the distribution column, and changes one row at a time in the plainest way. Three questions
go to all shards: the next slot of a space that has rows, the next space, and the total of a
counter.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from hashrange.kv import (
    CATALOG,
    HEADER_BYTES,
    SLOTS,
    Append,
    Conflict,
    Key,
    slot_of,
    unpack_weight,
)
from hashrange.storage.postgres.guards import ABSENT, Guards
from hashrange.storage.postgres.keys import Stored, stored
from hashrange.storage.postgres.reads import (
    BACKWARD,
    COUNTERS,
    DROPPED,
    FORWARD,
    GETS,
    TIME,
    Asked,
    Question,
    value_of,
)
from hashrange.storage.postgres.writes import Folded

Found = tuple[int, int, bytes | None, bytes | None, int | None, bytes | None]
"""A row of an answer: see the parts of a statement in `reads`."""

_CLOCK = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_DROPPED = "SELECT space FROM dropped"
_TOTALS = "SELECT name, sum(value)::bigint FROM counters WHERE name = ANY ($1) GROUP BY name"
_GETS = "SELECT key, version, {value} FROM rows WHERE slot = $1 AND space = $2 AND key = ANY ($3)"
_PAGE = """SELECT key, rest, version, weight, {value} FROM (
    SELECT *, sum(weight) OVER (ORDER BY key {order} ROWS UNBOUNDED PRECEDING) - weight AS before
    FROM (SELECT * FROM rows WHERE space = $1 AND slot = $2 AND key >= $3
        AND ($4::bytea IS NULL OR key < $4) ORDER BY key {order} LIMIT $5) first) weighed
WHERE $6::bigint IS NULL OR before < $6 ORDER BY key {order}"""
_NEXT = {
    FORWARD: "SELECT min(slot) FROM rows WHERE space = $1 AND slot BETWEEN $2 AND $3",
    BACKWARD: "SELECT max(slot) FROM rows WHERE space = $1 AND slot BETWEEN $2 AND $3",
}
_NEXT_SPACE = "SELECT min(space) FROM rows WHERE space > $1"

_AT = "space = $1 AND slot = $2 AND key = $3"
_LOCK = f"SELECT version, value FROM rows WHERE {_AT} FOR SHARE"
_HOLD = f"SELECT 1 FROM rows WHERE {_AT} FOR UPDATE"
_INSERT = (
    "INSERT INTO rows (space, slot, key, rest, version, weight, value) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (space, slot, key) "
)
INSERT = _INSERT + "DO NOTHING"
UPSERT = _INSERT + (
    "DO UPDATE SET version = excluded.version, weight = excluded.weight, value = excluded.value"
)
UPDATE = f"UPDATE rows SET version = $5, weight = $6, value = $7 WHERE {_AT} AND version = $4"
DELETE = f"DELETE FROM rows WHERE {_AT} AND version = $4"
_HEAD = """INSERT INTO log_heads (space, slot, number, prefix) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, slot) DO UPDATE SET number = log_heads.number + excluded.number,
    prefix = greatest(log_heads.prefix, excluded.prefix) RETURNING number, prefix"""
_COUNTER = """INSERT INTO counters (name, slot, value) VALUES ($1, $2, $3)
ON CONFLICT (name, slot) DO UPDATE SET value = counters.value + excluded.value"""


# ---- reads ----


async def ask(connection: Any, question: Question, values: bool = True) -> None:
    """Ask until all pages are full or at their end.

    Dropped spaces are asked for last. So if rows are missing because their space is being emptied,
    the space is known to be dropped.
    """
    keys = [key for key in question.keys if key not in question.bounds]
    rows = await _rows(connection, keys, question, values) if keys else []
    totals = await _totals(connection, question) if question.names else []
    while True:
        pages: list[Found] = []
        for part, reverse in (FORWARD, False), (BACKWARD, True):
            asked = [each for each in question.ranges if each.read.reverse == reverse]
            for i, each in enumerate(asked, 1):
                pages += await _range(connection, part, i, each, values)
        found = [
            (DROPPED, row["space"], None, None, None, None)
            for row in await connection.fetch(_DROPPED)
        ]
        if question.time:
            found.append((TIME, 0, None, None, await connection.fetchval(_CLOCK), None))
        if question.take([*found, *rows, *totals, *pages]):
            return


async def _rows(
    connection: Any, keys: Sequence[Key], question: Question, values: bool
) -> list[Found]:
    slots: dict[tuple[int, int], dict[bytes, int]] = {}
    for key in keys:
        at = stored(key)
        slots.setdefault((at.slot, at.space), {})[at.key] = question.keys[key] + 1
    statement = _GETS.format(value=value_of("value", values, question.bytes_max))
    found: list[Found] = []
    for (slot, space), places in slots.items():
        for key, version, value in await connection.fetch(statement, slot, space, list(places)):
            found.append((GETS, places[key], None, None, version, value))
    return found


async def _totals(connection: Any, question: Question) -> list[Found]:
    totals = await connection.fetch(_TOTALS, list(question.names))
    return [(COUNTERS, question.names[name] + 1, None, None, n, None) for name, n in totals]


async def _range(connection: Any, part: int, i: int, asked: Asked, values: bool) -> list[Found]:
    """Slot by slot, until there are enough rows or enough weight."""
    space, first, start, last, end, rows_left, weight_left = asked.arguments()
    text = _PAGE.format(
        order="DESC" if part == BACKWARD else "ASC", value="value" if values else "NULL::bytea"
    )
    found: list[Found] = []
    low, high = first, last if end else last - 1
    while low <= high:
        slot = low
        if low < high:
            slot = await connection.fetchval(_NEXT[part], space, low, high)
            if slot is None:
                break
        page = await connection.fetch(
            text,
            *(space, slot, start if slot == first else b"", end if slot == last else None),
            *(rows_left, weight_left),
        )
        found += [(part, i, key, rest, version, value) for key, rest, version, _, value in page]
        if rows_left is not None:
            rows_left -= len(page)
        if weight_left is not None:
            weight_left -= sum(row["weight"] for row in page)
        if rows_left == 0 or (weight_left is not None and weight_left <= 0):
            break
        low, high = (low, slot - 1) if part == BACKWARD else (slot + 1, high)
    return found


async def read_locked(connection: Any, question: Question) -> None:
    """Lock the rows that must be of one moment, and put their values into `question`.

    They are locked in the order of the keys. The transaction must be rolled back.
    """
    weights: dict[int, int] = {}
    for key in sorted(question.bounds, key=stored):
        read, weight_max = question.bounds[key]
        row = await _locked(connection, stored(key))
        if row is not None:
            version, value = row
            before = weights.get(read, 0)
            weights[read] = before + unpack_weight(value)[0]
            whole = weight_max is None or before <= weight_max
            row = version, value if whole else value[:HEADER_BYTES]
        question.rows[question.keys[key]] = row
    question.dropped = {row["space"] for row in await connection.fetch(_DROPPED)}


async def _locked(connection: Any, at: Stored) -> tuple[int, bytes] | None:
    while True:
        row = await connection.fetchrow(_LOCK, *at[:3])
        if row is not None:
            return row["version"], row["value"]
        if await connection.execute(INSERT, *at, ABSENT, 0, b"") == "INSERT 0 1":
            return None


async def pages(fetch: Any, rows_max: int) -> AsyncIterator[list[Any]]:
    """All rows, a page at a time. `fetch` runs a statement."""
    space = -1
    while True:
        [[space]] = await fetch(_NEXT_SPACE, space)
        if space is None:
            return
        slot = 0
        while True:
            [[slot]] = await fetch(_NEXT[FORWARD], space, slot, SLOTS)
            if slot is None:
                break
            after = b""
            while True:
                page = await fetch(
                    "SELECT space, slot, key, rest, weight, value FROM rows "
                    "WHERE space = $1 AND slot = $2 AND key >= $3 ORDER BY key LIMIT $4",
                    *(space, slot, after, rows_max),
                )
                yield page
                if len(page) < rows_max:
                    break
                after = page[-1]["key"] + b"\0"
            slot += 1


# ---- writes ----


async def lock(connection: Any, places: Sequence[Stored]) -> None:
    """Lock the rows at these places, as far as they are there."""
    for at in places:
        await connection.execute(_HOLD, *at[:3])


async def write(connection: Any, folded: Folded, guards: Guards, version: int) -> None:
    """Write, and look again under locks at all that was read, both in the order of the keys.

    Raises Conflict if something is no longer as it was read.
    """
    rows, known = folded.rows, guards.versions
    for at, key in sorted((stored(key), key) for key in rows.keys() | known.keys()):
        if key in rows:
            await _write_row(connection, at, known.get(key), rows[key], version)
        else:
            await _keep_row(connection, at, known[key], key == CATALOG)
    slot = slot_of_commit(folded)
    for name in sorted(folded.added):
        await connection.execute(_COUNTER, name, slot, folded.added[name])
    await _append(connection, folded.appended, version)


def slot_of_commit(folded: Folded) -> int:
    """The slot for the id of a transaction and its counters: one that it writes to anyway."""
    if folded.rows:
        return min(slot_of(key) for _, key in folded.rows)
    return folded.appended[0].slot if folded.appended else 0


async def _write_row(
    connection: Any, at: Stored, known: int | None, value: bytes | None, version: int
) -> None:
    new = (version, unpack_weight(value)[0] if value is not None else 0, value or b"")
    if known is None:
        await connection.execute(UPSERT, *at, *new)
    elif known == ABSENT:
        _expect(await connection.execute(INSERT, *at, *new))
    elif value is None:
        _expect(await connection.execute(DELETE, *at[:3], known))
    else:
        _expect(await connection.execute(UPDATE, *at[:3], known, *new))
    if value is None and not known:
        await connection.execute(DELETE, *at[:3], version)


async def _keep_row(connection: Any, at: Stored, known: int, fenced: bool) -> None:
    """Make sure that a row stays as it was read. The row of the catalog is `fenced` already."""
    if fenced:
        found = await connection.fetchval(f"SELECT version FROM rows WHERE {_AT}", *at[:3])
    elif known == ABSENT:
        _expect(await connection.execute(INSERT, *at, ABSENT, 0, b""))
        await connection.execute(DELETE, *at[:3], ABSENT)
        return
    else:
        found = await connection.fetchval(_LOCK, *at[:3])
    if (found or ABSENT) != known:
        raise Conflict("a row that was read has changed")


def _expect(status: str) -> None:
    if not status.endswith(" 1"):
        raise Conflict("a row that was read has changed")


async def _append(connection: Any, appended: Sequence[Append], version: int) -> None:
    slots: dict[tuple[int, int], list[Append]] = {}
    for append in appended:
        slots.setdefault((append.space, append.slot), []).append(append)
    for (space, slot), records in sorted(slots.items()):
        latest = max(record.prefix for record in records)
        number, prefix = await connection.fetchrow(_HEAD, space, slot, len(records), latest)
        for at, record in enumerate(records, number - len(records) + 1):
            place = stored((space, prefix + at.to_bytes(8, "big")))
            weight = unpack_weight(record.value)[0]
            await connection.execute(INSERT, *place, version, weight, record.value)


async def purge(connection: Any, space: int, rows_max: int) -> None:
    """Delete rows of a space that is dropped, and forget the space with its last row."""
    if not await connection.fetchval("SELECT count(*) FROM dropped WHERE space = $1", space):
        return
    while rows_max > 0:
        slot = await connection.fetchval(_NEXT[FORWARD], space, 0, SLOTS)
        if slot is None:
            break
        rows = await connection.fetch(
            "SELECT key FROM rows WHERE space = $1 AND slot = $2 LIMIT $3", space, slot, rows_max
        )
        keys = [row["key"] for row in rows]
        await connection.execute(
            "DELETE FROM rows WHERE space = $1 AND slot = $2 AND key = ANY ($3)", space, slot, keys
        )
        rows_max -= len(keys)
    if await connection.fetchval(_NEXT[FORWARD], space, 0, SLOTS) is None:
        await connection.execute("DELETE FROM dropped WHERE space = $1", space)
        heads = await connection.fetch("SELECT slot FROM log_heads WHERE space = $1", space)
        for head in heads:
            await connection.execute(
                "DELETE FROM log_heads WHERE space = $1 AND slot = $2", space, head["slot"]
            )


async def forget(connection: Any, before: bytes) -> None:
    """Delete the ids of old commits, slot by slot."""
    slots = await connection.fetch("SELECT DISTINCT slot FROM batches WHERE id < $1", before)
    for row in slots:
        await connection.execute(
            "DELETE FROM batches WHERE slot = $1 AND id < $2", row["slot"], before
        )
