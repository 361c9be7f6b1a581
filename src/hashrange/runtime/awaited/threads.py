"""An asynchronous store and its loop, for callers in threads.

`StoreOnLoop` has the interface of a synchronous store. Each read takes a round trip. So code that
runs in a thread of its own (a check, an inspection, an explanation, a costly request, a probe) is
the same for every store.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

from hashrange import kv
from hashrange.runtime.mistaken_calls import WouldBlock

T = TypeVar("T")

STORE_SECONDS_MAX = 30.0
"""The longest time that a thread waits for one answer of the store."""

LOOKED_AFTER_SECONDS = 1.0
"""The interval at which a waiting thread checks that the loop still runs."""

ON_THE_LOOP = (
    "this call would block the event loop that has to answer it; await execute_async, or "
    "make the call in a thread: await asyncio.to_thread(...)"
)


class LoopThread:
    """An event loop that runs in a thread of its own, for programs that have none."""

    def __init__(self, make: Callable[[], AbstractEventLoop] = asyncio.new_event_loop) -> None:
        self.loop = make()
        self._thread = Thread(target=self.loop.run_forever, name="hashrange-loop", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


def is_running_here(loop: AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:  # the thread runs no loop
        return False


def wait_for(answer: "Future[T]", loop: AbstractEventLoop, seconds: float | None = None) -> T:
    """In a thread: wait for the loop's answer, at most `seconds`. Raises StoreError if the loop
    ends or the time is over."""
    waited = 0.0
    while True:
        try:
            return answer.result(LOOKED_AFTER_SECONDS)
        except TimeoutError:
            if answer.done():
                raise  # the error is the answer
            waited += LOOKED_AFTER_SECONDS
            if loop.is_closed() or (seconds is not None and waited >= seconds):
                answer.cancel()
                reason = "its event loop has ended" if loop.is_closed() else "it is slow or down"
                raise kv.StoreError(f"the database has not answered: {reason}") from None


class StoreOnLoop:
    """An asynchronous store as a `kv.Store`, for threads that do not run its loop.

    `own` is a loop that only this store uses; it is closed with the store.
    """

    slow_commits = True

    def __init__(
        self, store: kv.AsyncStore, loop: AbstractEventLoop, own: LoopThread | None = None
    ) -> None:
        self.store = store
        self.loop = loop
        self._own = own

    def wait(self, work: Coroutine[Any, Any, T], seconds: float | None = STORE_SECONDS_MAX) -> T:
        if is_running_here(self.loop):
            work.close()
            raise WouldBlock(ON_THE_LOOP)
        if self.loop.is_closed():
            work.close()
            raise kv.StoreError("the event loop of the database has ended; connect to it again")
        return wait_for(asyncio.run_coroutine_threadsafe(work, self.loop), self.loop, seconds)

    def snapshot(self, brief: bool = False, /) -> "SnapshotOnLoop":
        return SnapshotOnLoop(self, self.wait(self.store.snapshot()))

    def glance(self, one: kv.Key, other: kv.Key, /) -> tuple[bytes | None, bytes | None]:
        rows: Any = self.wait(self.store.read([kv.Get((one, other))]))[0]
        return rows[0], rows[1]

    def begin(self, wait: bool = True, /) -> kv.Transaction:
        return TransactionOnLoop(self, self.wait(self.store.begin(True)))

    def backup(self, path: str, /, compact: bool = False) -> None:
        self.wait(self.store.backup(path, compact), None)

    def verify(self) -> Iterator[str]:
        lines = self.store.verify()
        while (line := self.wait(_next(lines), None)) is not None:
            yield line

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        """Do nothing: the database server takes care of its own files."""
        return iter(())

    def elected(self) -> bool:
        """Always true. Here a lease, not the store, decides which process does the upkeep."""
        return True

    def figures(self) -> dict[str, int]:
        return self.store.figures()

    def close(self) -> None:
        """From a thread: close the store, then the loop if it is the store's own."""
        self.wait(self.store.close())
        self.end()

    def end(self) -> None:
        if self._own is not None:
            self._own.close()


async def _next(lines: AsyncIterator[str]) -> str | None:
    return await anext(lines, None)


class SnapshotOnLoop:
    def __init__(self, store: StoreOnLoop, snapshot: kv.AsyncSnapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    def read(self, read: kv.Read, /) -> kv.Answer:
        [answer] = self._store.wait(self._snapshot.read([read]))
        return answer

    def close(self) -> None:
        self._store.wait(self._snapshot.close())


class TransactionOnLoop:
    """A transaction for a thread. Writes are sent with the commit, so reads do not see them."""

    def __init__(self, store: StoreOnLoop, transaction: kv.AsyncTransaction) -> None:
        self._store = store
        self._transaction = transaction
        self._writes: list[kv.Write] = []

    def read(self, read: kv.Read, /) -> kv.Answer:
        [answer] = self._store.wait(self._transaction.read([read]))
        return answer

    def write(self, writes: Sequence[kv.Write], /) -> None:
        self._writes += writes

    def commit(self) -> None:
        self._store.wait(self._transaction.commit(self._writes))

    def rollback(self) -> None:
        self._store.wait(self._transaction.rollback())


def open_in_thread(opening: Coroutine[Any, Any, kv.AsyncStore]) -> StoreOnLoop:
    """Open a store on a new loop in a new thread. The loop is closed with the store."""
    own = LoopThread()
    try:
        store = wait_for(asyncio.run_coroutine_threadsafe(opening, own.loop), own.loop)
    except BaseException:
        own.close()
        raise
    return StoreOnLoop(store, own.loop, own)


async def open_here(opening: Coroutine[Any, Any, kv.AsyncStore]) -> StoreOnLoop:
    """Open a store on the running loop."""
    return StoreOnLoop(await opening, asyncio.get_running_loop())


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread; for modules that may not import asyncio."""
    return await asyncio.to_thread(function)
