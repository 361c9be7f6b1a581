"""The stores that all tests of this folder run on."""

from pathlib import Path

import pytest
from small import by_hand as by_hand
from small import eager_search as eager_search
from small import small_steps as small_steps

from hashrange import kv
from hashrange.storage import MemoryStore, SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "test.db")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, path: str) -> kv.Store:
    """The database that uses it closes it."""
    return MemoryStore() if request.param == "memory" else SqliteStore(path, durability="relaxed")
