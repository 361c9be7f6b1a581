"""The published store suite on PostgreSQL, and on the asynchronous store in memory."""

from pathlib import Path

import pytest

from hashrange.kv import Store
from hashrange.storage.postgres import PostgresStore
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.testing.bridge import BridgedStore
from hashrange.testing.postgres_server import PostgresServer
from hashrange.testing.store_suite import StoreSuite

pytestmark = pytest.mark.slow


class TestPostgresStore(StoreSuite):
    histories = 20

    @pytest.fixture(autouse=True)
    def _server(self, postgres_server: PostgresServer) -> None:
        self.server = postgres_server

    def make_store(self, folder: Path) -> Store:
        dsn = self.server.new_schema()
        return BridgedStore(lambda: PostgresStore(dsn, pool=8))


class TestPostgresStoreBriefly(TestPostgresStore):
    """Transactions hold nothing until they are read from twice; as if behind pgbouncer."""

    histories = 5

    def make_store(self, folder: Path) -> Store:
        dsn = self.server.new_schema() + "&pgbouncer=1"
        dsn = dsn.replace("search_path=", "options=-csearch_path%3D")
        return BridgedStore(lambda: PostgresStore(dsn, pool=8), lasting=False)


class TestAsyncMemoryStore(StoreSuite):
    histories = 20

    def make_store(self, folder: Path) -> Store:
        return BridgedStore(AsyncMemoryStore)
