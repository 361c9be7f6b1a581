"""Pytest fixtures: an empty database in memory for each test, and clients that use it.

    hashrange_database      the database: `execute`, `boto3_session`
    hashrange_session       a boto3 session that uses it
    hashrange_client        boto3's "dynamodb" client
    hashrange_resource      boto3's "dynamodb" resource
    hashrange_async_client  aiobotocore's "dynamodb" client
    hashrange_clock         moves the database's time: `freeze`, `advance`
    hashrange_mock          the database, which answers every DynamoDB client in the process
                            while the test runs, as `hashrange.mock` does
    hashrange_server        an endpoint on a free port, for the whole run: `url`, `reset`

If pytest's settings have `hashrange_mock = true`, every test runs with the fixture
`hashrange_mock`. A fixture whose name begins with `module_` or `session_` uses one database for all
tests of a module, or of the run. The marker `hashrange` creates tables from a file, and sets the
database's settings.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from hashrange.embedded import pytest_checks
from hashrange.embedded.pytest_scopes import PREFIXES, Scope

if TYPE_CHECKING:
    import boto3

    from hashrange.database.database import Database
    from hashrange.embedded.moved_clock import DatabaseClock
    from hashrange.embedded.serving import Served

_scopes = {name: Scope(name) for name in PREFIXES}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("hashrange").addoption(
        "--hashrange-hostile",
        action="store_true",
        help="run with stale reads, partly processed batches and throttling, as may happen on "
        "DynamoDB",
    )
    parser.addini(
        "hashrange_mock",
        "answer every DynamoDB client in each test, whether or not the test asks for a fixture",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    for scope in _scopes.values():
        scope.hostile = config.getoption("--hashrange-hostile")
    config.pluginmanager.register(pytest_checks, "hashrange-checks")
    config.addinivalue_line(
        "markers",
        "hashrange(tables=..., freeze=..., **settings): how the test's database starts. tables: a "
        "JSON file beside the test, or a list of files, with the tables to create; freeze: the "
        "time at which the clock stands still; settings: fields of hashrange.Settings",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let a test use the fixture `hashrange_mock` if the settings ask for it.

    A test that already uses this fixture, in any scope, stays unchanged.
    """
    names: list[str] = getattr(item, "fixturenames", [])
    if item.config.getini("hashrange_mock") and not any(
        name.endswith("hashrange_mock") for name in names
    ):
        names.insert(0, "hashrange_mock")


def _opened(request: pytest.FixtureRequest) -> Scope:
    """Open the database for the requested fixture's scope, and return the `Scope`."""
    request.getfixturevalue(f"{PREFIXES[request.scope]}hashrange_database")
    return _scopes[request.scope]


def _database(request: pytest.FixtureRequest) -> Iterator["Database"]:
    """An empty database in memory, closed at the end."""
    with _scopes[request.scope].opened(request.node) as database:
        yield database


def _session(request: pytest.FixtureRequest) -> "boto3.Session":
    """A boto3 session that the database answers."""
    return _opened(request).boto3_session


def _client(request: pytest.FixtureRequest) -> Any:
    """boto3's "dynamodb" client of the database."""
    return _opened(request).client


def _resource(request: pytest.FixtureRequest) -> Any:
    """boto3's "dynamodb" resource of the database."""
    return _opened(request).resource


def _async_client(request: pytest.FixtureRequest) -> Any:
    """aiobotocore's "dynamodb" client of the database."""
    return _opened(request).async_client


def _clock(request: pytest.FixtureRequest) -> "DatabaseClock":
    """Moves the time of the database: freeze("2030-01-31"), advance(seconds)."""
    return _opened(request).clock


def _mock(request: pytest.FixtureRequest) -> Iterator["Database"]:
    """The database, which answers every DynamoDB client of the process during the test."""

    from hashrange.embedded.mock import mock

    with mock(_opened(request).database) as database:
        yield database


hashrange_database = pytest.fixture(_database)
hashrange_session = pytest.fixture(_session)
hashrange_client = pytest.fixture(_client)
hashrange_resource = pytest.fixture(_resource)
hashrange_async_client = pytest.fixture(_async_client)
hashrange_clock = pytest.fixture(_clock)
hashrange_mock = pytest.fixture(_mock)

module_hashrange_database = pytest.fixture(scope="module")(_database)
module_hashrange_session = pytest.fixture(scope="module")(_session)
module_hashrange_client = pytest.fixture(scope="module")(_client)
module_hashrange_resource = pytest.fixture(scope="module")(_resource)
module_hashrange_async_client = pytest.fixture(scope="module")(_async_client)
module_hashrange_clock = pytest.fixture(scope="module")(_clock)
module_hashrange_mock = pytest.fixture(scope="module")(_mock)

session_hashrange_database = pytest.fixture(scope="session")(_database)
session_hashrange_session = pytest.fixture(scope="session")(_session)
session_hashrange_client = pytest.fixture(scope="session")(_client)
session_hashrange_resource = pytest.fixture(scope="session")(_resource)
session_hashrange_async_client = pytest.fixture(scope="session")(_async_client)
session_hashrange_clock = pytest.fixture(scope="session")(_clock)
session_hashrange_mock = pytest.fixture(scope="session")(_mock)


@pytest.fixture(scope="session")
def hashrange_server() -> Iterator["Served"]:
    """A real endpoint on a free port, for the whole run: `url`, `database`, `clock`, `reset()`."""

    from hashrange.embedded.serving import serve

    with serve() as server:
        yield server
