"""The methods that synchronous and asynchronous stores share.

`_run` carries out the steps of a method. In a synchronous store it returns their result, in an
asynchronous store a coroutine; the shared methods return either unchanged. The types that callers
see are in `declare/protocols`.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols.queries import Errors, Explanation
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall, call_of
from hashrange.design.execute.reads.searching import SearchBuilder
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.trees import delete_tree
from hashrange.design.execute.writes.verbs import Verbs, Write


class QueryMethods:
    """The methods that `st.Query` and `st.AsyncQuery` share."""

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
        core, collect = self._store._core, errors == "collect"
        return self._store._run(core.page(self._bound, size, cursor, max_read, collect))

    def explain(self) -> Explanation:
        return explain(self._bound)


def explain(bound: BoundPattern) -> Explanation:
    """The requests of a query and, if it has run, its cost."""
    if bound.took is not None:
        return bound.took
    plan = bound.builder.plan
    requests: list[tuple[str, dict[str, Any]]]
    if isinstance(bound.builder, SearchBuilder):
        requests = [("SearchVectors", bound.builder.search(bound.arguments))]
    elif plan.operation == "GetItem":
        requests = [("GetItem", bound.builder.get(bound.arguments))]
    else:
        queries = bound.builder.queries(bound.arguments, bound.reverse)
        requests = [(plan.operation, request) for _, request in queries]
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
            return self._store._query_class(self._store, bound)
        core = self._store._core
        reads = {"one": core.one, "count": core.count, "nearest": core.nearest}
        return self._store._run(reads[self.call.pattern.shape](bound))


class StoreMethods(Verbs):
    """The methods that `st.Store` and `st.AsyncStore` share.

    Each pattern is an attribute of the instance. The other attributes begin with an underscore, so
    that they cannot have the name of a pattern.
    """

    _query_class: ClassVar[type[QueryMethods]]

    def __init__(self, core: StoreSteps) -> None:
        self._core = core
        for name, call in core.calls.items():
            setattr(self, name, OpenPattern(self, call))

    def _run(self, steps: Steps[Any]) -> Any:
        raise NotImplementedError

    def _take(self, write: Write) -> Any:
        return self._run(self._core.do(write))

    def move(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self._whole("move", item, where, values)

    def delete_tree(self, parent: Item, /, *, preview: bool = False) -> Any:
        return self._run(delete_tree(self._core.writer, parent, preview=preview))

    def get_many(self, get: Any, keys: Iterable[Any], /) -> Any:
        return self._run(self._core.get_many(call_of(get), keys))

    def sync(self, owner: Item, /) -> Any:
        return self._run(self._core.sync(owner))
