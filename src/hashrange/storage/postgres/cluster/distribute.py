"""Distributes the tables of a database over the nodes of a Citus cluster, in place.

The tables with a column `slot` are distributed by this column. They are colocated, so that one node
has the rows, counters, log heads and commit ids of a slot. The other tables (the lists of spaces
and `hashrange_schema`) are copied to every node. If an earlier release has distributed the
database, only the missing parts are added.
"""

from typing import Any

from hashrange.kv import SLOTS, StoreError
from hashrange.storage.postgres.cluster import fences
from hashrange.storage.postgres.problems import ERRORS
from hashrange.storage.postgres.schema import (
    MIGRATION_LOCK,
    OLDEST_WITH_FENCES,
    is_distributed,
    is_on_every_node,
)
from hashrange.storage.postgres.store import PostgresStore

BY_SLOT = ("rows", "counters", "log_heads", "batches")
ON_EVERY_NODE = ("spaces", "dropped", "hashrange_schema")

SHARDS_PER_NODE, SHARDS_MIN = 4, 16
"""The number of shards for each node, and the smallest number of shards in all. Each additional
shard makes statements over several shards more expensive (see `direct`), but a small number of
shards is hard to divide evenly when nodes are added."""

_NODES = "SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary'"
_SHARDS_WANTED = (
    "SELECT setting::int FROM pg_settings WHERE name = 'citus.shard_count' AND source <> 'default'"
)
_HAS_CITUS = (
    "SELECT count(*) FROM pg_proc WHERE proname = 'create_distributed_table' "
    "AND pg_function_is_visible(oid)"
)
_KEEP_OLD_OUT = "UPDATE hashrange_schema SET oldest = $1"
"""Stops servers of older releases, which do not know the fences, from writing."""
_KEY_OF_SCHEMA = "ALTER TABLE hashrange_schema ADD PRIMARY KEY (version)"
"""Without a primary key, Citus would not copy the table to a node that joins the cluster."""
_SHARDS = "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'rows'::regclass"


async def distribute(dsn: str) -> list[str]:
    """Create the tables if they do not exist, and distribute them with their content.

    No server may use the database while this runs. All tables are distributed in one transaction: a
    failed run changes nothing, and a repeated run does no harm. Returns lines that describe the
    changes. Raises StoreError.
    """
    store = PostgresStore(dsn, pool=2)
    store.distributes = True
    try:
        await _refuse_without_citus(store)
        await store.open()
        return [f"{store.name}: {line}" for line in await _distribute(store)]
    except ERRORS as error:
        raise store.explained(error) from None
    finally:
        await store.close()


async def _refuse_without_citus(store: PostgresStore) -> None:
    async with store.pool.connection() as connection:
        if not await connection.fetchval(_HAS_CITUS):
            raise StoreError(
                f"{store.name}: the extension citus is missing; on every node install it, add it "
                "to shared_preload_libraries, and run CREATE EXTENSION citus"
            )
        if not await connection.fetchval("SELECT citus_is_coordinator()"):
            raise StoreError(
                f"{store.name}: this node is not the coordinator; run the command with the address "
                "of the coordinator"
            )


async def _distribute(store: PostgresStore) -> list[str]:
    async with store.pool.connection() as connection:
        await connection.execute(
            f"{store.pool.begin('READ COMMITTED')}; SET LOCAL statement_timeout = 0; "
            # One connection to each node, so that the node's part is one transaction too.
            "SET LOCAL citus.multi_shard_modify_mode = 'sequential'; "
            f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK}, "
            "current_schema()::regnamespace::oid::int)"
        )
        if not await is_distributed(connection):
            await connection.execute(fences.MAKE)
            lines = await _spread(connection)
        elif not await is_on_every_node(connection):
            lines = await _complete(connection)
        else:
            lines = ["the tables are distributed already"]
        await connection.execute("COMMIT")
        # The rows that were copied to the shards still exist here too, invisible to all statements.
        await connection.execute("; ".join(_truncations()))
    return lines


async def _spread(connection: Any) -> list[str]:
    await connection.execute(_KEY_OF_SCHEMA)
    for table in ON_EVERY_NODE:
        await connection.execute(f"SELECT create_reference_table('{table}')")
    first, *others = BY_SLOT
    nodes = await connection.fetchval(_NODES)
    await connection.execute(
        f"SELECT create_distributed_table('{first}', 'slot', colocate_with => 'none', "
        f"shard_count => coalesce(({_SHARDS_WANTED}), $1))",
        max(SHARDS_MIN, SHARDS_PER_NODE * nodes),
    )
    for table in others:
        await connection.execute(
            f"SELECT create_distributed_table('{table}', 'slot', colocate_with => '{first}')"
        )
    await connection.execute(_KEEP_OLD_OUT, OLDEST_WITH_FENCES)
    shards = await connection.fetchval(_SHARDS)
    return [
        f"distributed {', '.join(BY_SLOT)} by slot, in {shards} shards each",
        f"copied {', '.join(ON_EVERY_NODE)} to every node",
    ]


async def _complete(connection: Any) -> list[str]:
    """Add the parts that a database distributed by an earlier release lacks."""
    await connection.execute(_KEY_OF_SCHEMA)
    await connection.execute("SELECT create_reference_table('hashrange_schema')")
    await connection.execute(_KEEP_OLD_OUT, OLDEST_WITH_FENCES)
    row = await connection.fetchrow(fences.CATALOG_ROW, *fences.CATALOG_PLACE)
    version, value = (row["version"], row["value"]) if row else (0, b"")
    for slot in range(SLOTS):
        await connection.execute(
            fences.MAKE_ONE, fences.SPACE, slot, b"", version, fences.OPEN, value
        )
    return ["copied hashrange_schema to every node, and made the fences"]


def _truncations() -> list[str]:
    tables = (*BY_SLOT, *ON_EVERY_NODE)
    return [f"SELECT truncate_local_data_after_distributing_table('{table}')" for table in tables]
