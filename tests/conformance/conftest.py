"""The endpoints of the suite: in process, over HTTP, over a store that is awaited, over HTTP with
PostgreSQL, over PostgreSQL as over Citus, where global indexes are eventually consistent, and in
process with policies: some modules, and in a soak the whole suite.

If any `--endpoint` is given, it runs there instead.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from waiting import wait_for_indexes

from .raw import ORIGIN, Wire
from .support import Client, NewTable, Table, tables

if TYPE_CHECKING:
    from hashrange.testing.postgres_server import PostgresServer

IN_PROCESS = "in-process"
AWAITED = "awaited"
HTTP = "http"
POSTGRESQL = "postgresql"
CITUS = "citus"
POLICED = "policed"
ON_POSTGRESQL = frozenset(
    f"test_{name}"
    for name in (
        *("batches", "index_updates", "indexes", "item_collections", "items", "query"),
        *("scan", "transactions", "vectors"),
    )
)
"""The tests whose answers depend on what a store does. Validation, expressions and distances are
the same over every store."""
ON_CITUS = frozenset(
    f"test_{name}" for name in ("batches", "index_updates", "transactions", "vectors")
)
"""Those of indexes that follow, and of batches and transactions over nodes. Statements are
shown by the store suite, and any mixture of requests by the stateful test."""
ON_POLICED = frozenset(
    f"test_{name}"
    for name in (
        *("backups", "batches", "indexes", "items", "pages", "partiql_batches", "partiql_writes"),
        *("precedence", "tables_precedence", "tags", "transaction_precedence", "transactions"),
    )
)
ON_AWAITED = frozenset(
    f"test_{name}"
    for name in (
        *("partiql", "partiql_batches", "partiql_writes", "partiql_tokens", "updates"),
        *("create_table", "tables", "update_index_keys", "vector_searches"),
        *("capacity_reads", "capacity_writes", "transaction_errors", "constraints"),
    )
)
"""Where PostgreSQL does not show the runtime of awaited stores. With HASHRANGE_SOAK, all."""
ON_HTTP = ON_POSTGRESQL | {
    f"test_{name}"
    for name in ("create_table", "json_types", "numbers", "pages", "partiql", "updates")
}
"""The tests that run over HTTP too, beside those that speak HTTP themselves: one of each kind of
request and of error. With HASHRANGE_SOAK, all."""
SHOW_INDEXES = ("Query", "Scan", "ExecuteStatement", "DescribeTable", "SearchVectors")

# Faulty requests must reach the server, and the first answer counts: no retries.
CONFIG = Config(
    parameter_validation=False,
    retries={"total_max_attempts": 1},
    max_pool_connections=32,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--endpoint",
        action="append",
        default=[],
        metavar="URL",
        help="run tests/conformance against this DynamoDB endpoint (may be repeated)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given: list[Any] = metafunc.config.getoption("--endpoint", default=[])
    if "url" in metafunc.fixturenames:
        metafunc.parametrize("url", given or [HTTP], indirect=True, scope="session")
    elif "client" in metafunc.fixturenames:
        # The fast tests leave out all but the first endpoint, and `make test` most of the others.
        names = []
        module = metafunc.module.__name__.rpartition(".")[2]
        if module in ON_POSTGRESQL:
            names.append(POSTGRESQL)
        elif os.environ.get("HASHRANGE_SOAK") or module in ON_AWAITED:
            names.append(AWAITED)
        if module in ON_CITUS:
            names.append(CITUS)
        if module in ON_POLICED or os.environ.get("HASHRANGE_SOAK"):
            names.append(POLICED)
        others = [pytest.param(name, marks=pytest.mark.deep) for name in names]
        if module in ON_HTTP or os.environ.get("HASHRANGE_SOAK"):
            others.insert(0, pytest.param(HTTP, marks=pytest.mark.slow))
        targets = given or [IN_PROCESS, *others]
        metafunc.parametrize("client", targets, indirect=True, scope="session")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server of our own, in memory, for the whole session."""
    with serving("--cors", ORIGIN) as url:
        yield url


@pytest.fixture(scope="session")
def server_over_postgresql(durable_postgres_server: "PostgresServer") -> Iterator[str]:
    with serving(durable_postgres_server.new_schema()) as url:
        yield url


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    command = [sys.executable, "-m", "hashrange", "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)))
            yield found.group()
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def url(request: pytest.FixtureRequest) -> str:
    """The base URL of an endpoint, for the tests that speak plain HTTP."""
    target: str = request.param
    return request.getfixturevalue("server") if target == HTTP else target


@pytest.fixture(scope="module")
def wire(url: str) -> Iterator[Wire]:
    wire = Wire(url)
    yield wire
    wire.connection.close()


@pytest.fixture(scope="session")
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    if request.param == POLICED:
        from .policed import policed_session

        with policed_session(tmp_path_factory.mktemp("policed")) as session:
            yield _client(session)
    elif request.param == AWAITED:
        from hashrange.clients.boto import boto3_session

        from .awaited import awaited_database

        with awaited_database() as awaited:
            yield _client(boto3_session(awaited))
    elif request.param == IN_PROCESS:
        import hashrange  # not needed where only other endpoints are tested

        with hashrange.connect() as database:
            yield _client(database.boto3_session())
    elif request.param == CITUS:
        import hashrange

        server: PostgresServer = request.getfixturevalue("durable_postgres_server")
        with hashrange.connect(server.new_schema() + "&dialect=citus") as database:
            client = _client(database.boto3_session())
            for operation in SHOW_INDEXES:
                client.meta.events.register(
                    f"before-call.dynamodb.{operation}",
                    lambda **_: wait_for_indexes(database.runtime),
                )
            yield client
    elif request.param == HTTP:
        yield _remote(request.getfixturevalue("server"))
    elif request.param == POSTGRESQL:
        yield _remote(request.getfixturevalue("server_over_postgresql"))
    else:
        yield _remote(request.param)


def _remote(url: str) -> Client:
    session = boto3.Session(aws_access_key_id="conformance", aws_secret_access_key="conformance")
    return _client(session, endpoint_url=url)


def _client(session: Any, **parameters: Any) -> Client:
    return session.client("dynamodb", region_name="us-east-1", config=CONFIG, **parameters)


@pytest.fixture
def new_table(client: Client) -> Iterator[NewTable]:
    with tables(client) as new:
        yield new


@pytest.fixture(scope="module")
def new_shared_table(client: Client) -> Iterator[NewTable]:
    """`new_table` for tables that the tests of a module only read."""
    with tables(client) as new:
        yield new


@pytest.fixture
def table(new_table: NewTable) -> Table:
    """A table with the partition key `pk` of type S."""
    return new_table("pk")
