"""A store on two machines, on which some items cannot be written."""

from collections.abc import Sequence

from hashrange import kv
from hashrange.storage import MemoryStore
from hashrange.testing.async_memory import AsyncMemoryStore, AsyncMemoryTransaction

AWAY = "away"
"""What the name of an item holds that cannot be written."""


class Failing(AsyncMemoryStore):
    """On two machines. Transactions fail that write an item, or read one, with this in its name."""

    def __init__(self, store: MemoryStore, problem: kv.StoreError) -> None:
        super().__init__(store, turns_max=0)
        self.problem = problem
        self.failed: list[int] = []
        """How many rows each transaction would have written that has failed."""

    def machine_of(self, key: bytes, /) -> int:  # type: ignore[override]
        return key[0] & 1 if key else 0

    async def begin(self, locking: bool = False, /) -> AsyncMemoryTransaction:
        return FailingTransaction(self, self.store.snapshot())


class FailingTransaction(AsyncMemoryTransaction):
    async def commit(self, writes: Sequence[kv.Write], /) -> None:
        store = self._store
        assert isinstance(store, Failing)
        rows = [write.value for write in writes if isinstance(write, kv.Put)]
        if any(AWAY.encode() in row for row in rows):
            store.failed.append(len(rows))
            await self.rollback()
            raise store.problem
        await super().commit(writes)
