"""The published store suite on both stores."""

from pathlib import Path

from hashrange.kv import Store
from hashrange.storage import MemoryStore, SqliteStore
from hashrange.testing.store_suite import StoreSuite


class TestMemoryStore(StoreSuite):
    histories = 200

    def make_store(self, folder: Path) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(str(folder / "suite.db"), durability="relaxed")
