"""The Protocols of transactions, as applications use them: see `stores`."""

from collections.abc import Awaitable, Callable, Set
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from hashrange.design.declare.amounts import Amount, Amounts
from hashrange.design.declare.item import Item
from hashrange.design.declare.typed_conditions import Condition, Where

P = ParamSpec("P")
I = TypeVar("I", bound=Item)  # noqa: E741 (the item, in signatures that are all about it)
R = TypeVar("R")
X = TypeVar("X", covariant=True)


class Writes(Protocol):
    """The writes of every transaction: see the methods of `Store` with the same names.

    At the end of the `with` block, up to 100 items are written, all or none. Several writes of one
    item are combined; their conditions apply to the item as it was stored before the transaction.
    """

    def put(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...

    def create(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...

    def save(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...

    @overload
    def add(self, item: I, /, *, where: Condition[I] | None = None, **amounts: Amount) -> None: ...
    @overload
    def add(self, item: Item, /, *, where: str, **amounts: Any) -> None: ...
    @overload
    def add(
        self, item: I, by: Amounts[I], /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...
    def add(
        self, item: Any, by: Any = None, /, *, where: Where | None = None, **amounts: Any
    ) -> Any: ...

    @overload
    def add_or_create(self, item: Item, /, **amounts: Amount) -> None: ...
    @overload
    def add_or_create(self, item: I, by: Amounts[I], /) -> None: ...
    def add_or_create(self, item: Any, by: Any = None, /, **amounts: Any) -> Any: ...

    @overload
    def discard(
        self, item: I, /, *, where: Condition[I] | None = None, **members: Set[Any]
    ) -> None: ...
    @overload
    def discard(self, item: Item, /, *, where: str, **members: Any) -> None: ...
    def discard(self, item: Any, /, *, where: Where | None = None, **members: Any) -> Any: ...

    @overload
    def append(
        self,
        item: I,
        /,
        *,
        where: Condition[I] | None = None,
        **elements: list[Any] | tuple[Any, ...],
    ) -> None: ...
    @overload
    def append(self, item: Item, /, *, where: str, **elements: Any) -> None: ...
    def append(self, item: Any, /, *, where: Where | None = None, **elements: Any) -> Any: ...

    def assign(
        self,
        item: I,
        path: str,
        value: Any,
        /,
        *,
        where: str | Condition[I] | None = None,
        **values: Any,
    ) -> None: ...

    def check(self, item: I, condition: str | Condition[I], /, **values: Any) -> None:
        """Require a condition of the stored item, e.g. `"balance >= :b"` with `b=100`."""
        ...


class WritesAndDeletes(Writes, Protocol):
    """See `Writes`. `delete` also takes a pattern and the arguments that name the item."""

    @overload
    def delete(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...
    @overload
    def delete(
        self, get: Callable[P, Item | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None: ...


class AsyncWritesAndDeletes(Writes, Protocol):
    """See `WritesAndDeletes`."""

    @overload
    def delete(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...
    @overload
    def delete(
        self, get: Callable[P, Awaitable[Item | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None: ...


class Transaction(WritesAndDeletes, Protocol):
    """See `Writes`."""

    def edit(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Read an item now, for the `with` block to change. Raises NotFound."""
        ...

    def update(
        self,
        get: Callable[P, I | None],
        change: Callable[[I], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Read and change an item when the transaction is sent.

        If another writer changes an item between the read and the commit, the items of all `update`
        calls are read and changed again, up to five times.
        """
        ...

    def patch(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]: ...


class AsyncTransaction(AsyncWritesAndDeletes, Protocol):
    """See `Transaction`."""

    def edit(
        self, get: Callable[P, Awaitable[I | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractAsyncContextManager[I]: ...

    def update(
        self,
        get: Callable[P, Awaitable[I | None]],
        change: Callable[[I], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None: ...

    def patch(
        self, get: Callable[P, Awaitable[I | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractAsyncContextManager[I]: ...


class Work(WritesAndDeletes, Protocol):
    """The reads and writes of a function that is passed to `Store.transact`."""

    def get(self, get: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Read an item by its primary key. None if it is absent.

        The commit checks that the item is unchanged or still absent. The result does not show the
        writes that the transaction has collected so far.
        """
        ...


class AsyncWork(AsyncWritesAndDeletes, Protocol):
    """See `Work`."""

    async def get(
        self, get: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...


class TransactionRead(Protocol[X]):
    """An item of a read transaction. Before the `with` block ends, `item` raises LookupError."""

    @property
    def item(self) -> X: ...


class ReadTransaction(Protocol):
    """Collects up to 100 reads by primary keys, which see one snapshot."""

    def get(
        self, get: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> TransactionRead[R]: ...


class AsyncReadTransaction(Protocol):
    """See `ReadTransaction`."""

    def get(
        self, get: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> TransactionRead[R]: ...
