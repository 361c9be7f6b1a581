"""Databases in PostgreSQL that cannot be used: one line from each way to open them, no secret."""

import asyncio
import re
from collections.abc import Callable

import pytest

import hashrange
from hashrange import StoreError
from hashrange.testing.postgres_server import PostgresServer

from .test_servers import SECRET, told


def newer(server: PostgresServer) -> str:
    dsn = server.new_schema()
    hashrange.connect(dsn).close()
    server.run(f"UPDATE {dsn.rpartition('=')[2]}.hashrange_schema SET version = 99, oldest = 99")
    return dsn


def without_version(server: PostgresServer) -> str:
    dsn = server.new_schema()
    hashrange.connect(dsn).close()
    server.run(f"TRUNCATE {dsn.rpartition('=')[2]}.hashrange_schema")
    return dsn


def read_only(server: PostgresServer) -> str:
    dsn = server.new_database()
    name = dsn.split("/")[3].split("?")[0]
    server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    return dsn


def without_rights(server: PostgresServer) -> str:
    dsn = server.new_schema()
    hashrange.connect(dsn).close()
    server.run("DROP ROLE IF EXISTS powerless", "CREATE ROLE powerless LOGIN")
    server.run(f"GRANT USAGE ON SCHEMA {dsn.rpartition('=')[2]} TO powerless")
    return dsn.replace("hashrange@", f"powerless:{SECRET}@")


def without_encoding(server: PostgresServer) -> str:
    return server.new_database("ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")


CASES: dict[str, tuple[Callable[[PostgresServer], str], str]] = {
    "newer": (newer, "use a newer release"),
    "no version": (without_version, "restore a backup"),
    "read-only": (read_only, "is read-only"),
    "no rights": (without_rights, "lacks rights"),
    "no encoding": (without_encoding, "SQL_ASCII"),
    "no schema": (lambda server: server.dsn(search_path="nowhere"), "search_path"),
    "unknown option": (lambda server: server.dsn(foo="bar"), "foo"),
    "wrong sslmode": (lambda server: server.dsn(sslmode="some"), "sslmode must be one of"),
    "no certificate": (
        lambda server: server.dsn(sslmode="verify-full", sslrootcert="/no/such"),
        "no such file: /no/such",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_told_in_one_line(case: str, durable_postgres_server: PostgresServer) -> None:
    prepare, words = CASES[case]
    address = prepare(durable_postgres_server)
    with pytest.raises(StoreError, match=re.escape(words)) as caught:
        hashrange.connect(address)
    line = str(caught.value)
    with pytest.raises(StoreError) as caught:
        asyncio.run(hashrange.connect_async(address))
    assert str(caught.value) == line
    assert told("serve", address, "--port", "0") == f"hashrange: {line}"
    assert "\n" not in line
    assert SECRET not in line
