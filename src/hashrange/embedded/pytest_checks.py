"""Pytest hooks that report two mistakes in tests immediately, in one line.

The first mistake is a fixture with a wider scope than the hashrange fixture that it uses. The
second is a mock that a test leaves open.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.embedded.pytest_scopes import PREFIXES

_WIDER = {"class": "module", "module": "module", "package": "session", "session": "session"}
"""Maps a fixture's scope to the narrowest scope of hashrange's fixtures that lasts as long."""

_ORDER = ("function", "class", "module", "package", "session")

_before = pytest.StashKey[list[Any]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    fixtures = getattr(item, "_fixtureinfo", None)
    for definitions in fixtures.name2fixturedefs.values() if fixtures else ():
        for definition in definitions:
            for wanted in definition.argnames:
                _check_scope(definition.argname, definition.scope, wanted)


def _check_scope(fixture: str, scope: str, wanted: str) -> None:
    prefix, ours, name = wanted.partition("hashrange_")
    lasts = {prefix: scope for scope, prefix in PREFIXES.items()}.get(prefix)
    if not ours or not lasts or wanted == "hashrange_server":
        return
    if _ORDER.index(scope) > _ORDER.index(lasts):
        what = "test" if lasts == "function" else lasts
        pytest.fail(
            f'the fixture {fixture} has the scope "{scope}", but {wanted} lasts for one {what}: '
            f"use {PREFIXES[_WIDER[scope]]}hashrange_{name}",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    item.stash[_before] = _open_mocks()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Close the mocks that the test has left open, and fail."""
    result = yield
    before = item.stash.get(_before, None)
    if before is not None:
        left = [mock for mock in _open_mocks() if mock not in before]
        lines = [f"the hashrange.mock() opened at {mock.opened_at} is still open" for mock in left]
        for mock in reversed(left):
            mock.stop()
        if lines:
            pytest.fail(lines[0], pytrace=False)
    return result


def _open_mocks() -> list[Any]:
    module = sys.modules.get("hashrange.embedded.mock")
    return list(module.open_mocks()) if module else []
