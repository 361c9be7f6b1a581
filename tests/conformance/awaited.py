"""A database over a store that is awaited, so that its requests really race."""

from collections.abc import Iterator
from contextlib import contextmanager

from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import LoopThread
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.upkeep.upkeep import Upkeep


class AwaitedDatabase:
    """The part of a database that `boto3_session` needs, with its upkeep."""

    access = None

    def __init__(self, store: AsyncMemoryStore) -> None:
        self._loop = LoopThread()
        self.runtime = AsyncRuntime(store, self._loop.loop, wake_upkeep=self._wake_upkeep)
        self._upkeep = Upkeep(self.runtime)

    def _wake_upkeep(self) -> None:
        self._upkeep.wake()

    def close(self) -> None:
        self._upkeep.close()
        self.runtime.close()
        self._loop.close()


@contextmanager
def awaited_database() -> Iterator[AwaitedDatabase]:
    database = AwaitedDatabase(AsyncMemoryStore())
    try:
        yield database
    finally:
        database.close()
