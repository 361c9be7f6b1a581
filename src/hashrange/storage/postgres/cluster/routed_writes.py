"""The writes of the `citus` dialect: a statement names its slots, so Citus sends it to their
shards.

A commit checks again, under row locks, everything that the transaction has read. A row that is
deleted without having been read is written first: a deletion alone would miss a row whose commit is
not visible on this node yet, while a write waits for this commit. After all writes, one fence at
each node must still have the version by which the transaction was decided: see `fences`.

Ranges that were read are guarded by an advisory lock for each space, at each node. A writer takes
this lock in shared mode after it has written, because only then is a shard sure to stay in place. A
transaction that has read a range takes the lock exclusively before it checks the range again. If
the lock is taken, an ordinary writer does not wait but fails with a Conflict, because the holder
may be waiting for rows of this writer. A locking transaction does wait: it has lost races already,
and would lose again while other transactions read the range. If it and the holder wait for each
other, PostgreSQL or Citus ends one of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

from hashrange.kv import (
    CATALOG,
    SLOTS,
    SYSTEM_SPACE,
    Append,
    Conflict,
    Range,
    slot_of,
    unpack_weight,
)
from hashrange.storage.postgres.cluster import fences
from hashrange.storage.postgres.cluster.nodes import Nodes
from hashrange.storage.postgres.cluster.routed import INSERT
from hashrange.storage.postgres.guards import ABSENT, DROPPED_LIST, Guards
from hashrange.storage.postgres.keys import Stored, first_after, first_from, stored
from hashrange.storage.postgres.writes import Folded

_AT = "space = $1 AND slot = $2 AND key = $3"
_LOCK = f"SELECT version FROM rows WHERE {_AT} FOR SHARE"
_HOLD = f"SELECT 1 FROM rows WHERE {_AT} FOR UPDATE"
UPSERT = INSERT.removesuffix("NOTHING") + (
    "UPDATE SET version = excluded.version, weight = excluded.weight, value = excluded.value"
)
UPDATE = f"UPDATE rows SET version = $5, weight = $6, value = $7 WHERE {_AT} AND version = $4"
DELETE = """DELETE FROM rows
WHERE space = $1 AND slot = ANY ($2) AND key = ANY ($3) AND version = ANY ($4)
RETURNING key, version"""
_CATALOG = f"SELECT version, value FROM rows WHERE {_AT}"
_RAISE = f"UPDATE rows SET version = $5 WHERE {_AT} AND version = $4"
_HEAD = """INSERT INTO log_heads (space, slot, number, prefix) VALUES ($1, $2, $3, $4)
ON CONFLICT (space, slot) DO UPDATE SET number = log_heads.number + excluded.number,
    prefix = greatest(log_heads.prefix, excluded.prefix) RETURNING number, prefix"""
_COUNTERS = """INSERT INTO counters (slot, name, value) VALUES {}
ON CONFLICT (name, slot) DO UPDATE SET value = counters.value + excluded.value"""
_FENCE = f"SELECT version, weight{{}} FROM rows WHERE space = {fences.SPACE} AND slot = $1"
_TRY_LOCK = ", pg_try_advisory_xact_lock_shared($2, ${})"
_WAIT_FOR_LOCK = ", pg_advisory_xact_lock_shared($2, ${})::text = ''"
_ALONE = (
    f"SELECT pg_advisory_xact_lock($2, $3) FROM rows WHERE space = {fences.SPACE} AND slot = $1"
)
_SPACES = "SELECT count(*) FROM spaces WHERE space = ANY ($1)"
_FIRST = "SELECT min(slot) FROM rows WHERE space = $1"
ROWS_PER_INSERT = 64, 16, 4, 1
SLOT_OF_LISTS = 0
"""The lock of the list of dropped spaces is taken at the node of this slot."""


async def lock(connection: Any, nodes: Nodes, places: Sequence[Stored]) -> None:
    """Lock the existing rows at these places."""
    for at in sorted(places, key=nodes.order):
        await connection.execute(_HOLD, *at[:3])


async def lock_alone(
    connection: Any, nodes: Nodes, namespace: int, ranges: Iterable[Range], lists: bool
) -> None:
    """Take exclusively the locks of the spaces of these ranges, at each node that has a part of a
    range.

    With `lists`, also take the lock of the list of dropped spaces.
    """
    wanted: set[tuple[int, int]] = set()
    for one in ranges:
        first, (last, end) = first_from(one.start)[0], first_after(one.end)
        slots = range(first, min(last + bool(end), SLOTS))
        wanted |= {(one.space, slot) for slot in nodes.one_of_each(slots)}
    if lists:
        wanted.add((DROPPED_LIST, SLOT_OF_LISTS))
    for number, slot in sorted(wanted):
        await connection.fetch(_ALONE, slot, namespace, number)


async def write(
    connection: Any, nodes: Nodes, folded: Folded, guards: Guards, version: int
) -> None:
    """Write `folded`, and check again under locks everything that was read (`guards`).

    The locks are taken in the same order as by transactions at one node. All written rows get the
    version `version`. Raises Conflict if something has changed since it was read.
    """
    rows, known = folded.rows, guards.versions
    absent: list[Stored] = []
    unknown: list[Stored] = []
    new: dict[Stored, bytes | None] = {}
    deleted: list[tuple[Stored, int]] = []
    keys = {stored(key): key for key in rows.keys() | known.keys()}
    for at in sorted(keys, key=nodes.order):
        key = keys[at]
        value = rows.get(key)
        if key == CATALOG and key not in rows:  # its fence guards it
            continue
        if known.get(key) in (None, ABSENT):
            (absent if key in known else unknown).append(at)
            new[at] = value
            continue
        if deleted and not _are_together(nodes, deleted[0][0], at):
            await _delete(connection, deleted)
            deleted = []
        if key in rows and value is None:
            deleted.append((at, known[key]))
            continue
        await _delete(connection, deleted)
        deleted = []
        if value is None:
            await _keep_row(connection, at, known[key])
        else:
            await _update(connection, at, known[key], value, version)
    await _delete(connection, deleted)
    await _put(connection, INSERT, absent, new, version)
    await _put(connection, UPSERT, unknown, new, version)
    for _, group in groupby(sorted(at for at in new if new[at] is None), attrgetter("space")):
        await _delete(connection, [(at, version) for at in group])
    if folded.added:
        slot, names = slot_of_commit(folded), sorted(folded.added)
        values = ", ".join(f"($1, ${2 * i + 2}, ${2 * i + 3})" for i in range(len(names)))
        pairs = [each for name in names for each in (name, folded.added[name])]
        await connection.execute(_COUNTERS.format(values), slot, *pairs)
    await _append(connection, folded.appended, version)


def slot_of_commit(folded: Folded) -> int:
    """The slot for the id and the counters of a transaction: a slot that it writes to anyway."""
    if folded.rows:
        return min(slot_of(key) for _, key in folded.rows)
    return folded.appended[0].slot if folded.appended else SLOT_OF_LISTS


def slots_of(folded: Folded, guards: Guards) -> set[int]:
    """The slots that a commit concerns."""
    slots = {slot_of(key) for space, key in folded.rows.keys() | guards.versions.keys()
             if (space, key) != CATALOG or (space, key) in folded.rows}  # fmt: skip
    for append in folded.appended:
        slots |= {append.slot, slot_of(append.prefix)}
    slots |= {first_from(again.start)[0] for again, _ in guards.ranges}
    return slots or {slot_of_commit(folded)}


async def pass_fences(
    connection: Any,
    nodes: Nodes,
    namespace: int,
    folded: Folded,
    closed: int | None,
    known: Any,
    waits: bool,
) -> None:
    """Check that the transaction was decided by the present definitions of tables, and take the
    shared locks of the spaces that it writes to.

    Raises `Conflict` unless the fence at each node is open and has the version `known` (None: any
    version). A transaction that changes definitions has closed the fences itself; its fences must
    have the number `closed` instead. If a lock is not free, the transaction waits for the lock if
    `waits` is true; otherwise `Conflict` is raised.
    """
    spaces: dict[int, set[int]] = {}
    for space, key in folded.rows:
        spaces.setdefault(slot_of(key), set()).add(space)
    for append in folded.appended:
        for slot in append.slot, slot_of(append.prefix):
            spaces.setdefault(slot, set()).add(append.space)
    if not spaces:
        spaces[slot_of_commit(folded)] = set()
    for slot, numbers in _by_node(nodes, spaces).items():
        shared = sorted(numbers | {SYSTEM_SPACE})
        lock = _WAIT_FOR_LOCK if waits else _TRY_LOCK
        locks = "".join(lock.format(i + 3) for i in range(len(shared)))
        fetched = await connection.fetchrow(_FENCE.format(locks), slot, namespace, *shared)
        assert fetched is not None, "each slot must have a fence"
        version, weight, *locked = fetched
        if not all(locked):
            raise Conflict("another transaction is reading a range that this one writes to")
        if closed is not None:
            passes = version == closed and weight == fences.CLOSED
        else:
            passes = weight == fences.OPEN and known in (None, version)
        if not passes:
            raise Conflict("the definitions of tables have changed")


def _by_node(nodes: Nodes, spaces: Mapping[int, set[int]]) -> dict[int, set[int]]:
    """The spaces that are written to at each node, by one of the node's slots. `spaces` has the
    spaces that are written to in each slot."""
    by_slot: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    for slot, numbers in sorted(spaces.items()):
        at = first.setdefault(nodes.of(slot).number, slot)
        by_slot.setdefault(at, set()).update(numbers)
    return by_slot


async def catalog_after(
    connection: Any, folded: Folded, known: int | None, version: int
) -> tuple[int, bytes]:
    """The version and the value of the catalog's row after a change of definitions.

    If the change has not written the row, the row gets a new version here. Then no other change
    that was decided before this one can commit.
    """
    if folded.changes_catalog:
        return version, folded.rows[CATALOG] or b""
    at = stored(CATALOG)
    row = await connection.fetchrow(_CATALOG, *at[:3])
    if row is None:  # nothing is defined yet
        return ABSENT, b""
    if known is not None and row["version"] != known:
        raise Conflict("the definitions of tables have changed")
    _expect(await connection.execute(_RAISE, *at[:3], row["version"], version))
    return version, row["value"]


async def are_there(connection: Any, spaces: Iterable[int]) -> bool:
    wanted = sorted(spaces)
    return not wanted or await connection.fetchval(_SPACES, wanted) == len(wanted)


async def _update(connection: Any, at: Stored, known: int, value: bytes, version: int) -> None:
    new = version, unpack_weight(value)[0], value
    _expect(await connection.execute(UPDATE, *at[:3], known, *new))


def _are_together(nodes: Nodes, one: Stored, other: Stored) -> bool:
    return one.space == other.space and nodes.of(one.slot) is nodes.of(other.slot)


async def _delete(connection: Any, places: Sequence[tuple[Stored, int]]) -> None:
    """Delete rows of one space with one statement. `places` has the place and the known version of
    each row. If all rows are at one node, Citus sends the statement to this node only."""
    if not places:
        return
    slots, keys = sorted({at.slot for at, _ in places}), [at.key for at, _ in places]
    versions = list({known for _, known in places})
    rows = await connection.fetch(DELETE, places[0][0].space, slots, keys, versions)
    if {tuple(row) for row in rows} != {(at.key, known) for at, known in places}:
        raise Conflict("a row that was read has changed")


async def _put(
    connection: Any,
    statement: str,
    places: Sequence[Stored],
    new: Mapping[Stored, bytes | None],
    version: int,
) -> None:
    """Insert rows, several with each statement, because most of a statement's cost is planning.

    Rows to delete, and rows that must remain absent, are inserted as well. If another transaction
    has inserted the same row, an insertion waits for it, even if this node does not show the row
    yet.
    """
    for size in ROWS_PER_INSERT:
        while len(places) >= size:
            some, places = places[:size], places[size:]
            arguments: list[Any] = []
            for at in some:
                value = new[at] or b""
                arguments += (*at, version, unpack_weight(value)[0] if value else 0, value)
            status = await connection.execute(_with_rows(statement, size), *arguments)
            _expect(status, size)


@lru_cache
def _with_rows(statement: str, count: int) -> str:
    start, values, end = statement.partition("($1, $2, $3, $4, $5, $6, $7)")
    width = values.count("$")
    rows = ["$" + ", $".join(map(str, range(i, i + width))) for i in range(1, count * width, width)]
    return start + ", ".join(f"({row})" for row in rows) + end


async def _keep_row(connection: Any, at: Stored, known: int) -> None:
    """Lock a row that was read. Raises Conflict unless it still has the version `known`."""
    if await connection.fetchval(_LOCK, *at[:3]) != known:
        raise Conflict("a row that was read has changed")


def _expect(status: str, rows: int = 1) -> None:
    if not status.endswith(f" {rows}"):
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
    """Delete at most `rows_max` rows of a dropped space. After its last row, forget the space."""
    if not await connection.fetchval("SELECT count(*) FROM dropped WHERE space = $1", space):
        return
    while rows_max > 0:
        slot = await connection.fetchval(_FIRST, space)
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
    if await connection.fetchval(_FIRST, space) is None:
        await connection.execute("DELETE FROM dropped WHERE space = $1", space)
        heads = await connection.fetch("SELECT slot FROM log_heads WHERE space = $1", space)
        for head in heads:
            await connection.execute(
                "DELETE FROM log_heads WHERE space = $1 AND slot = $2", space, head["slot"]
            )
