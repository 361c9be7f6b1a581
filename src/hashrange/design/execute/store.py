"""The synchronous store: runs the steps on a connection."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols import Errors, Explanation, Page
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.execute.reads.loading import LoadedItems
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall
from hashrange.design.execute.steps import Connection, Steps, run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.transactions import PendingReads, PendingWrite, PendingWrites
from hashrange.design.execute.writes.trees import delete_tree

T = TypeVar("T")


class OpenQuery:
    """See `protocols.Query`."""

    def __init__(self, store: "OpenStore", bound: BoundPattern) -> None:
        self._store = store
        self._bound = bound

    def __iter__(self) -> Iterator[Any]:
        core, bound = self._store.core, self._bound
        reader, items = bound.reader(), LoadedItems()
        bound.took = reader.took
        while not reader.done and reader.took.items != bound.limit:
            yield from self._store.run(core.next_items(reader, items, bound))

    def reverse(self) -> "OpenQuery":
        return OpenQuery(self._store, self._bound.reversed())

    def limit(self, most: int, /) -> "OpenQuery":
        return OpenQuery(self._store, self._bound.limited(most))

    def first(self) -> Any:
        for item in self.limit(1):
            return item
        return None

    def of(self, entity: type[Any], /) -> list[Any]:
        return [item for item in self if isinstance(item, entity)]

    def page(
        self,
        size: int,
        cursor: str | None = None,
        *,
        max_read: int | None = None,
        errors: Errors = "raise",
    ) -> Page[Any]:
        core, collect = self._store.core, errors == "collect"
        return self._store.run(core.page(self._bound, size, cursor, max_read, collect))

    def explain(self) -> Explanation:
        return explain(self._bound)


def explain(bound: BoundPattern) -> Explanation:
    """The requests of a query, and its cost if it has run."""
    if bound.took is not None:
        return bound.took
    plan = bound.builder.plan
    requests: list[tuple[str, dict[str, Any]]]
    if plan.operation == "GetItem":
        requests = [("GetItem", bound.builder.get(bound.arguments))]
    else:
        requests = [
            (plan.operation, r) for _, r in bound.builder.queries(bound.arguments, bound.reverse)
        ]
    return Explanation(str(bound.call.pattern), requests)


class OpenPattern:
    """A pattern as a method of an open store."""

    def __init__(self, store: "OpenStore", call: PatternCall) -> None:
        self._store = store
        self.call = call
        self.__name__ = call.pattern.name
        self.__doc__ = call.pattern.function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.call.bind(args, kwargs)
        if self.call.pattern.shape == "many":
            return OpenQuery(self._store, bound)
        core = self._store.core
        one = self.call.pattern.shape == "one"
        return self._store.run(core.one(bound) if one else core.count(bound))


class OpenStore:
    """See `protocols.Store`. Its patterns are attributes of the instance."""

    def __init__(self, core: StoreSteps, connection: Connection) -> None:
        self.core = core
        self.connection = connection
        for name, call in core.calls.items():
            setattr(self, name, OpenPattern(self, call))

    def run(self, steps: Steps[T]) -> T:
        return run(steps, self.connection)

    def put(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return self.run(self.core.write("put", item, where, values))

    def create(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return self.run(self.core.write("create", item, where, values))

    def save(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return self.run(self.core.write("save", item, where, values))

    def move(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Item:
        return self.run(self.core.write("move", item, where, values))

    @contextmanager
    def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        item = self.run(self.core.get_for_edit(bind(get, args, kwargs)))
        yield item
        self.run(self.core.save_in_place(item))

    def update(
        self, get: Any, change: Callable[[Any], object], /, *args: Any, **kwargs: Any
    ) -> Item:
        return self.run(self.core.update(bind(get, args, kwargs), change))

    @contextmanager
    def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        bound = bind(get, args, kwargs)
        item = self.core.blank(bound)
        yield item
        self.run(self.core.patch(bound, item))

    def add(self, item: Item, /, *, where: Where | None = None, **amounts: Any) -> Item:
        return self.run(self.core.atomic("add", item, amounts, where))

    def discard(self, item: Item, /, *, where: Where | None = None, **members: Any) -> Item:
        return self.run(self.core.atomic("discard", item, members, where))

    def append(self, item: Item, /, *, where: Where | None = None, **elements: Any) -> Item:
        return self.run(self.core.atomic("append", item, elements, where))

    def assign(
        self, item: Item, path: str, value: Any, /, *, where: Where | None = None, **values: Any
    ) -> Item:
        return self.run(self.core.assign(item, path, value, where, values))

    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None:
        if isinstance(what, Item):
            where = kwargs.pop("where", None)
            self.run(self.core.delete_item(what, where, kwargs))
        else:
            self.run(self.core.delete_by(bind(what, args, kwargs)))

    def delete_tree(self, parent: Item, /, *, preview: bool = False) -> dict[str, int]:
        return self.run(delete_tree(self.core.writer, parent, preview=preview))

    def get_many(self, get: Any, keys: Iterable[Any], /) -> list[Any]:
        return self.run(self.core.get_many(call_of(get), keys))

    @contextmanager
    def transaction(
        self, *others: "OpenStore", token: str | None = None
    ) -> Iterator["OpenTransaction"]:
        pending = OpenTransaction(self)
        yield pending
        self.run(self.core.transact([other.core for other in others], pending, token))

    @contextmanager
    def read_transaction(self) -> Iterator[PendingReads]:
        pending = PendingReads()
        yield pending
        self.run(self.core.read_together(pending))

    @contextmanager
    def batch(self, *, copies: bool = True) -> Iterator[PendingWrites]:
        pending = PendingWrites()
        yield pending
        self.run(self.core.write_batch(pending, copies))

    def sync(self, owner: Item, /) -> int:
        return self.run(self.core.sync(owner))


class OpenTransaction(PendingWrites):
    """See `protocols.Transaction`."""

    def __init__(self, store: OpenStore) -> None:
        super().__init__()
        self._store = store

    @contextmanager
    def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        item = self._store.run(self._store.core.get_for_edit(bind(get, args, kwargs)))
        yield item
        self.save(item)

    @contextmanager
    def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        bound = bind(get, args, kwargs)
        item = self._store.core.blank(bound)
        yield item
        self.writes.append(PendingWrite("patch", None, bound, values=bound.assigned(item)))


def call_of(get: Any) -> PatternCall:
    """The pattern of a store's attribute. Raises TypeError."""
    call = getattr(get, "call", None)
    if not isinstance(call, PatternCall):
        raise TypeError(f"{get!r} is not a pattern of a store: write e.g. db.edit(db.sensor, ...)")
    return call


def bind(get: Any, args: Any, kwargs: Any) -> BoundPattern:
    return call_of(get).bind(args, kwargs)
