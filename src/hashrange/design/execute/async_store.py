"""The asynchronous store: the same steps, awaited."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols import Errors, Explanation, Page
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.execute.reads.loading import LoadedItems
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall
from hashrange.design.execute.steps import AsyncConnection, Steps, run_async
from hashrange.design.execute.store import bind, call_of, explain
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.transactions import PendingReads, PendingWrite, PendingWrites
from hashrange.design.execute.writes.trees import delete_tree

T = TypeVar("T")


class OpenAsyncQuery:
    """See `protocols.AsyncQuery`."""

    def __init__(self, store: "OpenAsyncStore", bound: BoundPattern) -> None:
        self._store = store
        self._bound = bound

    async def __aiter__(self) -> AsyncIterator[Any]:
        core, bound = self._store.core, self._bound
        reader, items = bound.reader(), LoadedItems()
        bound.took = reader.took
        while not reader.done and reader.took.items != bound.limit:
            for item in await self._store.run(core.next_items(reader, items, bound)):
                yield item

    def reverse(self) -> "OpenAsyncQuery":
        return OpenAsyncQuery(self._store, self._bound.reversed())

    def limit(self, most: int, /) -> "OpenAsyncQuery":
        return OpenAsyncQuery(self._store, self._bound.limited(most))

    async def first(self) -> Any:
        async for item in self.limit(1):
            return item
        return None

    async def of(self, entity: type[Any], /) -> list[Any]:
        return [item async for item in self if isinstance(item, entity)]

    async def page(
        self,
        size: int,
        cursor: str | None = None,
        *,
        max_read: int | None = None,
        errors: Errors = "raise",
    ) -> Page[Any]:
        core, collect = self._store.core, errors == "collect"
        return await self._store.run(core.page(self._bound, size, cursor, max_read, collect))

    def explain(self) -> Explanation:
        return explain(self._bound)


class OpenAsyncPattern:
    """A pattern as a method of an open store: returns a coroutine or an asynchronous query."""

    def __init__(self, store: "OpenAsyncStore", call: PatternCall) -> None:
        self._store = store
        self.call = call
        self.__name__ = call.pattern.name
        self.__doc__ = call.pattern.function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.call.bind(args, kwargs)
        if self.call.pattern.shape == "many":
            return OpenAsyncQuery(self._store, bound)
        core = self._store.core
        one = self.call.pattern.shape == "one"
        return self._store.run(core.one(bound) if one else core.count(bound))


class OpenAsyncStore:
    """See `protocols.AsyncStore`."""

    def __init__(self, core: StoreSteps, connection: AsyncConnection) -> None:
        self.core = core
        self._connection = connection
        for name, call in core.calls.items():
            setattr(self, name, OpenAsyncPattern(self, call))

    async def run(self, steps: Steps[T]) -> T:
        return await run_async(steps, self._connection)

    async def put(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return await self.run(self.core.write("put", item, where, values))

    async def create(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return await self.run(self.core.write("create", item, where, values))

    async def save(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return await self.run(self.core.write("save", item, where, values))

    async def move(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return await self.run(self.core.write("move", item, where, values))

    @asynccontextmanager
    async def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        item = await self.run(self.core.get_for_edit(bind(get, args, kwargs)))
        yield item
        await self.run(self.core.save_in_place(item))

    async def update(
        self, get: Any, change: Callable[[Any], object], /, *args: Any, **kwargs: Any
    ) -> Item:
        return await self.run(self.core.update(bind(get, args, kwargs), change))

    @asynccontextmanager
    async def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        bound = bind(get, args, kwargs)
        item = self.core.blank(bound)
        yield item
        await self.run(self.core.patch(bound, item))

    async def add(self, item: Item, /, *, where: Where | None = None, **amounts: Any) -> Item:
        return await self.run(self.core.atomic("add", item, amounts, where))

    async def discard(self, item: Item, /, *, where: Where | None = None, **members: Any) -> Item:
        return await self.run(self.core.atomic("discard", item, members, where))

    async def append(self, item: Item, /, *, where: Where | None = None, **elements: Any) -> Item:
        return await self.run(self.core.atomic("append", item, elements, where))

    async def assign(
        self, item: Item, path: str, value: Any, /, *, where: Where | None = None, **values: Any
    ) -> Item:
        return await self.run(self.core.assign(item, path, value, where, values))

    async def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None:
        if isinstance(what, Item):
            where = kwargs.pop("where", None)
            await self.run(self.core.delete_item(what, where, kwargs))
        else:
            await self.run(self.core.delete_by(bind(what, args, kwargs)))

    async def delete_tree(self, parent: Item, /, *, preview: bool = False) -> dict[str, int]:
        return await self.run(delete_tree(self.core.writer, parent, preview=preview))

    async def get_many(self, get: Any, keys: Iterable[Any], /) -> list[Any]:
        return await self.run(self.core.get_many(call_of(get), keys))

    @asynccontextmanager
    async def transaction(
        self, *others: "OpenAsyncStore", token: str | None = None
    ) -> AsyncIterator["OpenAsyncTransaction"]:
        pending = OpenAsyncTransaction(self)
        yield pending
        await self.run(self.core.transact([other.core for other in others], pending, token))

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[PendingReads]:
        pending = PendingReads()
        yield pending
        await self.run(self.core.read_together(pending))

    @asynccontextmanager
    async def batch(self, *, copies: bool = True) -> AsyncIterator[PendingWrites]:
        pending = PendingWrites()
        yield pending
        await self.run(self.core.write_batch(pending, copies))

    async def sync(self, owner: Item, /) -> int:
        return await self.run(self.core.sync(owner))


class OpenAsyncTransaction(PendingWrites):
    """See `protocols.AsyncTransaction`."""

    def __init__(self, store: OpenAsyncStore) -> None:
        super().__init__()
        self._store = store

    @asynccontextmanager
    async def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        item = await self._store.run(self._store.core.get_for_edit(bind(get, args, kwargs)))
        yield item
        self.save(item)

    @asynccontextmanager
    async def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> AsyncIterator[Item]:
        bound = bind(get, args, kwargs)
        item = self._store.core.blank(bound)
        yield item
        self.writes.append(PendingWrite("patch", None, bound, values=bound.assigned(item)))
