"""Bugs that are planted on purpose, so that it is seen that tests find them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hashrange import testing

TESTS = Path(__file__).parents[1], Path(testing.__file__).parent
"""The tests, and the suites that are published."""

Bug = AbstractContextManager[Any]
"""A bug that is there while its block runs."""


def bug_in(owner: Any, name: Any, wrong: Any) -> Bug:
    """In the block, the attribute `name` of a module or class, or that key of a dict, is wrong."""
    if isinstance(owner, dict):
        return patch.dict(owner, {name: wrong})
    found: Bug = patch.object(owner, name, wrong)
    return found


@contextmanager
def found_by_a_test() -> Iterator[None]:
    """An assertion of the tests, or a `pytest.raises`, must fail in the block.

    An error of the program does not count: any test would have found it.
    """
    with pytest.raises((AssertionError, pytest.fail.Exception)) as found:
        yield
    if isinstance(found.value, AssertionError):
        place = Path(found.traceback[-1].path)
        assert any(place.is_relative_to(each) for each in TESTS), found.getrepr()
