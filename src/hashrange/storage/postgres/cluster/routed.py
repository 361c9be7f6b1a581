"""The reads of the `citus` dialect: a statement names its slots, so Citus sends it to their shards.

PostgreSQL's snapshots do not span nodes. While a transaction over several nodes commits, a reader
may see the new row on one node and the old row on another. So rows that must be as of one moment
are read under row locks, in the order in which writers lock them. A lock waits for a commit that
has begun on the row's node. An absent row cannot be locked, so a row is inserted in its place: the
insertion waits in the same way. Then the transaction is rolled back.

Rows by key are read together with the fences of their slots (see `fences`), in one statement. The
fences replace the catalog's row, which is on one node only.

The statements are kept simple. Citus routes a statement to one shard only if it sees a single value
of the distribution column, and keeps the plan only if the statement has the simplest form.

Two queries go to all shards. One finds the slots of a space that have rows, after a range has come
to a slot without rows (see `walk`). The other returns the totals of counters.
"""

from collections.abc import Sequence
from typing import Any

import asyncpg

from hashrange.kv import (
    CATALOG,
    HEADER_BYTES,
    Conflict,
    Key,
    unpack_weight,
)
from hashrange.storage.postgres.cluster import fences
from hashrange.storage.postgres.cluster.nodes import Nodes
from hashrange.storage.postgres.guards import ABSENT
from hashrange.storage.postgres.keys import Stored, stored
from hashrange.storage.postgres.pool import Pool
from hashrange.storage.postgres.read_statements import (
    BACKWARD,
    COUNTERS,
    DROPPED,
    FORWARD,
    GETS,
    TIME,
    value_of,
)
from hashrange.storage.postgres.reads import Question
from hashrange.storage.postgres.walk import Walk

DEADLOCKS_MAX = 5
"""The largest number of attempts to lock the rows of a read, if there are deadlocks. No pause
between attempts is needed, because PostgreSQL takes a while to detect a deadlock."""

ResultRow = tuple[int, int, bytes | None, bytes | None, int | None, bytes | None]
"""A row of an answer: see the parts of a statement in `read_statements`."""

_DROPPED = "SELECT space FROM dropped"
_TOTALS = "SELECT name, sum(value)::bigint FROM counters WHERE name = ANY ($1) GROUP BY name"
_GETS = """SELECT slot, space, key, version, weight, {value},
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM rows WHERE slot = {slots} AND space = ANY ($2) AND key = ANY ($3)"""
_LOCK = "SELECT version, value FROM rows WHERE space = $1 AND slot = $2 AND key = $3 FOR SHARE"
INSERT = (
    "INSERT INTO rows (space, slot, key, rest, version, weight, value) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (space, slot, key) DO NOTHING"
)


async def ask(connection: Any, question: Question, values: bool = True) -> set[int]:
    """Answer a question, with more statements if a page is not full and its range has more rows.

    Without `values`, only the keys and versions of rows are read. The caller must have begun a
    transaction: without one, Citus would open a connection to each shard.

    Returns the versions of the fences that would block the commit of a transaction with these
    reads: see `in_the_way`. Raises Fenced, a Conflict, if these fences prevent an answer.

    The dropped spaces are read last. So if rows are missing because their space is being emptied,
    the space is known to be dropped. If the fences are open, reads by key do not need the dropped
    spaces, because no space that the reader knows has been dropped.
    """
    rows, met = await _rows(connection, question, values)
    counted = await totals(connection, question) if question.names else []
    while True:
        pages: list[ResultRow] = []
        for part, reverse in (FORWARD, False), (BACKWARD, True):
            asked = [each for each in question.ranges if each.read.reverse == reverse]
            for i, each in enumerate(asked, 1):
                rows_found = await Walk(connection, each, reverse, values).rows()
                pages += [(part, i, *row) for row in rows_found]
        dropped: list[ResultRow] = []
        sees_spaces = question.sees_spaces(fenced=CATALOG in question.keys)
        if question.lists_dropped or sees_spaces or met:
            spaces = await connection.fetch(_DROPPED)
            dropped = [(DROPPED, row["space"], None, None, None, None) for row in spaces]
        if question.take([*dropped, *rows, *counted, *pages]):
            return met


async def _rows(
    connection: Any, question: Question, values: bool
) -> tuple[list[ResultRow], set[int]]:
    """Read the rows by key and, if the question requests them, the time and the catalog's row.

    Returns the rows of the answer, and the versions of the fences that would block the commit of a
    transaction with these reads: see `in_the_way`.
    """
    asked: dict[tuple[int, int, bytes], int] = {}
    for key, place in question.keys.items():
        if key not in question.bounds and key != CATALOG:
            asked[_place(key)] = place + 1
    fenced = CATALOG in question.keys
    slots = {slot for slot, _, _ in asked}
    if not slots:
        if not (fenced or question.time):
            return [], set()
        slots = {min(question.slots)}
    spaces, keys = {space for _, space, _ in asked}, {key for _, _, key in asked}
    if fenced or question.time:
        spaces.add(fences.SPACE)
        keys.add(b"")
    value = value_of("value", values or fenced, question.bytes_max)
    arguments = list(spaces), list(keys)
    if len(slots) == 1:
        text = _GETS.format(value=value, slots="$1")
        fetched = await connection.fetch(text, *slots, *arguments)
    else:
        text = _GETS.format(value=value, slots="ANY ($1)")
        fetched = await connection.fetch(text, list(slots), *arguments)
    rows: list[ResultRow] = []
    states: list[tuple[int, int, bytes | None]] = []
    now = 0
    for slot, space, key, version, weight, content, milliseconds in fetched:
        now = max(now, milliseconds)
        if space == fences.SPACE:
            states.append((version, weight, content))
        elif (slot, space, key) in asked:
            rows.append((GETS, asked[slot, space, key], None, None, version, content))
    met: set[int] = set()
    if fenced:
        assert len(states) == len(slots), "each slot must have a fence"
        met = in_the_way(states, question)
        version, _, content = states[0]
        if content:
            rows.append((GETS, question.keys[CATALOG] + 1, None, None, version, content))
    if question.time:
        rows.append((TIME, 0, None, None, now, None))
    return rows, met


def _place(key: Key) -> tuple[int, int, bytes]:
    at = stored(key)
    return at.slot, at.space, at.key


def in_the_way(states: Sequence[tuple[int, int, bytes | None]], question: Question) -> set[int]:
    """The versions of the fences that would block the commit of a transaction with these reads.

    Every closed fence blocks it. Fences with different versions all block it. `states` has the
    version, the weight and the value of each fence. Raises Fenced if a fence would block a question
    of a transaction, or if fences hold different definitions.

    While fences are closed, reads outside a transaction use the definitions from before the change,
    because the change has not been acknowledged yet.
    """
    versions = {version for version, _, _ in states}
    met = versions if len(versions) > 1 else set()
    met |= {version for version, weight, _ in states if weight == fences.CLOSED}
    if (met and question.compared) or len({value for _, _, value in states}) > 1:
        raise Fenced(met)
    return met


class Fenced(Conflict):
    """The definitions of tables are being changed; `met` has the versions of the fences that block
    the transaction's commit."""

    def __init__(self, met: set[int]) -> None:
        super().__init__("the definitions of tables are being changed")
        self.met = met


async def totals(connection: Any, question: Question) -> list[ResultRow]:
    """The totals of the counters that the question requests."""
    rows = await connection.fetch(_TOTALS, list(question.names))
    return [(COUNTERS, question.names[name] + 1, None, None, n, None) for name, n in rows]


async def read_under_locks(pool: Pool, nodes: Nodes, question: Question) -> None:
    """Read under locks the rows that must be as of one moment, and put them into `question`."""
    for left in reversed(range(DEADLOCKS_MAX)):
        try:
            async with pool.connection() as connection:
                await connection.execute(pool.begin("READ COMMITTED"))
                await _read_locked(connection, nodes, question)
                await connection.execute("ROLLBACK")
            return
        except asyncpg.DeadlockDetectedError:
            if not left:
                raise


async def _read_locked(connection: Any, nodes: Nodes, question: Question) -> None:
    """Lock the rows that must be as of one moment, and put them into `question`.

    Existing rows are locked in the order of `nodes`; then rows are inserted in place of absent
    ones. The transaction must be rolled back.
    """
    weights: dict[int, int] = {}
    absent: list[Key] = []

    def keep(key: Key, row: Any) -> None:
        read, weight_max = question.bounds[key]
        before = weights.get(read, 0)
        weights[read] = before + unpack_weight(row["value"])[0]
        whole = weight_max is None or before <= weight_max
        value = row["value"] if whole else row["value"][:HEADER_BYTES]
        question.rows[question.keys[key]] = row["version"], value

    for key in sorted(question.bounds, key=lambda key: nodes.order(stored(key))):
        row = await connection.fetchrow(_LOCK, *stored(key)[:3])
        if row is None:
            absent.append(key)
        else:
            keep(key, row)
    for key in absent:
        row = await _kept_absent(connection, stored(key))
        if row is None:
            question.rows[question.keys[key]] = None
        else:
            keep(key, row)
    question.dropped = {row["space"] for row in await connection.fetch(_DROPPED)}


async def _kept_absent(connection: Any, at: Stored) -> Any:
    """Insert a row in place of an absent one, and return None. If another transaction has inserted
    the row meanwhile, lock and return its row instead."""
    while await connection.execute(INSERT, *at, ABSENT, 0, b"") != "INSERT 0 1":
        row = await connection.fetchrow(_LOCK, *at[:3])
        if row is not None:
            return row
    return None
