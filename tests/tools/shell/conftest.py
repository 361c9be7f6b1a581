"""Databases for the tests of the shell."""

from pathlib import Path

import pytest

from shell import databases


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file that tests of this module share and do not change."""
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    databases.create(path)
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A database file that the test may change."""
    path = tmp_path / "own.db"
    databases.create(path)
    return path
