"""The machine of random operations, in memory, on SQLite and on PostgreSQL."""

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from drawn import Request
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule
from machine import Operations
from waiting import wait_for_indexes

from hashrange import kv
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import StoreOnLoop, open_in_thread
from hashrange.storage import MemoryStore, SqliteStore
from hashrange.storage.postgres import PostgresStore
from hashrange.testing.postgres_server import PostgresServer

pytestmark = pytest.mark.slow


class InMemory(Operations):
    def open(self) -> kv.Store:
        return MemoryStore()


class OnSqlite(Operations):
    def open(self) -> kv.Store:
        if not hasattr(self, "folder"):
            self.folder = tempfile.TemporaryDirectory()
        return SqliteStore(str(Path(self.folder.name, "test.db")), durability="memory")

    @rule()
    def restart(self) -> None:
        self.runtime.close()
        self.start()

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            self.folder.cleanup()


class OnPostgresql(Operations):
    """`server` is set by a fixture."""

    server: ClassVar[PostgresServer]

    options = ""

    def open(self) -> kv.Store:
        return open_in_thread(self._opened(f"{self.server.new_schema()}&unsynced=1{self.options}"))

    async def _opened(self, dsn: str) -> PostgresStore:
        store = PostgresStore(dsn)
        await store.open()
        return store

    def runtime_over(self, store: Any) -> AsyncRuntime:
        return AsyncRuntime(store.store, store.loop)

    def teardown(self) -> None:
        super().teardown()
        if isinstance(store := getattr(self, "store", None), StoreOnLoop):
            store.end()


class OnCitus(OnPostgresql):
    """With the statements of that dialect, over plain PostgreSQL. A log updates the indexes."""

    options = "&dialect=citus"

    def answer(self, operation: str, request: Request) -> Any:
        response = super().answer(operation, request)
        wait_for_indexes(self.runtime)
        return response


@pytest.fixture(scope="class")
def _server_of_the_class(postgres_server: PostgresServer) -> None:
    OnPostgresql.server = postgres_server


common = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    stateful_step_count=40,
)
TestInMemory = InMemory.TestCase
TestInMemory.settings = settings(common, max_examples=15)
TestOnSqlite = pytest.mark.deep(OnSqlite.TestCase)
TestOnPostgresql = pytest.mark.usefixtures("_server_of_the_class")(OnPostgresql.TestCase)
TestOnPostgresql.settings = settings(common, max_examples=4, stateful_step_count=20)
TestOnCitus = pytest.mark.usefixtures("_server_of_the_class")(OnCitus.TestCase)
TestOnCitus.settings = settings(common, max_examples=2, stateful_step_count=20)
TestOnSqlite.settings = settings(common, max_examples=5)
