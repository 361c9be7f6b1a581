"""Addresses of databases whose stores are awaited: one in memory, and a real PostgreSQL."""

from collections.abc import Iterator

import pytest
from small import by_hand as by_hand

from hashrange.database import connecting
from hashrange.storage import MemoryStore
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.testing.postgres_server import PostgresServer

IN_MEMORY = "postgresql://in.memory/test"


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An address that stands for a store in memory, which outlives its databases."""
    inner = MemoryStore()

    class Store(AsyncMemoryStore):
        async def close(self) -> None:
            """The next database finds what this one has written."""

    async def opened(dsn: str, durability: str) -> AsyncMemoryStore:
        assert dsn == IN_MEMORY
        return Store(inner)

    monkeypatch.setattr(connecting, "_open_postgres", opened)
    yield IN_MEMORY
    inner.close()


@pytest.fixture
def dsn(durable_postgres_server: PostgresServer) -> str:
    """The address of an empty schema in PostgreSQL."""
    return durable_postgres_server.new_schema()


@pytest.fixture(params=["in_memory", "dsn"], ids=["memory", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found
