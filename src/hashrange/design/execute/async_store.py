"""The asynchronous store, which sends the same requests as the synchronous store."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from hashrange.design.declare.item import Item
from hashrange.design.execute.reads.loading import LoadedItems
from hashrange.design.execute.reads.pattern_calls import bind
from hashrange.design.execute.steps import AsyncConnection, Steps, run_async
from hashrange.design.execute.store_methods import QueryMethods, StoreMethods
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.work import Work, finish
from hashrange.design.execute.writes.transactions import PendingReads, PendingWrites
from hashrange.design.execute.writes.verbs import Write

T = TypeVar("T")


class OpenAsyncQuery(QueryMethods):
    """The implementation of `st.AsyncQuery`."""

    async def __aiter__(self) -> AsyncGenerator[Any, None]:
        core = self._store._core
        bound = core.known(self._bound) or await self._store._run(core.resolved(self._bound))
        reader, items = bound.reader(), LoadedItems()
        self._bound.took = reader.took
        started = time.perf_counter()
        try:
            while not reader.done and reader.took.items != bound.limit:
                for item in await self._store._run(core.next_items(reader, items, bound)):
                    yield item
        finally:
            core.took(reader.took, started)

    async def first(self) -> Any:
        async with aclosing(self.limit(1).__aiter__()) as items:
            async for item in items:
                return item
        return None

    async def of(self, entity: type[Any], /) -> list[Any]:
        self._bound.call.expect_result(entity)
        return [item async for item in self if isinstance(item, entity)]


class OpenAsyncStore(StoreMethods):
    """The implementation of `st.AsyncStore`."""

    _query_class = OpenAsyncQuery

    def __init__(self, core: StoreSteps, connection: AsyncConnection) -> None:
        super().__init__(core)
        self._connection = connection

    async def _run(self, steps: Steps[T]) -> T:
        return await run_async(self._core.follow(steps), self._connection)

    @asynccontextmanager
    async def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        item = await self._run(self._core.get_for_edit(bind(get, args, kwargs)))
        yield item
        await self._run(self._core.save_in_place(item))

    @asynccontextmanager
    async def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        bound = bind(get, args, kwargs)
        item = bound.blank()
        yield item
        await self._run(self._core.patch(bound, item))

    @asynccontextmanager
    async def transaction(
        self, *others: "OpenAsyncStore", token: str | None = None
    ) -> AsyncIterator["OpenAsyncTransaction"]:
        pending = OpenAsyncTransaction(self)
        yield pending
        await self._run(self._core.transact([other._core for other in others], pending, token))

    async def transact(self, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        attempt = 0
        while True:
            pending = Work(self)
            result = await work(pending, *args, **kwargs)
            if await self._run(finish(self._core, pending, attempt)):
                return result
            attempt += 1

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[PendingReads]:
        pending = PendingReads()
        yield pending
        await self._run(self._core.read_together(pending))

    @asynccontextmanager
    async def batch(self, *, copies: bool = True) -> AsyncIterator[PendingWrites]:
        pending = PendingWrites()
        yield pending
        await self._run(self._core.write_batch(pending, copies))


class OpenAsyncTransaction(PendingWrites):
    """The implementation of `AsyncTransaction` in `declare/protocols/transactions.py`."""

    def __init__(self, store: OpenAsyncStore) -> None:
        super().__init__()
        self._store = store

    @asynccontextmanager
    async def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        item = await self._store._run(self._store._core.get_for_edit(bind(get, args, kwargs)))
        yield item
        self.save(item)

    @asynccontextmanager
    async def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        bound = bind(get, args, kwargs)
        item = bound.blank()
        yield item
        self._take(Write("patch", values=bound.assigned(item), bound=bound))
