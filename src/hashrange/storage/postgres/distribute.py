"""Spreads the tables of a database over the nodes of a Citus cluster, in place.

All tables have a slot. They are distributed by it and colocated, so that the rows, counters, heads
of logs and commit ids of a slot are on one node. The lists of spaces are copied to every node.
`hashrange_schema` stays on the coordinator.
"""

from typing import Any

from hashrange.kv import StoreError
from hashrange.storage.postgres.problems import ERRORS
from hashrange.storage.postgres.schema import MIGRATION_LOCK, is_distributed
from hashrange.storage.postgres.store import PostgresStore

BY_SLOT = ("rows", "counters", "log_heads", "batches")
ON_EVERY_NODE = ("spaces", "dropped")

_HAS_CITUS = (
    "SELECT count(*) FROM pg_proc WHERE proname = 'create_distributed_table' "
    "AND pg_function_is_visible(oid)"
)
_SHARDS = "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'rows'::regclass"


async def distribute(dsn: str) -> list[str]:
    """Make the tables if there are none, and distribute them with what they hold.

    No server may use the database meanwhile. All tables are distributed in one transaction, so a
    run that fails changes nothing, and one that is repeated does no harm. Returns lines that say
    what was done. Raises StoreError.
    """
    store = PostgresStore(dsn, pool=2)
    store.citus = True
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


async def _distribute(store: PostgresStore) -> list[str]:
    async with store.pool.connection() as connection:
        await connection.execute(
            f"{store.pool.begin('READ COMMITTED')}; SET LOCAL statement_timeout = 0; "
            # Each node sees one connection, so that its part is one transaction too.
            "SET LOCAL citus.multi_shard_modify_mode = 'sequential'; "
            f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK}, "
            "current_schema()::regnamespace::oid::int)"
        )
        if await is_distributed(connection):
            lines = ["the tables are distributed already"]
        else:
            lines = await _spread(connection)
        await connection.execute("COMMIT")
        # The rows that were copied to the shards are still here too, where no statement sees them.
        await connection.execute("; ".join(_truncations()))
    return lines


async def _spread(connection: Any) -> list[str]:
    for table in ON_EVERY_NODE:
        await connection.execute(f"SELECT create_reference_table('{table}')")
    first = BY_SLOT[0]
    for table in BY_SLOT:
        beside = "none" if table == first else first
        await connection.execute(
            f"SELECT create_distributed_table('{table}', 'slot', colocate_with => '{beside}')"
        )
    shards = await connection.fetchval(_SHARDS)
    return [
        f"distributed {', '.join(BY_SLOT)} by slot, in {shards} shards each",
        f"copied {' and '.join(ON_EVERY_NODE)} to every node",
    ]


def _truncations() -> list[str]:
    tables = (*BY_SLOT, *ON_EVERY_NODE)
    return [f"SELECT truncate_local_data_after_distributing_table('{table}')" for table in tables]
