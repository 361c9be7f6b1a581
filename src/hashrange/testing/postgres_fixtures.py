"""Fixtures with a PostgreSQL server.

    pytest_plugins = ["hashrange.testing.postgres_fixtures"]

The tests of a process share two servers: `postgres_server` does not sync its commits to disk,
`durable_postgres_server` does. Each test has a schema of its own. A test that kills its server uses
`mortal_postgres_server`, which starts a server for this test alone.
"""

import os
from collections.abc import Iterator

import pytest

from hashrange.testing.postgres_server import NoPostgres, PostgresServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server that does not sync its commits to disk.

    If PostgreSQL is not installed, the test is skipped or, if `HASHRANGE_REQUIRE_POSTGRES` is set,
    fails.
    """
    yield from _running(durable=False)


@pytest.fixture(scope="session")
def durable_postgres_server() -> Iterator[PostgresServer]:
    """A server that syncs its commits to disk, as `hashrange.connect` requires."""
    yield from _running(durable=True)


@pytest.fixture
def mortal_postgres_server() -> Iterator[PostgresServer]:
    """A server for one test, which the test may kill. It syncs its commits to disk."""
    yield from _running(durable=True)


def _running(*, durable: bool) -> Iterator[PostgresServer]:
    try:
        server = PostgresServer(durable=durable)
    except NoPostgres as problem:
        if os.environ.get("HASHRANGE_REQUIRE_POSTGRES"):
            pytest.fail(str(problem))
        pytest.skip(str(problem))
    yield server
    server.stop()


@pytest.fixture
def postgres_dsn(postgres_server: PostgresServer) -> str:
    """The address (DSN) of an empty schema for one test."""
    return postgres_server.new_schema()
