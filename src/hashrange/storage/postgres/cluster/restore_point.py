"""`hashrange cluster restore-point`: writes a restore point into the log of each node.

A transaction over several nodes commits at one node after the other. A restore point must not fall
between these commits: it would restore a part of the transaction. So all fences are closed while
the restore points are written. Then every transaction that had begun to write has ended on all
nodes, and no other transaction can commit. See `fences`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from hashrange.kv import StoreError
from hashrange.storage.postgres.cluster.nodes import Node
from hashrange.storage.postgres.problems import ERRORS
from hashrange.storage.postgres.store import PostgresStore

NAME_CHARACTERS_MAX = 63

_MAKE = "SELECT pg_create_restore_point($1)::text"
_RIGHTS = """SELECT has_function_privilege('pg_create_restore_point(text)', 'EXECUTE') AS may,
    quote_ident(current_user) AS role"""


async def make(dsn: str, name: str) -> list[str]:
    """Write a restore point with this name at each node, and return a line for each node. Raises
    StoreError."""
    if not 1 <= len(name) <= NAME_CHARACTERS_MAX:
        raise StoreError(f"the name of a restore point has 1 to {NAME_CHARACTERS_MAX} characters")
    store = PostgresStore(dsn)
    try:
        await store.open()
        nodes = [node for node in store.nodes.all if node.shards]
        if not store.nodes.are_distributed:
            raise StoreError(
                f"{store.name}: the tables are not distributed; run SELECT pg_create_restore_point"
            )
        await _check_rights(nodes)
        changes = store.nodes.changes
        async with store.fences.changing(None):
            try:
                number = await store.fences.close()
                making = (_make_at(node, name) for node in nodes)
                places = await asyncio.gather(*making, return_exceptions=True)
                whole = await store.fences.are_closed(number)
                await store.nodes.refresh()
            finally:
                with suppress(*ERRORS, StoreError):  # closed fences are opened when they are met
                    await store.fences.rescue()
        lines = _lines(nodes, places, name)
        if not whole or store.nodes.changes != changes:
            raise StoreError(
                "while the restore points were made, a server opened the fences, a shard moved, or "
                f"a node could not be reached, so never restore to {name}; try again with another "
                "name"
            )
        return lines
    except ERRORS as error:
        raise store.explained(error) from None
    finally:
        await store.close()


async def _check_rights(nodes: Sequence[Node]) -> None:
    """Check the rights on all nodes, before a restore point is made on any of them."""
    missing: list[str] = []
    role = ""
    for node in nodes:
        async with node.near.connection() as connection:
            may, role = await connection.fetchrow(_RIGHTS)
        if not may:
            missing.append(node.near.name)
    if missing:
        raise StoreError(
            f"the role may not make restore points on {', '.join(missing)}; run there, as a "
            f"superuser: GRANT EXECUTE ON FUNCTION pg_create_restore_point(text) TO {role}"
        )


async def _make_at(node: Node, name: str) -> str:
    async with node.near.connection() as connection:
        return str(await connection.fetchval(_MAKE, name))


def _lines(nodes: Sequence[Node], places: Sequence[str | BaseException], name: str) -> list[str]:
    """A line for each node. Raises StoreError if the restore point is missing on any node."""
    for node, place in zip(nodes, places, strict=True):
        if isinstance(place, BaseException):
            raise StoreError(
                f"{node.near.name}: no restore point was made ({place}), but other nodes may have "
                f"one named {name!r}: never restore to this name; use another name next time"
            )
    return [f"{node.near.name}: {place}" for node, place in zip(nodes, places, strict=True)]
