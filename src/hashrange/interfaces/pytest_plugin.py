"""Pytest fixtures: an empty database in memory for each test, and boto3 in front of it.

    hashrange_database    the database: `execute`, `boto3_session`
    hashrange_session     a boto3 session that uses it
    hashrange_client      boto3's "dynamodb" client
    hashrange_resource    boto3's "dynamodb" resource
    hashrange_intercept   the database, which answers every DynamoDB client in the process
                          while the test runs, as `hashrange.mock` does

boto3 is imported and its clients are made once for the whole run. They use the database of the
running test, so each test costs only a new database.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import boto3

    from hashrange import Database
    from hashrange.interfaces.calls import Runtime


class _OfTheTest:
    """The database of the test that is running."""

    def __init__(self) -> None:
        self.database: Database | None = None

    @property
    def runtime(self) -> "Runtime":
        assert self.database, "no test that asked for a hashrange fixture is running"
        return self.database.runtime


@pytest.fixture(scope="session")
def _hashrange_of_the_test() -> _OfTheTest:
    return _OfTheTest()


@pytest.fixture(scope="session")
def _hashrange_shared_session(_hashrange_of_the_test: _OfTheTest) -> "boto3.Session":
    from hashrange.interfaces.boto import boto3_session

    return boto3_session(_hashrange_of_the_test)


@pytest.fixture(scope="session")
def _hashrange_shared_client(_hashrange_shared_session: "boto3.Session") -> Any:
    return _hashrange_shared_session.client("dynamodb")


@pytest.fixture(scope="session")
def _hashrange_shared_resource(_hashrange_shared_session: "boto3.Session") -> Any:
    return _hashrange_shared_session.resource("dynamodb")


@pytest.fixture
def hashrange_database(_hashrange_of_the_test: _OfTheTest) -> Iterator["Database"]:
    """An empty database in memory, closed after the test."""
    import hashrange

    with hashrange.connect() as database:
        _hashrange_of_the_test.database = database
        yield database
        _hashrange_of_the_test.database = None


@pytest.fixture
def hashrange_session(
    hashrange_database: "Database", _hashrange_shared_session: "boto3.Session"
) -> "boto3.Session":
    """A boto3 session that the test's database answers."""
    return _hashrange_shared_session


@pytest.fixture
def hashrange_client(hashrange_database: "Database", _hashrange_shared_client: Any) -> Any:
    """boto3's "dynamodb" client of the test's database."""
    return _hashrange_shared_client


@pytest.fixture
def hashrange_resource(hashrange_database: "Database", _hashrange_shared_resource: Any) -> Any:
    """boto3's "dynamodb" resource of the test's database."""
    return _hashrange_shared_resource


@pytest.fixture
def hashrange_intercept(hashrange_database: "Database") -> Iterator["Database"]:
    """The test's database, which answers every DynamoDB client in the process during the test."""
    import hashrange

    with hashrange.mock(hashrange_database):
        yield hashrange_database
