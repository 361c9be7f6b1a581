"""Fixtures of the tests of access."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .things import Asked


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access")


@pytest.fixture(scope="module")
def may(folder: Path) -> Iterator[Asked]:
    with ExitStack() as opened_until:
        yield Asked(folder, opened_until)
