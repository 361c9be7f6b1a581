"""An asynchronous store as a synchronous one, so that the store suite can test it.

    class TestMyStore(StoreSuite):
        def make_store(self, folder: Path) -> Store:
            return BridgedStore(lambda: MyAsyncStore(...))

The store runs on an event loop in a thread of its own. The reads of a transaction see its earlier
writes, as those of a synchronous store do, through the overlay that the runtime uses as well.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import cached_property
from threading import Thread
from typing import Any, TypeVar, cast

from hashrange.kv import (
    SYSTEM_SPACE,
    Answer,
    Append,
    AsyncSnapshot,
    AsyncStore,
    AsyncTransaction,
    CreateSpace,
    Delete,
    Dropped,
    DropSpace,
    Get,
    Key,
    Page,
    Purge,
    Put,
    Range,
    Read,
    Write,
)
from hashrange.runtime.overlay import Overlay

T = TypeVar("T")


class Loop:
    """One event loop for all bridged stores of a process."""

    @cached_property
    def _running(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        Thread(target=loop.run_forever, name="bridge", daemon=True).start()
        return loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._running).result(60)


_loop = Loop()


class BridgedStore:
    """`make` is called on the loop. With `lasting` transactions keep the moment of their start.

    It remembers which spaces exist and how many rows dropped ones still hold, because transactions
    of an asynchronous store get their writes only with the commit.
    """

    slow_commits = True

    def __init__(self, make: Callable[[], AsyncStore], *, lasting: bool = True) -> None:
        async def made() -> AsyncStore:
            return make()

        self.store = _loop.run(made())
        self.lasting = lasting
        self.spaces = {SYSTEM_SPACE}
        self.left: dict[int, int] = {}

    def snapshot(self, brief: bool = False, /) -> "BridgedSnapshot":
        return BridgedSnapshot(_loop.run(self.store.snapshot()))

    def glance(self, one: Key, other: Key, /) -> tuple[bytes | None, bytes | None]:
        [answer] = _loop.run(self.store.read([Get((one, other))]))
        first, second = cast(list[bytes | None], answer)
        return first, second

    def begin(self, wait: bool = True, /) -> "BridgedTransaction":
        return BridgedTransaction(self, _loop.run(self.store.begin(self.lasting)))

    def backup(self, path: str, /, compact: bool = False) -> None:
        _loop.run(self.store.backup(path, compact))

    def verify(self) -> Iterator[str]:
        async def problems() -> list[str]:
            return [problem async for problem in self.store.verify()]

        return iter(_loop.run(problems()))

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        yield list(self.verify())

    def elected(self) -> bool:
        return True

    def figures(self) -> dict[str, int]:
        return self.store.figures()

    def close(self) -> None:
        _loop.run(self.store.close())


class BridgedSnapshot:
    def __init__(self, snapshot: AsyncSnapshot) -> None:
        self._snapshot = snapshot

    def read(self, read: Read, /) -> Answer:
        [answer] = _loop.run(self._snapshot.read([read]))
        return answer

    def close(self) -> None:
        _loop.run(self._snapshot.close())


class BridgedTransaction:
    def __init__(self, store: BridgedStore, transaction: AsyncTransaction) -> None:
        self._store = store
        self._transaction = transaction
        self._overlay = Overlay()
        self._before = store.spaces, store.left
        self._spaces = set(store.spaces)
        self._left = dict(store.left)

    def read(self, read: Read, /) -> Answer:
        steps = self._overlay.read(read)
        reply: Any = None
        while True:
            try:
                asked = steps.send(reply)
            except StopIteration as end:
                answer: Answer = end.value
                break
            [reply] = _loop.run(self._transaction.read([asked]))
        if isinstance(read, Dropped):
            there = cast(list[int], answer)
            return [space for space in there if space in self._left]
        return answer

    def write(self, writes: Sequence[Write], /) -> None:
        for write in writes:
            self._note(write)
            self._overlay.write([write])

    def commit(self) -> None:
        _loop.run(self._transaction.commit(self._overlay.writes))
        if self._spaces != self._before[0] or self._left != self._before[1]:
            self._store.spaces, self._store.left = self._spaces, self._left

    def rollback(self) -> None:
        _loop.run(self._transaction.rollback())

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
