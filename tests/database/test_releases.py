"""Servers of two releases on one database, as while they are replaced one after the other."""

import pytest
from waiting import wait_until

import hashrange
from hashrange import StoreError
from hashrange.storage.postgres import schema
from hashrange.testing.postgres_server import PostgresServer

from .serving import client_of, serving
from .test_databases import CREATE
from .test_servers import Load, total

BEFORE = """
from hashrange.storage.postgres import schema, script, settle
schema.VERSION = 1
schema._STEPS = schema._STEPS[:1]
settle.MARK = "INSERT INTO batches (id) SELECT $2::bytea WHERE $1::int >= 0"
script._PARTS[script.IDS] = (
    "INSERT INTO batches (id) SELECT q.id "
    "FROM unnest(${0}::smallint[], ${1}::bytea[]) AS q (slot, id) RETURNING 1",
    2,
)
"""
"""Makes the release before: it knows the first version of the tables only."""


def version_in(server: PostgresServer, dsn: str) -> str:
    name = dsn.rpartition("=")[2]
    return server.run(f"SELECT version, oldest FROM {name}.hashrange_schema")


def test_two_releases_serve_one_database(dsn: str, durable_postgres_server: PostgresServer) -> None:
    """The old one made the tables, the new one extends them under load, and both go on."""
    with serving(dsn, BEFORE) as old:
        assert version_in(durable_postgres_server, dsn) == "1|1"
        client_of(old.url).create_table(**CREATE)
        loads = [Load([old.url], name="old")]
        wait_until(lambda: loads[0].acknowledged > 20)
        with serving(dsn) as new, serving(dsn, BEFORE) as old_again:
            assert version_in(durable_postgres_server, dsn) == f"{schema.VERSION}|1"
            loads += [Load([new.url], name="new"), Load([old_again.url], name="again")]
            done = [load.acknowledged for load in loads]
            wait_until(
                lambda: all(a.acknowledged > b + 20 for a, b in zip(loads, done, strict=True))
            )
            for load in loads:
                load.end()
            assert not [problem for load in loads for problem in load.problems]
            assert total(client_of(new.url)) == sum(load.acknowledged for load in loads)
            for server in (old_again, new, old):
                assert not server.end()
    with hashrange.connect(dsn) as database:
        assert not list(database.check())


@pytest.mark.parametrize(("newer", "oldest", "accepted"), [(1, 0, True), (2, 1, False)])
def test_tables_of_newer_releases(
    dsn: str, durable_postgres_server: PostgresServer, newer: int, oldest: int, accepted: bool
) -> None:
    """Those of the next release, which says that this one may use them; not those after that."""
    hashrange.connect(dsn).close()
    name = dsn.rpartition("=")[2]
    durable_postgres_server.run(
        f"UPDATE {name}.hashrange_schema "
        f"SET version = {schema.VERSION + newer}, oldest = {schema.VERSION + oldest}"
    )
    if accepted:
        hashrange.connect(dsn).close()
    else:
        with pytest.raises(StoreError, match="use a newer release"):
            hashrange.connect(dsn)
