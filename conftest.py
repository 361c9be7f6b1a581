"""Applies to all tests. No test asserts a time, so generated examples have no deadline either."""

import gc

import pytest
from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

pytest_plugins = ["hashrange.testing.postgres_fixtures"]

SHALLOW = ("database/test_databases.py", "test_browser.py")
"""The tests over PostgreSQL, and those in a browser, that `make test` runs too."""

# Until all tests are collected nothing of theirs is garbage, and afterwards nothing need be looked
# at again: a third of the time of the collection.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_deep(item.nodeid.lower(), getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.deep)


def is_deep(name: str, fixtures: list[str] | tuple[str, ...]) -> bool:
    """The third store shows little that the second has not shown, and so do most browser tests."""
    dear = "postgresql" in name or any("postgres" in each for each in fixtures)
    dear = dear or "browser" in fixtures
    return "citus" in name or (dear and not name.partition("::")[0].endswith(SHALLOW))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
