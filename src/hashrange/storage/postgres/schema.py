"""The tables, and checks whether a database may be used.

    hashrange_schema   one row: version of the tables, the oldest release that can use them, and a
                       random number that sets the advisory locks of this database apart
    spaces             the existing spaces, except the system space
    dropped            dropped spaces that still have rows
    rows               the rows of all spaces: see `keys`
    counters           statistics; a counter has up to 64 rows, which are added up by reads
    log_heads          the last number and prefix that were appended in each slot of a log
    batches            the ids of the latest commits, each in a slot: see `settle`

Every column is an integer or bytes, because text cannot contain U+0000. A change of the tables is
made in two releases, so that servers of both can run at once. The first release adds the new parts.
The next release removes the old parts, when no server of the old release is left, and increases
`oldest`.
"""

import secrets
from typing import Any

from hashrange.kv import Damaged, ReadOnly, StoreError

VERSION = 3
"""The version of the tables that this release creates."""

MIGRATION_LOCK = 0x68617368

_TABLES = (
    "CREATE TABLE spaces (space integer PRIMARY KEY)",
    "CREATE TABLE dropped (space integer PRIMARY KEY)",
    """CREATE TABLE rows (
        space integer NOT NULL, slot smallint NOT NULL, key bytea NOT NULL, rest bytea,
        version bigint NOT NULL, weight integer NOT NULL, value bytea NOT NULL,
        PRIMARY KEY (space, slot, key)
    ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05)""",
    "ALTER TABLE rows ALTER COLUMN value SET STORAGE EXTERNAL",
    """CREATE TABLE counters (
        name bytea NOT NULL, slot smallint NOT NULL, value bigint NOT NULL,
        PRIMARY KEY (name, slot)
    ) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.05)""",
    """CREATE TABLE log_heads (
        space integer NOT NULL, slot smallint NOT NULL, number bigint NOT NULL,
        prefix bytea NOT NULL, PRIMARY KEY (space, slot)
    ) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.05)""",
    "CREATE TABLE batches (id bytea PRIMARY KEY)",
    """CREATE TABLE hashrange_schema (
        version integer NOT NULL, oldest integer NOT NULL, locks integer NOT NULL
    )""",
)

_SLOTS_OF_BATCHES = (
    "ALTER TABLE batches ADD COLUMN slot smallint NOT NULL DEFAULT 0, "
    "DROP CONSTRAINT batches_pkey, ADD PRIMARY KEY (slot, id)",
)
"""With the column `slot`, every table except the lists of spaces can be distributed by slots."""

_STEPS: tuple[tuple[str, ...], ...] = (_TABLES, _SLOTS_OF_BATCHES, ())
"""Step n brings the tables from version n to n + 1."""

OLDEST_WITH_FENCES = 3
"""The version of the oldest release that knows the fences of a cluster."""

_OLDEST = 1
"""The oldest release that can use the tables of this release. A release is named by the version of
its own tables."""

_SERVER = """SELECT current_setting('server_version_num')::int AS number,
    current_setting('server_version') AS version,
    current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
    current_setting('transaction_read_only') AS read_only, pg_is_in_recovery() AS standby,
    current_schema() AS schema"""

PLACE = """SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    current_schema()::regnamespace::oid)"""
"""Returns a text that identifies the PostgreSQL instance, the database in it, and the schema."""


_CLOCK = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
SKEW_MAX = 1000
"""The largest difference between the clocks of two nodes that is accepted, in milliseconds."""


async def prepare(connection: Any, name: str, unsynced: bool) -> int:
    """Check the database, and create or upgrade its tables. Returns the number that distinguishes
    the advisory locks of this schema.

    After an error the connection must be closed, which rolls back. Raises StoreError. A server with
    `fsync` off is refused unless `unsynced`.
    """
    await _check_server(connection, name, unsynced)
    state = await _state(connection, name)
    if state is None or state[0] < VERSION:
        begun = connection.is_in_transaction()  # behind pgbouncer it always is
        if not begun:
            await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        await connection.execute(
            "SELECT pg_advisory_xact_lock($1, current_schema()::regnamespace::oid::int)",
            MIGRATION_LOCK,
        )
        await _migrate(connection, name)
        if not begun:
            await connection.execute("COMMIT")
        state = await _state(connection, name)
        assert state is not None
    version, oldest, locks = state
    if oldest > VERSION:
        raise Damaged(
            f"{name}: the tables have version {version}, but this release knows only versions up "
            f"to {VERSION}; use a newer release"
        )
    await _check_rights(connection, name)
    return locks


async def _check_server(connection: Any, name: str, unsynced: bool) -> None:
    server = await connection.fetchrow(_SERVER)
    if server["number"] < 140000:
        raise StoreError(f"{name}: PostgreSQL 14 or later is needed, not {server['version']}")
    if server["standby"]:
        raise ReadOnly(f"{name}: this server is a standby; give the primary's address")
    if server["read_only"] == "on":
        raise ReadOnly(f"{name}: the database is read-only")
    if server["encoding"] != "UTF8":
        raise StoreError(
            f"{name}: the encoding of the database is {server['encoding']}; create a database with "
            "ENCODING 'UTF8' TEMPLATE template0"
        )
    if server["fsync"] != "on" and not unsynced:
        raise StoreError(f"{name}: fsync is off, so a power cut would lose commits; set fsync = on")
    if server["schema"] is None:
        raise StoreError(
            f"{name}: this user may use no schema of the search_path; create one, or run GRANT "
            "USAGE ON SCHEMA"
        )


async def _state(connection: Any, name: str) -> tuple[int, int, int] | None:
    """The row of `hashrange_schema`: the version, the oldest release, and the number of the locks.
    None if there are no tables yet."""
    tables = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS (SELECT 1 FROM pg_depend "
        "WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')"
    )
    names = {table["relname"] for table in tables}
    if "hashrange_schema" not in names:
        if names:
            raise Damaged(f"{name}: the schema has tables of another program; use an empty schema")
        return None
    row = await connection.fetchrow("SELECT version, oldest, locks FROM hashrange_schema")
    if row is None:
        raise Damaged(f"{name}: the table hashrange_schema is empty; restore a backup")
    return row["version"], row["oldest"], row["locks"]


async def _migrate(connection: Any, name: str) -> None:
    """Create or upgrade the tables, unless another server has done so while this one waited for the
    lock."""
    state = await _state(connection, name)
    version = state[0] if state else 0
    for step in _STEPS[version:VERSION]:
        for statement in step:
            await connection.execute(statement)
    if state is None:
        await connection.execute(
            "INSERT INTO hashrange_schema VALUES ($1, $2, $3)",
            VERSION,
            _OLDEST,
            secrets.randbits(31),
        )
    elif version < VERSION:
        await connection.execute(
            "UPDATE hashrange_schema SET version = $1, oldest = $2", VERSION, _OLDEST
        )


async def is_distributed(connection: Any) -> bool:
    """Whether Citus has distributed the rows over nodes."""
    if not await connection.fetchval("SELECT to_regclass('pg_dist_partition') IS NOT NULL"):
        return False
    return bool(
        await connection.fetchval(
            "SELECT count(*) FROM pg_dist_partition "
            "WHERE logicalrelid = to_regclass('rows') AND partmethod = 'h'"
        )
    )


async def is_on_every_node(connection: Any) -> bool:
    """Whether the tables were distributed by a release that knows the fences. Only such a release
    copies `hashrange_schema` to every node."""
    return bool(
        await connection.fetchval(
            "SELECT count(*) FROM pg_dist_partition "
            "WHERE logicalrelid = to_regclass('hashrange_schema') AND partmethod = 'n'"
        )
    )


_MEMBERS = """SELECT string_agg(nodename || ':' || nodeport, ', ' ORDER BY nodename COLLATE "C",
    nodeport) FROM pg_dist_node WHERE noderole = 'primary' AND isactive"""


async def check_nodes(connection: Any, name: str, lock_seconds: int) -> None:
    """Raises StoreError if a node of a cluster sets no limit to the time that statements wait for
    locks. The message proposes a limit of `lock_seconds`.

    The other nodes ignore the settings of a connection to the coordinator, but not the settings of
    the role. Unreachable nodes are not checked.
    """
    nodes = await connection.fetch(
        "SELECT nodename, nodeport, current_user AS role "
        "FROM run_command_on_workers('SHOW lock_timeout') WHERE success AND result = '0'"
    )
    if nodes:
        named = ", ".join(f"{node['nodename']}:{node['nodeport']}" for node in nodes)
        role = nodes[0]["role"].replace('"', '""')
        raise StoreError(
            f"{name}: the role has no lock_timeout on {named}; run on every node: "
            f"ALTER ROLE \"{role}\" SET lock_timeout = '{lock_seconds}s'"
        )


async def nodes_that_differ(connection: Any) -> list[str]:
    """The reachable nodes of a cluster whose list of the cluster's nodes differs from the list at
    this node.

    If a node has been removed, or replaced by its standby, the list at this node is no longer
    updated.
    """
    own = await connection.fetchval(_MEMBERS)
    rows = await connection.fetch(
        "SELECT nodename, nodeport FROM run_command_on_all_nodes($1) c "
        "JOIN pg_dist_node USING (nodeid) WHERE success AND result IS DISTINCT FROM $2",
        *(_MEMBERS, own),
    )
    return [f"{row['nodename']}:{row['nodeport']}" for row in rows]


async def check_members(connection: Any, name: str) -> None:
    """Raises StoreError if the nodes of a cluster have different lists of its nodes."""
    if others := await nodes_that_differ(connection):
        raise StoreError(
            f"{name}: the list of the cluster's nodes differs at {', '.join(others)}; if this node "
            "was replaced or removed, use another node's address"
        )


async def check_clocks(connection: Any, name: str) -> None:
    """Raises StoreError if the clocks of a cluster's nodes differ by more than a second."""
    before = await connection.fetchval(_CLOCK)
    nodes = await connection.fetch(
        "SELECT nodename, nodeport, result FROM run_command_on_workers($1) WHERE success",
        _CLOCK,
    )
    after = await connection.fetchval(_CLOCK)
    for node in nodes:
        if not before - SKEW_MAX <= int(node["result"]) <= after + SKEW_MAX:
            raise StoreError(
                f"{name}: the clock of {node['nodename']}:{node['nodeport']} is more than "
                f"{SKEW_MAX:,} ms off; synchronise the clocks of all nodes (NTP)"
            )


async def _check_rights(connection: Any, name: str) -> None:
    missing = await connection.fetchval(
        "SELECT string_agg(t || ': ' || r, ', ') FROM unnest($1::text[]) t, unnest($2::text[]) r "
        "WHERE NOT has_table_privilege(quote_ident(current_schema()) || '.' || t, r)",
        ["rows", "spaces", "dropped", "counters", "log_heads", "batches"],
        ["SELECT", "INSERT", "UPDATE", "DELETE"],
    )
    if missing:
        raise StoreError(f"{name}: the user lacks rights ({missing})")
