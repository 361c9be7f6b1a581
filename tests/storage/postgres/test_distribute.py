"""`hashrange distribute`, with functions of Citus's names over plain PostgreSQL."""

import subprocess
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import asyncpg
import pytest
from waiting import SECONDS_MAX, wait_for_indexes

import hashrange
from hashrange.kv import (
    CATALOG,
    CLOCK,
    Add,
    Conflict,
    Counters,
    CreateSpace,
    Get,
    Head,
    Put,
    StoreError,
)
from hashrange.model.errors import InternalServerError
from hashrange.storage.postgres import PostgresStore, reads
from hashrange.storage.postgres import database as database_module
from hashrange.storage.postgres.cluster import restore_point
from hashrange.storage.postgres.cluster.nodes import Node
from hashrange.testing.postgres_server import PostgresServer
from hashrange.testing.store_model import value_of

from .stores import SPACE, read, run, write

KEY = (SPACE, b"key")
HEAD = Head(CATALOG, CLOCK)

CITUS = (
    "CREATE SCHEMA citus",
    'CREATE TABLE citus.pg_dist_partition (logicalrelid regclass, partmethod "char", way text)',
    "CREATE TABLE citus.pg_dist_shard (logicalrelid regclass, shardid bigint, shardminvalue text)",
    "CREATE TABLE citus.pg_dist_placement (shardid bigint, groupid int)",
    "INSERT INTO citus.pg_dist_placement VALUES (1, 0), (2, 0)",
    "CREATE TABLE citus.pg_dist_node (groupid int, nodename text, nodeport int, noderole text, "
    "nodeid int DEFAULT 1, isactive boolean DEFAULT true)",
    "CREATE TABLE citus.local (is_coordinator boolean)",
    "INSERT INTO citus.local VALUES (true)",
    "CREATE FUNCTION citus.citus_is_coordinator() RETURNS boolean "
    "LANGUAGE sql AS 'SELECT is_coordinator FROM citus.local'",
    "CREATE TABLE citus.answers (nodeid int, success boolean, result text)",
    "CREATE FUNCTION citus.run_command_on_all_nodes(command text) RETURNS SETOF citus.answers "
    "LANGUAGE sql AS 'SELECT * FROM citus.answers'",
    "CREATE FUNCTION citus.get_shard_id_for_distribution_column(text, smallint) RETURNS bigint "
    "LANGUAGE sql AS 'SELECT 1 + $2::bigint % 2'",
    # Like Citus, it needs a primary key that holds the column, and tables of one kind to colocate.
    """CREATE FUNCTION citus.create_distributed_table(t regclass, c text,
        distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default',
        shard_count int DEFAULT 32) RETURNS void
    LANGUAGE plpgsql AS $$ BEGIN
        PERFORM FROM pg_index i JOIN pg_attribute a ON a.attrelid = t AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = t AND i.indisprimary AND a.attname = c
            AND a.atttypid = 'smallint'::regtype;
        IF NOT FOUND THEN RAISE 'cannot create constraint on %', t; END IF;
        IF colocate_with <> 'none' THEN
            PERFORM FROM citus.pg_dist_partition WHERE logicalrelid = colocate_with::regclass;
            IF NOT FOUND THEN RAISE 'relation % is not distributed', colocate_with; END IF;
        END IF;
        INSERT INTO citus.pg_dist_partition VALUES (t, 'h', 'by ' || c);
        INSERT INTO citus.pg_dist_shard SELECT t, n, n FROM generate_series(1, shard_count) n;
        FOR n IN 1..2 LOOP  -- shards that have slots
            EXECUTE format('CREATE VIEW citus.%I AS SELECT * FROM %s WHERE slot %% 2 = %s '
                'WITH CHECK OPTION', t || '_' || n, t, n - 1);
        END LOOP;
    END $$""",
    """CREATE FUNCTION citus.create_reference_table(t regclass) RETURNS void
    LANGUAGE plpgsql AS $$ BEGIN
        PERFORM FROM pg_index WHERE indrelid = t AND indisprimary;
        IF NOT FOUND THEN RAISE '% has no PRIMARY KEY', t; END IF;
        INSERT INTO citus.pg_dist_partition VALUES (t, 'n', 'everywhere');
        INSERT INTO citus.pg_dist_shard VALUES (t, 1, NULL);
        EXECUTE format('CREATE VIEW citus.%I AS SELECT * FROM %s', t || '_1', t);
    END $$""",
    "CREATE FUNCTION citus.lock_shard_metadata(mode int, shards bigint[]) RETURNS void "
    "LANGUAGE sql AS ''",
    "CREATE TABLE citus.pg_dist_local_group (groupid int)",
    "INSERT INTO citus.pg_dist_local_group VALUES (0)",
    "CREATE TABLE citus.nodes (nodename text, nodeport int, success boolean, result text, "
    "ahead int DEFAULT 0)",
    "INSERT INTO citus.nodes VALUES ('node1', 5432, true, '10s'), ('node2', 5432, true, '10s')",
    """CREATE FUNCTION citus.run_command_on_workers(command text) RETURNS SETOF citus.nodes
    LANGUAGE sql AS $$ SELECT * FROM citus.nodes WHERE command = 'SHOW lock_timeout' UNION ALL
    SELECT nodename, nodeport, success, floor(extract(epoch FROM clock_timestamp()) * 1000
        + ahead)::bigint::text, ahead FROM citus.nodes WHERE command ~ 'clock_timestamp' $$""",
    """CREATE FUNCTION citus.truncate_local_data_after_distributing_table(t regclass) RETURNS void
    LANGUAGE sql AS $$ UPDATE citus.pg_dist_partition SET way = way || ', truncated'
        WHERE logicalrelid = t $$""",
)

TABLE = {
    "TableName": "table",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "of")
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_of",
            "KeySchema": [{"AttributeName": "of", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def item_of(pk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "of": {"S": "x"}}


DONE = {
    *(f"{table} by slot, truncated" for table in ("rows", "counters", "log_heads", "batches")),
    *(f"{table} everywhere, truncated" for table in ("spaces", "dropped", "hashrange_schema")),
}


def database_with_citus(server: PostgresServer) -> tuple[str, str]:
    """The DSN of an empty database, and its name."""
    dsn = server.new_database()
    name = dsn.partition("@/")[2].partition("?")[0]
    node = f"(0, '{server.folder}', {server.settings['port']}, 'primary')"
    server.run(*CITUS, f"INSERT INTO citus.pg_dist_node VALUES {node}", database=name)
    return f"{dsn}&search_path=public,citus", name


def found(server: PostgresServer, name: str) -> set[str]:
    query = "SELECT logicalrelid::text || ' ' || way FROM citus.pg_dist_partition"
    return set(server.run(query, database=name).splitlines())


def told(dsn: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hashrange", "distribute", dsn]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS_MAX)


def test_the_tables_of_an_empty_database(postgres_server: PostgresServer) -> None:
    dsn, name = database_with_citus(postgres_server)
    done = told(dsn)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"postgresql:///{name}: distributed rows, counters, log_heads, batches by slot, "
        "in 16 shards each",
        f"postgresql:///{name}: copied spaces, dropped, hashrange_schema to every node",
    ]
    assert found(postgres_server, name) == DONE
    again = told(dsn)
    assert again.returncode == 0
    assert again.stdout == f"postgresql:///{name}: the tables are distributed already\n"


def test_a_database_in_place(postgres_server: PostgresServer) -> None:
    """What was written before is read, changed and counted in the other dialect."""
    dsn, name = database_with_citus(postgres_server)

    async def before(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*KEY, value_of(1)), Add(b"n", 2))
        assert not store.citus

    async def after(store: PostgresStore) -> None:
        assert await read(store, Get((KEY,))) == [value_of(1)]
        assert store.citus
        await write(store, Put(*KEY, value_of(2)), Add(b"n", 3), reads=[Get((KEY,))])
        assert await read(store, Get((KEY,))) == [value_of(2)]
        assert await read(store, Counters((b"n",))) == [5]

    run(dsn, before)
    assert told(dsn).returncode == 0
    assert found(postgres_server, name) == DONE
    run(dsn, after)


def test_requests_to_a_distributed_database(postgres_server: PostgresServer) -> None:
    """The whole way, from boto3: items, an index over other slots, and transactions."""
    dsn, _ = database_with_citus(postgres_server)
    assert told(dsn).returncode == 0
    with hashrange.connect(dsn) as database:
        client = database.boto3_session().client("dynamodb")
        database.execute("CreateTable", TABLE)
        items = [{"pk": {"S": str(n)}, "of": {"S": "x"}} for n in range(10)]
        client.transact_write_items(
            TransactItems=[{"Put": {"TableName": "table", "Item": item}} for item in items]
        )
        keys = [{"Get": {"TableName": "table", "Key": {"pk": {"S": str(n)}}}} for n in range(11)]
        answers = client.transact_get_items(TransactItems=keys)["Responses"]
        assert [answer.get("Item") for answer in answers] == [*items, None]
        condition = "attribute_not_exists(pk)"
        with pytest.raises(client.exceptions.TransactionCanceledException):
            client.transact_write_items(
                TransactItems=[
                    {"Put": {"TableName": "table", "Item": item, "ConditionExpression": condition}}
                    for item in ({"pk": {"S": "new"}}, items[3])
                ]
            )
        client.delete_item(TableName="table", Key={"pk": {"S": "0"}})
        wait_for_indexes(database.runtime)
        query = {"KeyConditionExpression": "#o = :x", "ExpressionAttributeNames": {"#o": "of"}}
        entries = client.query(
            TableName="table",
            IndexName="by_of",
            ExpressionAttributeValues={":x": {"S": "x"}},
            **query,
        )
        assert entries["Count"] == client.scan(TableName="table")["Count"] == 9
        assert list(database.check()) == []
        events = Counter(record["eventName"] for record in records_of(database))
        assert events == {"INSERT": 10, "REMOVE": 1}


def records_of(database: hashrange.Database) -> list[dict[str, Any]]:
    arn = database.execute("DescribeTable", {"TableName": "table"})["Table"]["LatestStreamArn"]
    stream = database.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    found: list[dict[str, Any]] = []
    for shard in stream["Shards"]:
        start = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        found += database.execute("GetRecords", database.execute("GetShardIterator", start))[
            "Records"
        ]
    return found


def refusal(dsn: str) -> str:
    with pytest.raises(StoreError) as refused, hashrange.connect(dsn):
        pass
    return str(refused.value)


def test_nodes_whose_locks_have_no_timeout_are_refused(postgres_server: PostgresServer) -> None:
    """A node that is away is not looked at, so that a server starts without it."""
    dsn, name = database_with_citus(postgres_server)
    assert told(dsn).returncode == 0
    lacking = "UPDATE citus.nodes SET result = '0' WHERE nodename = 'node2'"
    postgres_server.run(lacking, database=name)
    line = refusal(dsn)
    assert "node2:5432" in line
    assert "node1" not in line
    assert "SET lock_timeout = '10s'" in line
    postgres_server.run(
        "UPDATE citus.nodes SET success = false, result = 'away' WHERE nodename = 'node2'",
        database=name,
    )
    with hashrange.connect(dsn) as database:
        assert database.execute("ListTables", {})["TableNames"] == []


def test_a_node_whose_clock_is_off_is_refused(postgres_server: PostgresServer) -> None:
    dsn, name = database_with_citus(postgres_server)
    assert told(dsn).returncode == 0
    ahead = "UPDATE citus.nodes SET ahead = -{} WHERE nodename = 'node2'"
    postgres_server.run(ahead.format(60_000), database=name)
    assert "the clock of node2:5432 is more than 1,000 ms off" in refusal(dsn)
    postgres_server.run(ahead.format(0), database=name)
    with hashrange.connect(dsn) as database:
        assert database.figures()["in_doubt"] == 0


def test_a_node_that_was_replaced_is_refused(postgres_server: PostgresServer) -> None:
    """Its own list of nodes still has it, and the lists of other nodes have another node."""
    dsn, name = database_with_citus(postgres_server)
    assert told(dsn).returncode == 0
    answer = "INSERT INTO citus.answers VALUES (1, {}, 'node1:5432, node2:5432')"
    postgres_server.run(answer.format("false"), database=name)
    with hashrange.connect(dsn) as database:  # an unreachable node says nothing
        assert database.execute("ListTables", {})["TableNames"] == []
    postgres_server.run(answer.format("true"), database=name)
    assert "the list of the cluster's nodes differs at" in refusal(dsn)


def test_only_the_coordinator_distributes(postgres_server: PostgresServer) -> None:
    dsn, name = database_with_citus(postgres_server)
    postgres_server.run("UPDATE citus.local SET is_coordinator = false", database=name)
    refused = told(dsn)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "this node is not the coordinator" in refused.stderr
    tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    assert postgres_server.run(tables, database=name) == "0"


def test_without_the_extension(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    refused = told(dsn)
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "the extension citus is missing" in refused.stderr
    name = dsn.partition("@/")[2].partition("?")[0]
    tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    assert postgres_server.run(tables, database=name) == "0"


def test_a_run_that_fails_changes_nothing(postgres_server: PostgresServer) -> None:
    dsn, name = database_with_citus(postgres_server)
    postgres_server.run(
        "CREATE FUNCTION citus.fail() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'a node is away'; END $$",
        "CREATE TRIGGER fail BEFORE INSERT ON citus.pg_dist_partition FOR EACH ROW "
        "WHEN (NEW.logicalrelid::text = 'batches') EXECUTE FUNCTION citus.fail()",
        database=name,
    )
    refused = told(dsn)
    assert refused.returncode == 1
    assert refused.stderr.endswith(f"/{name}: a node is away\n")
    assert len(refused.stderr.splitlines()) == 1
    assert found(postgres_server, name) == set()


def test_nobody_writes_while_a_restore_point_is_made(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, _ = database_with_citus(postgres_server)
    command = [sys.executable, "-m", "hashrange", "cluster", "restore-point", dsn, "monday"]
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "the tables are not distributed" in refused.stderr
    assert told(dsn).returncode == 0
    make_at = restore_point._make_at
    made: list[str] = []

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE))

        async def watched(node: Node, name: str) -> str:
            with pytest.raises(Conflict):
                await write(store, Put(*KEY, value_of(1)), reads=[HEAD, Get((KEY,))])
            made.append(await make_at(node, name))
            return made[-1]

        monkeypatch.setattr(restore_point, "_make_at", watched)
        [line] = await restore_point.make(dsn, "monday")
        assert line.endswith(f": {made[0]}")
        await write(store, Put(*KEY, value_of(2)), reads=[HEAD, Get((KEY,))])
        assert await read(store, Get((KEY,))) == [value_of(2)]

        async def rescued(node: Node, name: str) -> str:
            """As if the command had lost its lock on the fences in the meantime."""
            await store.fences.rescue()
            return await make_at(node, name)

        monkeypatch.setattr(restore_point, "_make_at", rescued)
        with pytest.raises(StoreError, match="never restore to tuesday"):
            await restore_point.make(dsn, "tuesday")
        await write(store, Put(*KEY, value_of(3)), reads=[HEAD, Get((KEY,))])

    run(dsn, scenario)


def test_a_file_is_refused() -> None:
    refused = told("app.db")
    assert refused.returncode == 1
    assert refused.stderr == (
        "hashrange: app.db: only a PostgreSQL database can be distributed; copy it there first\n"
    )


def test_a_running_server_goes_on(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Citus cannot plan the statements for plain tables, so that requests fail until one of the
    errors has been looked at. Then global indexes are updated from a log, as after a restart."""
    dsn, _ = database_with_citus(postgres_server)
    distributed = False

    async def ask(connection: Any, question: Any, values: bool = True) -> None:
        if distributed:
            raise asyncpg.FeatureNotSupportedError("complex joins are only supported when ...")
        await reads.ask(connection, question, values)

    monkeypatch.setattr(database_module, "ask", ask)
    with hashrange.connect(dsn) as database:
        database.execute("CreateTable", TABLE)
        database.execute("PutItem", {"TableName": "table", "Item": item_of("before")})
        assert told(dsn).returncode == 0
        distributed = True
        with suppress(InternalServerError):
            database.execute("PutItem", {"TableName": "table", "Item": item_of("noticed")})
        for pk in "one", "other":
            database.execute("PutItem", {"TableName": "table", "Item": item_of(pk)})
            key = {"pk": {"S": pk}}
            assert database.execute("GetItem", {"TableName": "table", "Key": key})["Item"]
        database.execute("CreateTable", {**TABLE, "TableName": "second"})
        database.execute("PutItem", {"TableName": "second", "Item": item_of("one")})
        wait_for_indexes(database.runtime)
        indexes = [each for each in database.runtime.capacities() if each.index]
        assert [index.lag_seconds for index in indexes] == [0, 0]
        found = database.execute("Scan", {"TableName": "table", "IndexName": "by_of"})["Items"]
        assert {item["pk"]["S"] for item in found} >= {"before", "one", "other"}
        assert not list(database.check())
