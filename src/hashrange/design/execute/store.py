"""The synchronous store, which runs the steps of each method on a connection."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hashrange.design.declare.item import Item
from hashrange.design.execute.reads.loading import LoadedItems
from hashrange.design.execute.reads.pattern_calls import bind
from hashrange.design.execute.steps import Connection, Steps, run
from hashrange.design.execute.store_methods import QueryMethods, StoreMethods
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.work import Work, finish
from hashrange.design.execute.writes.transactions import PendingReads, PendingWrites
from hashrange.design.execute.writes.verbs import Write

T = TypeVar("T")


class OpenQuery(QueryMethods):
    """The implementation of `st.Query`."""

    def __iter__(self) -> Iterator[Any]:
        core = self._store._core
        bound = core.known(self._bound) or self._store._run(core.resolved(self._bound))
        reader, items = bound.reader(), LoadedItems()
        self._bound.took = reader.took
        started = time.perf_counter()
        try:
            while not reader.done and reader.took.items != bound.limit:
                yield from self._store._run(core.next_items(reader, items, bound))
        finally:
            core.took(reader.took, started)

    def first(self) -> Any:
        for item in self.limit(1):
            return item
        return None

    def of(self, entity: type[Any], /) -> list[Any]:
        self._bound.call.expect_result(entity)
        return [item for item in self if isinstance(item, entity)]


class OpenStore(StoreMethods):
    """The implementation of `st.Store`."""

    _query_class = OpenQuery

    def __init__(self, core: StoreSteps, connection: Connection) -> None:
        super().__init__(core)
        self._connection = connection

    def _run(self, steps: Steps[T]) -> T:
        return run(self._core.follow(steps), self._connection)

    @contextmanager
    def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        item = self._run(self._core.get_for_edit(bind(get, args, kwargs)))
        yield item
        self._run(self._core.save_in_place(item))

    @contextmanager
    def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        bound = bind(get, args, kwargs)
        item = bound.blank()
        yield item
        self._run(self._core.patch(bound, item))

    @contextmanager
    def transaction(
        self, *others: "OpenStore", token: str | None = None
    ) -> Iterator["OpenTransaction"]:
        pending = OpenTransaction(self)
        yield pending
        self._run(self._core.transact([other._core for other in others], pending, token))

    def transact(self, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        attempt = 0
        while True:
            pending = Work(self)
            result = work(pending, *args, **kwargs)
            if self._run(finish(self._core, pending, attempt)):
                return result
            attempt += 1

    @contextmanager
    def read_transaction(self) -> Iterator[PendingReads]:
        pending = PendingReads()
        yield pending
        self._run(self._core.read_together(pending))

    @contextmanager
    def batch(self, *, copies: bool = True) -> Iterator[PendingWrites]:
        pending = PendingWrites()
        yield pending
        self._run(self._core.write_batch(pending, copies))


class OpenTransaction(PendingWrites):
    """The implementation of `Transaction` in `declare/protocols/transactions.py`."""

    def __init__(self, store: OpenStore) -> None:
        super().__init__()
        self._store = store

    @contextmanager
    def edit(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        item = self._store._run(self._store._core.get_for_edit(bind(get, args, kwargs)))
        yield item
        self.save(item)

    @contextmanager
    def patch(self, get: Any, /, *args: Any, **kwargs: Any) -> Iterator[Item]:
        bound = bind(get, args, kwargs)
        item = bound.blank()
        yield item
        self._take(Write("patch", values=bound.assigned(item), bound=bound))
