"""`hashrange cluster check`: searches each node of a Citus cluster for problems."""

import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from typing import Any

import asyncpg

from hashrange.kv import StoreError
from hashrange.storage.postgres.cluster.nodes import LOCKING_SIZE, WIDE_SIZE
from hashrange.storage.postgres.pool import LOCK_SECONDS_MAX
from hashrange.storage.postgres.problems import ERRORS, explain
from hashrange.storage.postgres.schema import is_distributed, is_on_every_node, nodes_that_differ
from hashrange.storage.postgres.store import PostgresStore

CONNECT_SECONDS_MAX = 5.0
SKEW_SECONDS_MAX = 1.0
RECOVERY_SECONDS_MAX = 10
IN_DOUBT_SECONDS_MAX = 60
STANDBY_SECONDS_MAX = 5

_NODES = """SELECT nodename, nodeport, groupid, hasmetadata AND metadatasynced AS synced
FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid"""
_OWNERS = """SELECT count(DISTINCT relowner) FROM pg_dist_partition
JOIN pg_class ON oid = logicalrelid
WHERE relnamespace = current_schema()::regnamespace"""
_SETTINGS = """SELECT current_setting('max_prepared_transactions')::int AS prepared,
    current_setting('max_connections')::int AS connections,
    current_setting('wal_level') AS wal_level, current_setting('fsync') AS fsync,
    current_setting('lock_timeout') AS lock_timeout, pg_is_in_recovery() AS standby,
    current_user AS role, current_database() AS database, getdatabaseencoding() AS encoding,
    has_database_privilege(current_database(), 'TEMPORARY') AS temporary,
    extract(epoch FROM clock_timestamp())::float8 AS now,
    (SELECT setting::int FROM pg_settings WHERE name = 'citus.recover_2pc_interval') AS recovery,
    (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()
        AND prepared < now() - make_interval(secs => $1)) AS in_doubt,
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event = 'SyncRep' AND state_change < now() - make_interval(secs => $2))
        AS unconfirmed,
    current_setting('synchronous_standby_names') <> ''
        AND pg_has_role('pg_read_all_stats', 'MEMBER') AND NOT EXISTS
        (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS alone"""
_WITHOUT_SHARDS = """SELECT nodename, nodeport FROM pg_dist_node
WHERE noderole = 'primary' AND isactive AND shouldhaveshards AND groupid NOT IN
    (SELECT groupid FROM pg_dist_placement JOIN pg_dist_shard USING (shardid)
    WHERE logicalrelid = 'rows'::regclass)"""
_HEALTH = """SELECT DISTINCT from_nodename || ':' || from_nodeport AS one,
    to_nodename || ':' || to_nodeport AS other
FROM citus_check_cluster_node_health() WHERE NOT coalesce(result, false)"""


async def problems(dsn: str) -> AsyncIterator[str]:
    """Yield a line for each problem of the cluster; the line says how to solve it. Raises
    StoreError if the database at `dsn` cannot be reached or used."""
    store = PostgresStore(dsn)
    try:
        async with store.pool.connection() as connection:
            if not await connection.fetchval("SELECT to_regclass('pg_dist_node') IS NOT NULL"):
                yield "the database has no extension citus; run CREATE EXTENSION citus on each node"
                return
            async for line in _of_cluster(connection):
                yield line
            nodes = await connection.fetch(_NODES)
            health = await connection.fetch(_HEALTH)
        away: set[str] = set()
        for node in nodes:
            name = f"{node['nodename']}:{node['nodeport']}"
            reached, lines = await _of_node(store, (node["nodename"], node["nodeport"]), len(nodes))
            if not reached:
                away.add(name)
            for line in lines:
                yield f"{name}: {line}"
        for line in _of_connections([(row["one"], row["other"]) for row in health], away):
            yield line
    except ERRORS as error:
        raise explain(error, store.name) from None
    finally:
        await store.close()


async def _of_cluster(connection: Any) -> AsyncIterator[str]:
    nodes = await connection.fetch(_NODES)
    if not nodes:
        yield "the cluster has no nodes; run citus_set_coordinator_host and citus_add_node"
    if len(nodes) > 1 and any(node["nodename"] in ("localhost", "::1") for node in nodes):
        yield (
            "a node is registered as localhost, so other nodes cannot reach it; run "
            "SELECT citus_set_coordinator_host('NAME', PORT)"
        )
    for node in nodes:
        if not node["synced"]:
            yield (
                f"{node['nodename']}:{node['nodeport']}: it has no copy of the metadata; run "
                f"SELECT start_metadata_sync_to_node('{node['nodename']}', {node['nodeport']})"
            )
    for name in await nodes_that_differ(connection):
        yield (
            f"{name}: its list of the cluster's nodes differs from the list at the node that you "
            "named; if the node that you named was replaced or removed, name another node"
        )
    if not await is_distributed(connection):
        yield "the tables are not distributed; run hashrange distribute"
    elif not await is_on_every_node(connection):
        yield (
            "the tables were distributed by an earlier release; stop all servers, and run "
            "hashrange distribute again"
        )
    else:
        if await connection.fetchval(_OWNERS) > 1:
            yield (
                "the tables have different owners, so moving a shard would lose writes; give all "
                "tables to one role with ALTER TABLE ... OWNER TO"
            )
        for node in await connection.fetch(_WITHOUT_SHARDS):
            yield (
                f"{node['nodename']}:{node['nodeport']}: it has no shards; run SELECT "
                "citus_rebalance_start() at the coordinator"
            )


def _of_connections(failed: Iterable[tuple[str, str]], away: Collection[str]) -> Iterator[str]:
    """Yield a line for each node that cannot connect to other nodes.

    `failed` has a pair (from, to) of nodes for each connection that failed. Pairs with a node in
    `away` are skipped, because these nodes have been reported as unreachable already.
    """
    targets: dict[str, list[str]] = {}
    for one, other in sorted(failed):
        if one not in away and other not in away:
            targets.setdefault(one, []).append(other)
    for one, others in targets.items():
        yield (
            f"{one} cannot connect to {', '.join(others)}; check pg_hba.conf there, and the "
            f"password of the role in .pgpass or pg_dist_authinfo on {one}"
        )


async def _of_node(
    store: PostgresStore, address: tuple[str, int], nodes: int
) -> tuple[bool, list[str]]:
    """Whether the node at `address` was reached, and the node's problems. The cluster has `nodes`
    nodes."""
    before = time.time()
    try:
        connection = await asyncpg.connect(
            store.dsn, host=address[0], port=address[1], timeout=CONNECT_SECONDS_MAX
        )
        try:
            seconds = float(IN_DOUBT_SECONDS_MAX), float(STANDBY_SECONDS_MAX)
            settings = await connection.fetchrow(_SETTINGS, *seconds)
        finally:
            connection.terminate()
    except (StoreError, *ERRORS) as error:
        why = str(error).strip() or type(error).__name__
        return False, [f"it cannot be reached from this machine ({why})"]
    assert settings is not None
    lines = _of_settings(settings, nodes, store.connections_max)
    if not before - SKEW_SECONDS_MAX < settings["now"] < time.time() + SKEW_SECONDS_MAX:
        off = settings["now"] - (before + time.time()) / 2
        lines.append(f"its clock differs from this machine's by {off:+.1f} s; synchronize clocks")
    return True, lines


def _of_settings(settings: Any, nodes: int, pool: int) -> list[str]:
    lines: list[str] = []
    if settings["standby"]:
        lines.append("it is a standby; promote it, or register its primary with citus_update_node")
    if settings["encoding"] != "UTF8":
        lines.append(
            f"the encoding of the database is {settings['encoding']}; create the database with "
            "ENCODING 'UTF8' TEMPLATE template0"
        )
    if settings["fsync"] != "on":
        lines.append("fsync is off, so a power cut would lose commits; set fsync = on")
    if settings["lock_timeout"] == "0":
        lines.append(
            f"the role has no lock_timeout; run ALTER ROLE {quoted(settings['role'])} "
            f"SET lock_timeout = '{LOCK_SECONDS_MAX}s'"
        )
    if not settings["temporary"]:
        role, database = (quoted(settings[name]) for name in ("role", "database"))
        lines.append(
            "the role may not create temporary functions, so no server can connect; run "
            f"GRANT TEMPORARY ON DATABASE {database} TO {role}"
        )
    if settings["wal_level"] != "logical":
        lines.append("shards cannot move; set wal_level = logical, and restart PostgreSQL")
    if settings["recovery"] is None or settings["recovery"] > 1000 * RECOVERY_SECONDS_MAX:
        lines.append(
            "after a failure, rows may stay locked for a minute; set "
            "citus.recover_2pc_interval = '5s'"
        )
    if settings["in_doubt"]:
        lines.append(
            f"transactions that wait for the node that began them: {settings['in_doubt']}; start "
            "that node, or promote its standby"
        )
    if settings["unconfirmed"] or settings["alone"]:
        lines.append(
            "its synchronous standby is not connected, so commits wait; start the standby, or "
            "remove it from synchronous_standby_names"
        )
    needed = connections_of_a_server(nodes, pool)
    if settings["prepared"] < WIDE_SIZE * nodes:
        lines.append(
            f"max_prepared_transactions is {settings['prepared']}; set it to max_connections, and "
            "restart"
        )
    if settings["connections"] < needed:
        lines.append(
            f"max_connections is {settings['connections']}, but each hashrange server may need "
            f"{needed}; set a higher max_connections, and restart"
        )
    return lines


def quoted(name: str) -> str:
    """The name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def connections_of_a_server(nodes: int, pool: int) -> int:
    """The largest number of connections to one node that a server may cause.

    The cluster has `nodes` nodes. `pool` connections are for work at the node alone, and `pool`
    connections are for snapshots of several nodes. Transactions and locking reads over several
    nodes need further connections, which come from the server and from each other node.
    """
    return 2 * pool + (WIDE_SIZE + LOCKING_SIZE) * nodes
