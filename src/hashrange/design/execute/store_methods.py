"""The part of stores, patterns and queries that is the same in threads and with asyncio.

`run` carries out the steps of a method and returns their result, or a coroutine that does so. A
method that only runs steps therefore returns what `run` returns. The types that callers see are
those of `protocols`.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from hashrange.design.declare.amounts import Amounts, all_amounts
from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols.queries import Errors, Explanation
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall
from hashrange.design.execute.reads.searching import SearchBuilder
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.trees import delete_tree


class QueryMethods:
    """See `protocols.Query`."""

    def __init__(self, store: Any, bound: BoundPattern) -> None:
        self._store = store
        self._bound = bound

    def reverse(self) -> Self:
        return type(self)(self._store, self._bound.reversed())

    def limit(self, most: int, /) -> Self:
        return type(self)(self._store, self._bound.limited(most))

    def page(
        self,
        size: int,
        cursor: str | None = None,
        *,
        max_read: int | None = None,
        errors: Errors = "raise",
    ) -> Any:
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
    if isinstance(bound.builder, SearchBuilder):
        requests = [("SearchVectors", bound.builder.search(bound.arguments))]
    elif plan.operation == "GetItem":
        requests = [("GetItem", bound.builder.get(bound.arguments))]
    else:
        found = bound.builder.queries(bound.arguments, bound.reverse)
        requests = [(plan.operation, request) for _, request in found]
    return Explanation(str(bound.call.pattern), requests)


class OpenPattern:
    """A pattern as a method of an open store."""

    def __init__(self, store: "StoreMethods", call: PatternCall) -> None:
        self._store = store
        self.call = call
        self.__name__ = call.pattern.name
        self.__doc__ = call.pattern.function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.call.bind(args, kwargs)
        if self.call.pattern.shape == "many":
            return self._store.query_class(self._store, bound)
        core = self._store.core
        reads = {"one": core.one, "count": core.count, "nearest": core.nearest}
        return self._store.run(reads[self.call.pattern.shape](bound))


class StoreMethods:
    """See `protocols.Store`. Its patterns are attributes of the instance."""

    query_class: ClassVar[type[QueryMethods]]

    def __init__(self, core: StoreSteps) -> None:
        self.core = core
        for name, call in core.calls.items():
            setattr(self, name, OpenPattern(self, call))

    def run(self, steps: Steps[Any]) -> Any:
        raise NotImplementedError

    def put(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self.run(self.core.write("put", item, where, values))

    def create(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self.run(self.core.write("create", item, where, values))

    def save(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self.run(self.core.write("save", item, where, values))

    def move(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self.run(self.core.write("move", item, where, values))

    def update(
        self, get: Any, change: Callable[[Any], object], /, *args: Any, **kwargs: Any
    ) -> Any:
        return self.run(self.core.update(bind(get, args, kwargs), change))

    def add(
        self,
        item: Item,
        by: Amounts[Any] | None = None,
        /,
        *,
        where: Where | None = None,
        **amounts: Any,
    ) -> Any:
        return self.run(self.core.atomic("add", item, all_amounts(item, by, amounts), where))

    def add_or_create(self, item: Item, by: Amounts[Any] | None = None, /, **amounts: Any) -> Any:
        return self.run(self.core.add_or_create(item, all_amounts(item, by, amounts)))

    def discard(self, item: Item, /, *, where: Where | None = None, **members: Any) -> Any:
        return self.run(self.core.atomic("discard", item, members, where))

    def append(self, item: Item, /, *, where: Where | None = None, **elements: Any) -> Any:
        return self.run(self.core.atomic("append", item, elements, where))

    def assign(
        self,
        item: Item,
        path: str,
        value: Any,
        /,
        *,
        where: Where | None = None,
        **values: Any,
    ) -> Any:
        return self.run(self.core.assign(item, path, value, where, values))

    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(what, Item):
            where = kwargs.pop("where", None)
            return self.run(self.core.delete_item(what, where, kwargs))
        return self.run(self.core.delete_by(bind(what, args, kwargs)))

    def delete_tree(self, parent: Item, /, *, preview: bool = False) -> Any:
        return self.run(delete_tree(self.core.writer, parent, preview=preview))

    def get_many(self, get: Any, keys: Iterable[Any], /) -> Any:
        return self.run(self.core.get_many(call_of(get), keys))

    def sync(self, owner: Item, /) -> Any:
        return self.run(self.core.sync(owner))


def call_of(get: Any) -> PatternCall:
    """The pattern of a store's attribute. Raises TypeError."""
    call = getattr(get, "call", None)
    if not isinstance(call, PatternCall):
        raise TypeError(f"{get!r} is not a pattern of a store: write e.g. db.edit(db.sensor, ...)")
    return call


def bind(get: Any, args: Any, kwargs: Any) -> BoundPattern:
    return call_of(get).bind(args, kwargs)
