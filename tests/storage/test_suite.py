"""The published store suite on both stores."""

from pathlib import Path

import pytest

from hashrange.kv import Store
from hashrange.storage import MemoryStore, SqliteStore
from hashrange.testing.single_writer import SingleWriterSuite

pytestmark = pytest.mark.slow


class TestMemoryStore(SingleWriterSuite):
    histories = 200

    def make_store(self, folder: Path) -> Store:
        return MemoryStore()


class TestSqliteStore(SingleWriterSuite):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(str(folder / "suite.db"), durability="relaxed")
