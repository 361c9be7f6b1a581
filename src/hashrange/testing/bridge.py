"""An asynchronous store as a synchronous one, so that the store suite can test it.

    class TestMyStore(StoreSuite):
        def make_store(self, folder: Path) -> Store:
            return BridgedStore(lambda: MyAsyncStore(...))

A bridged store is a `StoreOnLoop`, through which threads use an asynchronous store. In addition, it
lays the earlier writes of a transaction over the reads (`Overlay`), because a synchronous store
shows them.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import cast

from hashrange.kv import (
    SYSTEM_SPACE,
    Answer,
    Append,
    AsyncStore,
    CreateSpace,
    Delete,
    Dropped,
    DropSpace,
    Page,
    Purge,
    Put,
    Range,
    Read,
    Write,
)
from hashrange.runtime.awaited.threads import LoopThread, StoreOnLoop, TransactionOnLoop
from hashrange.runtime.drive import drive
from hashrange.runtime.overlay import Overlay


@cache
def _running() -> LoopThread:
    """The event loop of all bridged stores of a process."""
    return LoopThread()


class BridgedStore(StoreOnLoop):
    """An asynchronous store as a synchronous one. `make` is called on the store's loop.

    The bridged store remembers which spaces exist, and how many rows each dropped space still has.
    The asynchronous store does not know this during a transaction, because it gets the writes only
    with the commit.
    """

    def __init__(self, make: Callable[[], AsyncStore]) -> None:
        async def made() -> AsyncStore:
            return make()

        loop = _running().loop
        super().__init__(asyncio.run_coroutine_threadsafe(made(), loop).result(), loop)
        self.spaces = {SYSTEM_SPACE}
        self.left: dict[int, int] = {}

    def begin(self, wait: bool = True, /) -> "BridgedTransaction":
        begun = self.wait(self.store.begin())
        return BridgedTransaction(self, TransactionOnLoop(self, begun))

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        yield list(self.verify())


class BridgedTransaction:
    def __init__(self, store: BridgedStore, below: TransactionOnLoop) -> None:
        self._store = store
        self._below = below
        self._overlay = Overlay()
        self._before = store.spaces, store.left
        self._spaces = set(store.spaces)
        self._left = dict(store.left)

    def read(self, read: Read, /) -> Answer:
        answer: Answer = drive(self._overlay.read(read), self._below)
        if isinstance(read, Dropped):
            there = cast(list[int], answer)
            return [space for space in there if space in self._left]
        return answer

    def write(self, writes: Sequence[Write], /) -> None:
        for write in writes:
            self._note(write)
            self._overlay.write([write])

    def commit(self) -> None:
        self._below.write(self._overlay.writes)
        self._below.commit()
        if self._spaces != self._before[0] or self._left != self._before[1]:
            self._store.spaces, self._store.left = self._spaces, self._left

    def rollback(self) -> None:
        self._below.rollback()

    def _note(self, write: Write) -> None:
        match write:
            case Put() | Delete() | Append():
                if write.space not in self._spaces:
                    raise LookupError(write.space)
            case CreateSpace():
                self._spaces.add(write.space)
            case DropSpace():
                page = cast(Page, self.read(Range(write.space, b"", None)))
                self._left[write.space] = len(page.rows)
                self._spaces.discard(write.space)
            case Purge() if write.space in self._left:
                self._left[write.space] -= write.rows_max
                if self._left[write.space] <= 0:
                    del self._left[write.space]
