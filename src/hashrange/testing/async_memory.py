"""An asynchronous store in memory, with random delays and conflicts between transactions.

It is for tests of code that works over an asynchronous store. Each step first lets the event loop
run for a random number of turns, so that other tasks run in between. Transactions may overlap: a
commit raises `Conflict` if a read of its transaction would now have another answer. It also raises
`Conflict` if a transaction with a later time has already been committed. So the commits are in the
order of their times, which a log with numbered records requires.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from hashrange.kv import (
    READ_BYTES_MAX,
    Answer,
    Conflict,
    Counters,
    Head,
    Max,
    Read,
    Snapshot,
    Store,
    Write,
)
from hashrange.paging import bytes_of
from hashrange.storage import MemoryStore


class AsyncMemoryStore:
    """An asynchronous store over `store`, which may be a `FaultyStore`. The same seed gives the
    same delays.

    With `indexes_follow`, global indexes are updated from a log, after the commits. `turns_max` is
    the largest number of turns of the loop for which a step waits.
    """

    connections_max = 8
    commit_seconds_max = 0.0

    def __init__(
        self,
        store: Store | None = None,
        *,
        seed: int = 0,
        turns_max: int = 3,
        indexes_follow: bool = False,
    ) -> None:
        self.indexes_follow = indexes_follow
        self.store: Store = store or MemoryStore()
        self._random = random.Random(seed)
        self._turns_max = turns_max

    def machine_of(self, key: bytes, /) -> None:
        return None

    def now(self) -> float:
        return time.time()

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        snapshot = await self.snapshot()
        try:
            return await snapshot.read(reads)
        finally:
            await snapshot.close()

    async def snapshot(self) -> "AsyncMemorySnapshot":
        await self.pause()
        return AsyncMemorySnapshot(self, self.store.snapshot())

    async def begin(self, locking: bool = False, /) -> "AsyncMemoryTransaction":
        """Start a transaction. The store has no locks, so `locking` has no effect."""
        await self.pause()
        return AsyncMemoryTransaction(self, self.store.snapshot())

    async def place(self) -> str:
        return f"memory/{id(self.store)}"

    async def backup(self, path: str, /, compact: bool = False) -> None:
        await self.pause()
        self.store.backup(path, compact)

    async def verify(self) -> AsyncIterator[str]:
        for problem in self.store.verify():
            await self.pause()
            yield problem

    def figures(self) -> dict[str, int]:
        return self.store.figures()

    async def close(self) -> None:
        await self.pause()
        self.store.close()

    async def pause(self) -> None:
        for _ in range(self._random.randint(0, self._turns_max)):
            await asyncio.sleep(0)


class AsyncMemorySnapshot:
    def __init__(self, store: AsyncMemoryStore, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        await self._store.pause()
        answers: list[Answer] = []
        size = 0
        for read in reads:
            if len(answers) >= 2 and size >= READ_BYTES_MAX:
                break
            answers.append(self._snapshot.read(read))
            size += bytes_of(answers[-1])
        await self._store.pause()
        return answers

    async def close(self) -> None:
        self._snapshot.close()


class AsyncMemoryTransaction(AsyncMemorySnapshot):
    """A transaction that reads from a snapshot. The commit repeats all of its reads to find
    conflicts."""

    def __init__(self, store: AsyncMemoryStore, snapshot: Snapshot) -> None:
        super().__init__(store, snapshot)
        self._reads: list[tuple[Read, Any]] = []

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        answers = await super().read(reads)
        self._reads += zip(reads, answers, strict=False)
        return answers

    async def commit(self, writes: Sequence[Write], /) -> None:
        self._snapshot.close()
        await self._store.pause()
        self._land(writes)
        await self._store.pause()

    async def confirm(self) -> None:
        await self.rollback()

    async def rollback(self) -> None:
        self._snapshot.close()
        await self._store.pause()

    def _land(self, writes: Sequence[Write]) -> None:
        transaction = self._store.store.begin()
        try:
            for read, answer in self._reads:
                current: Any = transaction.read(read)
                if guarded(read, current) != guarded(read, answer):
                    raise Conflict("something that was read has changed")
                if isinstance(read, Head) and current[1] > _clock(answer, writes):
                    raise Conflict("a transaction with a later time has already been committed")
            transaction.write(writes)
        except BaseException:
            transaction.rollback()
            raise
        transaction.commit()


def _clock(answer: Any, writes: Sequence[Write]) -> int:
    """The time of a transaction, in milliseconds: the stored clock (in `answer`), or a later time
    in its `writes`."""
    raised = [write.value for write in writes if isinstance(write, Max)]
    stored: int = answer[1]
    return max([stored, *raised])


def guarded(read: Read, answer: Any) -> Any:
    """The part of an answer that must not change before the commit. Counters may change, because
    they are statistics."""
    match read:
        case Counters():
            return None
        case Head():
            return answer[0]
        case _:
            return answer
