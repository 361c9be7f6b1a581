"""Applies to all tests. No test asserts a time, so generated examples have no deadline either."""

import pytest
from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

pytest_plugins = ["hashrange.testing.postgres_fixtures"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The third store shows little that the second has not shown."""
    for item in items:
        if "citus" in item.nodeid.lower():
            item.add_marker(pytest.mark.deep)
