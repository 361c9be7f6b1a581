"""Files of SQLite stores, and ways to change them from outside."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small import little_patience as little_patience

from hashrange.storage import SqliteStore

OpenStore = Callable[..., SqliteStore]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[OpenStore]:
    """Open the file at `path`, and close it after the test."""
    opened: list[SqliteStore] = []

    def open_it(**options: Any) -> SqliteStore:
        opened.append(SqliteStore(str(path), **options))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()
