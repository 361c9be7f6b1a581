"""The published store suite on PostgreSQL, and on the asynchronous store in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from hashrange.kv import Answer, Get, Key, Put, Read, Store
from hashrange.runtime.awaited.threads import SnapshotOnLoop
from hashrange.storage.postgres import PostgresStore
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.testing.bridge import BridgedStore
from hashrange.testing.postgres_server import PostgresServer
from hashrange.testing.store_model import run_histories, value_of
from hashrange.testing.store_suite import SPACE, StoreSuite

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
        return BridgedStore(lambda: PostgresStore(dsn, pool=8))


def put(store: Store, keys: Sequence[Key], number: int) -> None:
    transaction = store.begin()
    transaction.write([Put(*key, value_of(number)) for key in keys])
    transaction.commit()


class SlotBySlot(SnapshotOnLoop):
    """Asks for each row alone: rows of one slot come from the snapshot's moment."""

    def read(self, read: Read, /) -> Answer:
        if not isinstance(read, Get):
            return super().read(read)
        return [
            cast(list[bytes | None], super(SlotBySlot, self).read(Get((key,))))[0]
            for key in read.keys
        ]


class ReadAtOnceStore(BridgedStore):
    """Reads from each snapshot at once, since the first read of a snapshot takes it."""

    snapshots = SnapshotOnLoop

    def snapshot(self, brief: bool = False, /) -> SnapshotOnLoop:
        snapshot = self.snapshots(self, self.wait(self.store.snapshot()))
        snapshot.read(Get(((SPACE, b""),)))
        return snapshot


class SlotBySlotStore(ReadAtOnceStore):
    snapshots = SlotBySlot


class TestCitusDialect(TestPostgresStore):
    """Statements that name one slot each, over plain PostgreSQL."""

    histories = 5

    def make_store(self, folder: Path) -> Store:
        dsn = self.server.new_schema() + "&dialect=citus"
        return ReadAtOnceStore(lambda: PostgresStore(dsn, pool=8))

    def test_any_history(self, tmp_path: Path) -> None:
        """Rows of several slots that are asked for together come from a later moment."""

        def make() -> Store:
            dsn = self.server.new_schema() + "&dialect=citus"
            return SlotBySlotStore(lambda: PostgresStore(dsn, pool=8))

        run_histories(make, examples=self.histories, steps=40)

    def test_a_snapshot_keeps_its_moment(self, store: Store) -> None:
        """Rows of several slots that must come from one moment may come from a later one."""
        one, other = (SPACE, b"key"), (SPACE, b"later")
        put(store, (one, other), 1)
        snapshot = store.snapshot()
        assert snapshot.read(Get((one,))) == [value_of(1)]
        put(store, (one, other), 2)
        assert snapshot.read(Get((one,))) == [value_of(1)]
        assert snapshot.read(Get((one, other), 1000)) == [value_of(2)] * 2
        snapshot.close()


class TestAsyncMemoryStore(StoreSuite):
    histories = 20

    def make_store(self, folder: Path) -> Store:
        return BridgedStore(AsyncMemoryStore)
