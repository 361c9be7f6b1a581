"""Snapshots of the nodes of a cluster, from which a snapshot of the database reads.

PostgreSQL's snapshots do not span nodes, so each node that is asked takes its own snapshot. The
statements name the tables of the node's shards: Citus would plan and execute them for each shard.

A shard may move to another node. The reader of a range over the node's shards locks their tables,
and then checks that the shards were on the node at the moment of the snapshot. So the snapshot
shows all rows of the shards. If a shard has moved since the first snapshot was taken, all snapshots
are given up, and the reads begin again. Citus itself would read the shard from a snapshot that may
be older than the shard's rows on the new node, and would miss these rows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import asyncpg

from hashrange.kv import CATALOG, StoreError
from hashrange.storage.postgres.cluster import direct, routed
from hashrange.storage.postgres.cluster.merging import (
    Bounds,
    Merge,
    Row,
    Stream,
    begin_and_rest,
    together,
)
from hashrange.storage.postgres.cluster.nodes import Node, Nodes
from hashrange.storage.postgres.pool import Pool, rolled_back
from hashrange.storage.postgres.problems import ERRORS
from hashrange.storage.postgres.read_statements import (
    BACKWARD,
    DROPPED,
    FORWARD,
    PLACED,
    statement,
)
from hashrange.storage.postgres.reads import Asked, Question, columns
from hashrange.storage.postgres.tables import Source

SNAPSHOT = "REPEATABLE READ READ ONLY"
PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
"""Lets a snapshot be idle for a minute. It is idle while other nodes are asked, or while it waits
for one of the `places`."""


class Held:
    """A connection from `pool` to a node, in a transaction with a snapshot. `rows` is the union of
    the tables that has all rows of the node, and `tables` has the table of each slot."""

    def __init__(self, connection: Any, pool: Pool, node: Node) -> None:
        self.connection = connection
        self.pool = pool
        self.node = node
        self.rows, self.tables = node.rows, node.tables
        self.numbers = [shard.number for shard in node.shards if shard.number is not None]
        self.is_locked = False
        """Whether the tables of the node's shards are locked."""
        self.is_checked = False
        """Whether the shards were on the node at the moment of the snapshot."""


async def _give_back(held: Held, error: BaseException) -> None:
    """Give a connection back after an error. If the transaction can be rolled back, the pool keeps
    the connection."""
    if not isinstance(error, StoreError):
        await held.pool.take_back(held.connection, error)
        return
    sound = False
    try:
        sound = await rolled_back(held.connection)
    finally:
        held.pool.give(held.connection, sound)


class NodeSnapshots:
    """The snapshots of the nodes that have been asked so far.

    If the first question concerns only one node, its snapshot uses a connection of the node's pool
    `near`. All other snapshots use the pools `reading`, and together they hold one of the `places`.
    Each pool `reading` has as many connections as there are places, so a reader that has a place
    never waits for a connection. `noting` awaits an answer, and notes the fences that would block
    the commit of a transaction; `explained` explains an error.
    """

    def __init__(
        self,
        nodes: Nodes,
        places: asyncio.Semaphore,
        noting: Callable[[Awaitable[set[int]]], Awaitable[None]],
        explained: Callable[[BaseException], BaseException],
    ) -> None:
        self._nodes = nodes
        self._changes = nodes.changes
        self._places = places
        self._noting = noting
        self._explained = explained
        self._held: dict[Pool, Held] = {}
        """Maps the `reading` pool of each node to the node's snapshot."""
        self._dropped: set[int] = set()
        self._has_place = self._closed = False

    async def ask(self, question: Question, values: bool = True) -> None:
        """Answer a question. An error closes the snapshots."""
        try:
            await self.begin(question, values)
        except BaseException as error:
            raise self._explained(error) from None

    async def begin(self, question: Question, values: bool = True) -> None:
        """Like `ask`, but raises the errors of asyncpg unchanged, so that the caller can try new
        snapshots."""
        if self._closed:
            raise StoreError("the snapshot is closed")
        try:
            await self._noting(self._ask(question, values))
        except BaseException as error:
            await self._drop(error)
            raise

    async def close(self) -> None:
        self._closed = True
        try:
            await together(held.connection.execute("COMMIT") for held in self._held.values())
        except BaseException as error:
            await self._drop(error)
            if not isinstance(error, ERRORS):
                raise
        snapshots, self._held = self._held, {}
        for held in snapshots.values():
            held.pool.give(held.connection)
        self._leave_place()

    async def _drop(self, error: BaseException) -> None:
        """Give all connections back after an error, even if this task is cancelled meanwhile."""
        self._closed = True
        snapshots, self._held = list(self._held.values()), {}
        try:
            while snapshots:
                await _give_back(snapshots.pop(), error)
        finally:
            for held in snapshots:
                held.pool.give(held.connection, sound=False)
            self._leave_place()

    def _leave_place(self) -> None:
        if self._has_place:
            self._has_place = False
            self._places.release()

    # ---- questions ----

    async def _ask(self, question: Question, values: bool) -> set[int]:
        """Answer a question. Returns the versions of the fences that block a commit: see
        `routed.ask`."""
        nodes = self._nodes
        single = question.single_slots()
        if single and len({nodes.of(slot).reading for slot in single}) == 1:
            one = await self._at(min(single), alone=not self._held)
            return await direct.ask(one.connection, question, values, nodes, one.node, single)
        by_pool: dict[Pool, set[int]] = {}
        for slot in question.slots_of_rows():
            by_pool.setdefault(nodes.of(slot).reading, set()).add(slot)
        parts = [question.part(slots) for slots in by_pool.values()]
        held = [await self._at(min(slots)) for slots in by_pool.values()]
        await together(
            direct.ask(one.connection, part, values, nodes, one.node, slots)
            for one, part, slots in zip(held, parts, by_pool.values(), strict=True)
        )
        totals = await routed.totals(held[0].connection, question) if question.names else []
        while True:
            pages: list[routed.ResultRow] = []
            for part, reverse in (FORWARD, False), (BACKWARD, True):
                asked = [each for each in question.ranges if each.read.reverse == reverse]
                for i, each in enumerate(asked, 1):
                    pages += [(part, i, *row) for row in await self._rows(each, values)]
            self._dropped.update(*(part.dropped for part in parts))
            dropped = [(DROPPED, space, None, None, None, None) for space in self._dropped]
            if question.take([*dropped, *totals, *pages]):
                break
        question.take_parts(parts)
        if CATALOG not in question.keys:
            return set()
        return routed.in_the_way([part.fence_row() for part in parts], question)

    async def _rows(self, asked: Asked, values: bool) -> Sequence[Row]:
        """The rows of a range."""
        merge = Merge(asked)
        for bounds in begin_and_rest(asked):
            (slot, _), (last, key) = bounds
            slots = range(slot, last + bool(key))
            if bounds[0] < bounds[1] and not merge.is_full:
                held = [await self._at(one) for one in self._one_of_each(slots)]
                for one in held:
                    await self._lock(one)
                fetches = [partial(self._fetch, one, asked, values) for one in held]
                await merge.take([Stream(it, bounds, asked.read.reverse) for it in fetches])
        return merge.rows

    def _one_of_each(self, slots: range) -> list[int]:
        """One of the slots for each pool that serves some of them."""
        return list({self._nodes.of(slot).reading: slot for slot in slots}.values())

    async def _fetch(
        self,
        held: Held,
        asked: Asked,
        values: bool,
        bounds: Bounds,
        rows_max: int | None,
        weight_max: int | None,
    ) -> list[Row]:
        """Fetch rows of one node: see `merging.Fetch`."""
        start, end = bounds
        table = held.tables[start[0]] if end <= (start[0] + 1, b"") else held.rows
        part = BACKWARD if asked.read.reverse else FORWARD
        parts = [part]
        arguments = columns([(asked.read.space, *start, *end, rows_max, weight_max)])
        if not held.is_checked:
            parts.append(DROPPED)
            if held.numbers:
                parts.append(PLACED)
                arguments.append(held.numbers)
        text = statement(tuple(parts), values, None, Source(table, self._nodes.dropped, table))
        try:
            records = await held.connection.fetch(text, *arguments)
        except asyncpg.UndefinedTableError:
            raise direct.Moved from None
        if not held.is_checked:
            self._dropped.update(record[1] for record in records if record[0] == DROPPED)
            placed = sum(record[1] for record in records if record[0] == PLACED)
            if placed != len(held.numbers):
                raise direct.Moved
            held.is_checked = True
        return [tuple(record)[2:] for record in records if record[0] == part]

    # ---- the snapshot of each node ----

    async def _at(self, slot: int, alone: bool = False) -> Held:
        """The snapshot of the node that has this slot. With `alone`, a new snapshot uses a
        connection of the pool `near`, because so far no other node is asked. Raises Moved if a
        shard has moved since the first snapshot was taken."""
        node = self._nodes.of(slot)
        held = self._held.get(node.reading) or await self._take(node, alone)
        if self._nodes.changes != self._changes:
            raise direct.Moved
        return held

    async def _take(self, node: Node, alone: bool) -> Held:
        node.near.refuse_if_away()
        pool = node.near if alone else node.reading
        if not (alone or self._has_place):
            await pool.wait(self._places)
            self._has_place = True
        held = self._held[node.reading] = Held(await pool.take(), pool, node)
        held.is_locked = not alone
        begin = f"{pool.begin(SNAPSHOT)}; {PATIENCE}"
        await self._execute(held, begin if alone else f"{begin}; {self._lock_text(node)}")
        return held

    async def _lock(self, held: Held) -> None:
        """Lock the tables of the node's shards until the end of the snapshot. Otherwise a shard
        could move away and come back in a new table, whose rows the snapshot does not show."""
        if not held.is_locked:
            await self._execute(held, self._lock_text(held.node))
            held.is_locked = True

    def _lock_text(self, node: Node) -> str:
        tables = sorted({shard.tables.rows for shard in node.shards})
        return f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE"

    async def _execute(self, held: Held, text: str) -> None:
        try:
            await held.connection.execute(text)
        except asyncpg.UndefinedTableError:
            raise direct.Moved from None
