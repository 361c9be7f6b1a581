"""Snapshots of the nodes of a cluster, from which a snapshot of the database reads.

PostgreSQL's snapshots do not span nodes, so each node that is asked takes one of its own. The
statements name the tables of the node's shards: Citus would plan and execute them for each shard.

A shard may move to another node. The reader of a range over the node's shards locks their tables,
and then checks that the shards were on the node at the moment of the snapshot: so the snapshot
shows all of their rows. If a shard has moved since the first snapshot was taken, none of them is
used any longer. Citus itself would read such a shard from a snapshot that may be older than its
rows on the new node, and would miss them.
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
    divided,
    together,
)
from hashrange.storage.postgres.cluster.nodes import Node, Nodes
from hashrange.storage.postgres.pool import Pool
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
LOCK = "LOCK TABLE {} IN ACCESS SHARE MODE"


class Held:
    """A connection from `pool` to a node, in a transaction with a snapshot. `rows` is the union of
    tables that has all rows of the node, and `tables` has the table of each slot."""

    def __init__(self, connection: Any, pool: Pool, node: Node) -> None:
        self.connection = connection
        self.pool = pool
        self.node = node
        self.rows, self.tables = node.rows, node.tables
        self.has_shards = False
        """Whether it is known that the snapshot shows all shards of the node."""


class NodeSnapshots:
    """The snapshots of the nodes that have been asked so far.

    The first question may concern one node only. Then the node's connection is one of those for
    such work. Any other snapshots hold one of the `places`. Each node has as many connections for
    them as there are places, so they never wait for each other's connections. `noting` awaits an
    answer and notes the fences that are in its way; `explained` explains an error.
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
        """The snapshots by the `wide` pools of their nodes."""
        self._dropped: set[int] = set()
        self._has_place = self._closed = False

    async def ask(self, question: Question, values: bool = True) -> None:
        """Answer a question. After an error, the snapshots are closed."""
        if self._closed:
            raise StoreError("the snapshot is closed")
        try:
            await self._noting(self._ask(question, values))
        except BaseException as error:
            self._drop()
            raise self._explained(error) from None

    async def close(self) -> None:
        self._closed = True
        try:
            await together(held.connection.execute("COMMIT") for held in self._held.values())
        except ERRORS:
            self._drop()
        except BaseException:
            self._drop()
            raise
        self._give_back(sound=True)

    def _drop(self) -> None:
        self._closed = True
        self._give_back(sound=False)

    def _give_back(self, sound: bool) -> None:
        snapshots, self._held = self._held, {}
        for held in snapshots.values():
            held.pool.give(held.connection, sound)
        if self._has_place:
            self._has_place = False
            self._places.release()

    # ---- questions ----

    async def _ask(self, question: Question, values: bool) -> set[int]:
        """The versions of the fences that are in the way: see `routed.ask`."""
        nodes = self._nodes
        single = question.single_slots()
        if single and len({nodes.of(slot).wide for slot in single}) == 1:
            one = await self._at(min(single), alone=not self._held)
            return await direct.ask(one.connection, question, values, nodes, one.node, single)
        by_pool: dict[Pool, set[int]] = {}
        for slot in question.slots_of_rows():
            by_pool.setdefault(nodes.of(slot).wide, set()).add(slot)
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
        for bounds in divided(asked):
            (slot, _), (last, key) = bounds
            slots = range(slot, last + bool(key))
            if slots and not merge.is_full:
                held = [await self._with_shards(one) for one in self._one_of_each(slots)]
                fetches = [partial(self._fetch, one, asked, values) for one in held]
                await merge.take([Stream(it, bounds, asked.read.reverse) for it in fetches])
        return merge.rows

    def _one_of_each(self, slots: range) -> list[int]:
        """One of the slots for each pool that has any of them."""
        return list({self._nodes.of(slot).wide: slot for slot in slots}.values())

    async def _fetch(
        self,
        held: Held,
        asked: Asked,
        values: bool,
        bounds: Bounds,
        rows_max: int | None,
        weight_max: int | None,
    ) -> list[Row]:
        """See `merging.Fetch`."""
        start, end = bounds
        table = held.tables[start[0]] if end <= (start[0] + 1, b"") else held.rows
        source = Source(table, self._nodes.dropped, table)
        text = statement((BACKWARD if asked.read.reverse else FORWARD,), values, None, source)
        arguments = columns([(asked.read.space, *start, *end, rows_max, weight_max)])
        try:
            records = await held.connection.fetch(text, *arguments)
        except asyncpg.UndefinedTableError:
            raise direct.Moved from None
        return [tuple(record)[2:] for record in records]

    # ---- the snapshot of each node ----

    async def _at(self, slot: int, alone: bool = False) -> Held:
        """The snapshot of the node that has a slot, perhaps the only node (`alone`) that will be
        asked. Raises Moved if a shard has moved since the first snapshot was taken."""
        node = self._nodes.of(slot)
        held = self._held.get(node.wide) or await self._take(node, alone)
        if self._nodes.changes != self._changes:
            raise direct.Moved
        return held

    async def _take(self, node: Node, alone: bool) -> Held:
        pool = node.near if alone else node.wide
        if not (alone or self._has_place):
            await pool.wait(self._places)
            self._has_place = True
        connection = await pool.take()
        held = self._held[node.wide] = Held(connection, pool, node)
        await connection.execute(pool.begin(SNAPSHOT))
        return held

    async def _with_shards(self, slot: int) -> Held:
        """Like `_at`. The snapshot shows all shards of the node."""
        held = await self._at(slot)
        if not held.has_shards:
            await self._check_shards(held)
            held.has_shards = True
        return held

    async def _check_shards(self, held: Held) -> None:
        """Keep the tables of the shards until the end of the snapshot, and check that they were on
        the node when it was taken. Without the lock, a shard that moves away and comes back would
        have a new table, whose rows the snapshot does not show."""
        shards = held.node.shards
        tables = ", ".join(sorted({shard.tables.rows for shard in shards}))
        numbers = [shard.number for shard in shards if shard.number is not None]
        source = Source(held.rows, self._nodes.dropped, held.rows)
        parts, arguments = [DROPPED], []
        if numbers:
            parts, arguments = [DROPPED, PLACED], [numbers]
        try:
            await held.connection.execute(LOCK.format(tables))
        except asyncpg.UndefinedTableError:
            raise direct.Moved from None
        placed = 0
        text = statement(tuple(parts), False, None, source)
        for part, number, *_ in await held.connection.fetch(text, *arguments):
            if part == PLACED:
                placed = number
            else:
                self._dropped.add(number)
        if placed != len(numbers):
            raise direct.Moved
