"""The statements of a commit, in both dialects."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from hashrange.kv import CATALOG, SYSTEM_SPACE, Conflict, CreateSpace, DropSpace, Purge
from hashrange.storage.postgres import settle
from hashrange.storage.postgres.cluster import direct, routed_writes
from hashrange.storage.postgres.cluster.nodes import Node
from hashrange.storage.postgres.database import PostgresDatabase
from hashrange.storage.postgres.guards import Guards
from hashrange.storage.postgres.pool import Pool
from hashrange.storage.postgres.script import (
    ADVISORY,
    PINNED,
    Place,
    Script,
    Values,
)
from hashrange.storage.postgres.tables import PLAIN
from hashrange.storage.postgres.writes import PLAIN_SLOT, Folded, Plan

WRITE_SECONDS_MAX = 60
"""The time limit for all statements of a write to Citus together. See COMMIT_SECONDS_MAX."""


class Landing:
    """The statements of a commit. All written rows get the version `version`.

    For a change of definitions in the `citus` dialect, `closed` is the number in the closed fences.
    """

    def __init__(
        self,
        store: PostgresDatabase,
        folded: Folded,
        guards: Guards,
        version: int,
        closed: int | None,
    ) -> None:
        self._store = store
        self._folded = folded
        self._guards = guards
        self._version = version
        self._closed = closed
        self.catalog = (0, b"")
        """The version and the value of the catalog's row, if it was changed."""

    async def run(self, pool: Pool, connection: Any, begun: bool) -> bool:
        """Write and commit on a connection from `pool`, in a transaction that has `begun` or in a
        new one. Returns whether the connection is still usable."""
        id_ = settle.new_id(self._store.milliseconds())
        if self._store.citus:
            node = None if begun else self._node_for_all(pool)
            if node is not None:
                return await self._run_direct(node, connection, id_)
            return await self._run_routed(pool, connection, begun, id_)
        guards, folded, store = self._guards, self._folded, self._store
        looks_again = bool(guards.ranges) or guards.dropped is not None
        script = Script(begun or looks_again or bool(folded.on_spaces) or store.pool.pgbouncer)
        if script.begun and not begun:
            await connection.execute(store.pool.begin("READ COMMITTED"))
        locks = guards.locks(folded.shared, folded.alone, folded.changes_catalog)
        script.add(ADVISORY, [(store.namespace, *lock) for lock in locks.items()])
        if looks_again:
            await script.run(connection)
            await self._compare_ranges(pool, connection)
        plan = Plan(folded, guards, self._version)
        plan.add_spaces(folded.shared | guards.spaces())
        plan.add_to(script, id_)
        if folded.on_spaces:
            await script.run(connection)
            for write in folded.on_spaces:
                await _ON_SPACES[type(write)](connection, write)
        return await settle.commit(connection, script, PLAIN_SLOT, id_, store.pool, store.name)

    async def _compare_ranges(self, pool: Pool, connection: Any) -> None:
        question = self._guards.question(rows=False)
        await self._store.ask_on(pool, connection, question, values=False)
        self._guards.compare(question, rows=False)

    def _node_for_all(self, pool: Pool) -> Node | None:
        """The node of the pool, if the transaction reads and changes only rows of this node, and no
        ranges, spaces or definitions. Otherwise None."""
        guards, folded = self._guards, self._folded
        if guards.ranges or guards.dropped is not None or folded.on_spaces or folded.is_empty:
            return None
        if self._closed is not None or not guards.versions.get(CATALOG):
            return None
        nodes, slots = self._store.nodes, routed_writes.slots_of(folded, guards)
        node = nodes.one_for(slots, pool)
        return node if node and direct.can_name_shards(nodes, node, slots) else None

    async def _run_direct(self, node: Node, connection: Any, id_: bytes) -> bool:
        guards, folded, store = self._guards, self._folded, self._store
        known = guards.versions[CATALOG]
        if not store.spaces.has_all(known, folded.shared | guards.spaces()):
            await self._check_spaces(connection, known)
        slots = sorted(routed_writes.slots_of(folded, guards))
        layout = direct.layout(store.nodes, node, slots)
        shards = [(shard,) for shard in layout.shards]
        spaces = sorted({SYSTEM_SPACE, *folded.spaces})
        locks = [(store.namespace, space, False) for space in spaces]
        script = Script(node.near.pgbouncer, layout.tables)
        if script.begun:
            await connection.execute(node.near.begin("READ COMMITTED"))
        first: dict[Place, Values] = {(ADVISORY, PLAIN): locks, (PINNED, PLAIN): shards}
        Plan(folded, guards, self._version, layout).add_to(script, id_, first)
        return await settle.commit(connection, script, layout.slot, id_, node.near, store.name)

    async def _run_routed(self, pool: Pool, connection: Any, begun: bool, id_: bytes) -> bool:
        guards, folded, store = self._guards, self._folded, self._store
        if not begun:
            await connection.execute(store.pool.begin("READ COMMITTED"))
        known = guards.versions.get(CATALOG)
        if not store.spaces.has_all(known, folded.shared | guards.spaces()):
            await self._check_spaces(connection, known)
        async with asyncio.timeout(WRITE_SECONDS_MAX):
            lists = guards.dropped is not None or bool(folded.on_spaces)
            if guards.ranges or lists:
                ranges = [again for again, _ in guards.ranges]
                await routed_writes.lock_alone(
                    connection, store.nodes, store.namespace, ranges, lists
                )
                await self._compare_ranges(pool, connection)
            await routed_writes.write(connection, store.nodes, folded, guards, self._version)
            if folded.is_empty:
                await connection.execute("ROLLBACK")
                return True
            slot = routed_writes.slot_of_commit(folded)
            await connection.execute(settle.MARK, slot, id_)
            for write in folded.on_spaces:
                if isinstance(write, Purge):
                    await routed_writes.purge(connection, write.space, write.rows_max)
                else:
                    await _ON_SPACES[type(write)](connection, write)
            if self._closed is not None:
                self.catalog = await routed_writes.catalog_after(
                    connection, folded, known, self._version
                )
            await routed_writes.pass_fences(
                connection, store.nodes, store.namespace, folded, self._closed, known, begun
            )
        near = store.nodes.of(slot).near
        return await settle.commit(connection, Script(True), slot, id_, near, store.name)

    async def _check_spaces(self, connection: Any, known: int | None) -> None:
        spaces = self._folded.shared | self._guards.spaces()
        if not await routed_writes.are_there(connection, spaces):
            raise await self.missing_space(connection)
        self._store.spaces.add(known, spaces)

    async def missing_space(self, connection: Any) -> BaseException:
        """The error for a space that has just been dropped (Conflict) or has never existed
        (LookupError)."""
        rows = await connection.fetch(
            "SELECT space FROM spaces UNION ALL SELECT space FROM dropped"
        )
        there = {row["space"] for row in rows} | self._guards.spaces()
        missing = self._folded.shared - there
        return LookupError(min(missing)) if missing else Conflict("a space has been dropped")


async def _create(connection: Any, write: Any) -> None:
    try:
        await connection.execute("INSERT INTO spaces VALUES ($1)", write.space)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"space {write.space} has just been created") from None


async def _drop(connection: Any, write: Any) -> None:
    await connection.execute("DELETE FROM spaces WHERE space = $1", write.space)
    await connection.execute("INSERT INTO dropped VALUES ($1)", write.space)


async def _purge(connection: Any, write: Any) -> None:
    """Delete rows of a space if it has been dropped. After its last row, forget the space."""
    await connection.execute(
        "DELETE FROM rows r USING (SELECT rows.space, slot, key FROM rows JOIN dropped "
        "ON dropped.space = rows.space WHERE rows.space = $1 LIMIT $2) q "
        "WHERE r.space = q.space AND r.slot = q.slot AND r.key = q.key",
        write.space,
        write.rows_max,
    )
    gone = await connection.execute(
        "DELETE FROM dropped WHERE space = $1 "
        "AND NOT EXISTS (SELECT 1 FROM rows WHERE rows.space = $1)",
        write.space,
    )
    if gone == "DELETE 1":
        await connection.execute("DELETE FROM log_heads WHERE space = $1", write.space)


_ON_SPACES: dict[type, Callable[[Any, Any], Awaitable[None]]] = {
    CreateSpace: _create,
    DropSpace: _drop,
    Purge: _purge,
}
