"""The interface of a store, as Protocols, so that a test can pass a fake of the same shape.

    class Sensors(st.Store, Protocol):
        def floors(self, building_id: str) -> st.Query[Floor]: ...

`AsyncStore` is the same for asyncio: a pattern for one item is an `async def`, a pattern for a
collection is a plain `def` that returns an `AsyncQuery`. Errors are in `hashrange.design.errors`.
"""

from collections.abc import Awaitable, Callable, Iterable, Set
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, TypeVarTuple, overload

from hashrange.design.declare.amounts import Amount, Amounts
from hashrange.design.declare.item import Item
from hashrange.design.declare.protocols.transactions import (
    AsyncReadTransaction,
    AsyncTransaction,
    AsyncWork,
    ReadTransaction,
    Transaction,
    Work,
)
from hashrange.design.declare.typed_conditions import Condition, Where

P = ParamSpec("P")
I = TypeVar("I", bound=Item)  # noqa: E741 (the item, in signatures that are all about it)
R = TypeVar("R")
A = TypeVar("A")
Arguments = TypeVarTuple("Arguments")


class Batch(Protocol):
    """Collects puts and deletes and sends them 25 at a time. Not atomic."""

    def put(self, item: Item, /) -> None: ...

    def delete(self, item: Item, /) -> None: ...


class Store(Protocol):
    """The writes of every store.

    `get` is a pattern of the store for one item: `db.edit(db.sensor, "s-1")`. `where` is a
    condition of the stored item: `where="stock >= :n", n=5`. If it is false, the write raises
    ConditionFailed.
    """

    def put(self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any) -> I:
        """Write the whole item and replace the stored one. Returns it with its copies filled in.

        If the entity has a version, the stored item must have the version of `item`. If `item` is
        new, no item with a version may be stored under its key. Otherwise Conflict is raised.
        """
        ...

    def create(self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any) -> I:
        """Write a new item. Raises AlreadyExists."""
        ...

    def save(self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any) -> I:
        """Write the fields of `item` that differ from the item as it was read. Raises Conflict.

        See `Item.replace`.
        """
        ...

    def edit(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Read an item, let the `with` block change it, and write it. Raises NotFound, Conflict."""
        ...

    def update(
        self,
        get: Callable[P, I | None],
        change: Callable[[I], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> I:
        """Like `edit`, but after a Conflict, read and change the item again, up to five times."""
        ...

    def patch(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Write the fields that the `with` block assigns, without a read. Raises NotFound.

        Raises BadValue for a field that a key, a unique text or a copy depends on.
        """
        ...

    @overload
    def add(self, item: I, /, *, where: Condition[I] | None = None, **amounts: Amount) -> I: ...
    @overload
    def add(self, item: I, /, *, where: str, **amounts: Any) -> I: ...
    @overload
    def add(
        self, item: I, by: Amounts[I], /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> I: ...
    def add(
        self, item: Any, by: Any = None, /, *, where: Where | None = None, **amounts: Any
    ) -> Any:
        """Add to numbers, and members to sets, atomically and without a read: `add(item, count=1)`.

        With `by`, an `st.Amounts`, type checkers know the fields and amounts. If `where` is a text,
        `amounts` also has the values of its parameters (`:name`). Raises NotFound, BadValue for a
        field that `patch` refuses, and ConditionFailed if a field would leave its declared bounds
        (`Field(ge=0)`).
        """
        ...

    @overload
    def add_or_create(self, item: I, /, **amounts: Amount) -> I: ...
    @overload
    def add_or_create(self, item: I, by: Amounts[I], /) -> I: ...
    def add_or_create(self, item: Any, by: Any = None, /, **amounts: Any) -> Any:
        """Add to numbers and sets of the stored item, or create `item` with the amounts added.

        This is one atomic request, or two if the stored item lacks a field of `item`. Raises the
        errors of `add`, and BadValue if the entity has unique texts or copies, or if another entity
        copies its fields.
        """
        ...

    @overload
    def discard(
        self, item: I, /, *, where: Condition[I] | None = None, **members: Set[Any]
    ) -> I: ...
    @overload
    def discard(self, item: I, /, *, where: str, **members: Any) -> I: ...
    def discard(self, item: Any, /, *, where: Where | None = None, **members: Any) -> Any:
        """Remove members from sets: see `add`."""
        ...

    @overload
    def append(
        self,
        item: I,
        /,
        *,
        where: Condition[I] | None = None,
        **elements: list[Any] | tuple[Any, ...],
    ) -> I: ...
    @overload
    def append(self, item: I, /, *, where: str, **elements: Any) -> I: ...
    def append(self, item: Any, /, *, where: Where | None = None, **elements: Any) -> Any:
        """Append elements to lists: see `add`."""
        ...

    def assign(
        self,
        item: I,
        path: str,
        value: Any,
        /,
        *,
        where: str | Condition[I] | None = None,
        **values: Any,
    ) -> I:
        """Set the nested value at `path`, e.g. `"address.city"` or `"lines[0]"`: see `add`."""
        ...

    def move(self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any) -> I:
        """Write an item whose key has changed: delete it under the old key, and create `item`."""
        ...

    @overload
    def delete(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...
    @overload
    def delete(
        self, get: Callable[P, Item | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None:
        """Delete an item, or the item that a pattern names by its key, if it exists.

        If `what` is an item that was read, and its entity has a version, Conflict is raised unless
        the stored item has the same version.
        """
        ...

    def delete_tree(self, parent: Item, /, *, preview: bool = False) -> dict[str, int]:
        """Delete an item and all items below it. Returns the number of items of each entity.

        An entity is below another if its primary key contains the other's primary key, by field
        names or st.ref. The deepest items are deleted first, and not atomically. After an
        interruption, call `delete_tree` again to continue. With `preview`, the items are only
        counted. Raises BadValue if no key finds the items of an entity below (R04).
        """
        ...

    @overload
    def get_many(self, get: Callable[[A], R | None], keys: Iterable[A], /) -> list[R | None]: ...
    @overload
    def get_many(
        self, get: Callable[[*Arguments], R | None], keys: Iterable[tuple[*Arguments]], /
    ) -> list[R | None]: ...
    def get_many(self, get: Callable[..., Any], keys: Iterable[Any], /) -> list[Any]:
        """Call the pattern `get` for many keys with BatchGetItem. Returns one result for each key.

        A key is the pattern's only argument, or a tuple of its arguments.
        """
        ...

    def transaction(
        self, *others: "Store", token: str | None = None
    ) -> AbstractContextManager[Transaction]:
        """Write items of this table, and of the tables of `others`, together.

        `others` are stores on the same connection. Of two transactions with the same `token` within
        ten minutes, only the first is done.
        """
        ...

    def transact(
        self, work: Callable[Concatenate[Work, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call `work(t, ...)`, commit the writes that `t` has collected, and return the result.

        If an item that `work` read has changed before the commit, nothing is written, and `work` is
        called again, up to ten times in all. So `work` should have no other effects. Conflict is
        raised if the last call fails too. After an error of the client, such as a timeout, `work`
        is not called again, because the writes may have been done.
        """
        ...

    def read_transaction(self) -> AbstractContextManager[ReadTransaction]:
        """Get items as of one moment, by patterns of any stores on the same connection."""
        ...

    def batch(self, *, copies: bool = True) -> AbstractContextManager[Batch]:
        """Put and delete items with BatchWriteItem: cheaper than a transaction, and not atomic.

        Raises BadValue for an entity with unique texts, a version or copies. With `copies=False`,
        entities with copies are accepted, but copies are neither filled in nor updated.
        """
        ...

    def sync(self, owner: Item, /) -> int:
        """Update the copies of the owner's fields. Returns how many were out of date.

        `save` updates copies by itself. If `save` is interrupted, call `sync` to update the
        remaining ones.
        """
        ...


class AsyncStore(Protocol):
    """See `Store`."""

    async def put(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> I: ...

    async def create(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> I: ...

    async def save(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> I: ...

    def edit(
        self, get: Callable[P, Awaitable[I | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractAsyncContextManager[I]: ...

    async def update(
        self,
        get: Callable[P, Awaitable[I | None]],
        change: Callable[[I], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> I: ...

    def patch(
        self, get: Callable[P, Awaitable[I | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractAsyncContextManager[I]: ...

    @overload
    async def add(
        self, item: I, /, *, where: Condition[I] | None = None, **amounts: Amount
    ) -> I: ...
    @overload
    async def add(self, item: I, /, *, where: str, **amounts: Any) -> I: ...
    @overload
    async def add(
        self, item: I, by: Amounts[I], /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> I: ...
    async def add(
        self, item: Any, by: Any = None, /, *, where: Where | None = None, **amounts: Any
    ) -> Any: ...

    @overload
    async def add_or_create(self, item: I, /, **amounts: Amount) -> I: ...
    @overload
    async def add_or_create(self, item: I, by: Amounts[I], /) -> I: ...
    async def add_or_create(self, item: Any, by: Any = None, /, **amounts: Any) -> Any: ...

    @overload
    async def discard(
        self, item: I, /, *, where: Condition[I] | None = None, **members: Set[Any]
    ) -> I: ...
    @overload
    async def discard(self, item: I, /, *, where: str, **members: Any) -> I: ...
    async def discard(self, item: Any, /, *, where: Where | None = None, **members: Any) -> Any: ...

    @overload
    async def append(
        self,
        item: I,
        /,
        *,
        where: Condition[I] | None = None,
        **elements: list[Any] | tuple[Any, ...],
    ) -> I: ...
    @overload
    async def append(self, item: I, /, *, where: str, **elements: Any) -> I: ...
    async def append(self, item: Any, /, *, where: Where | None = None, **elements: Any) -> Any: ...

    async def assign(
        self,
        item: I,
        path: str,
        value: Any,
        /,
        *,
        where: str | Condition[I] | None = None,
        **values: Any,
    ) -> I: ...

    async def move(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> I: ...

    @overload
    async def delete(
        self, item: I, /, *, where: str | Condition[I] | None = None, **values: Any
    ) -> None: ...
    @overload
    async def delete(
        self, get: Callable[P, Awaitable[Item | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    async def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None: ...

    async def delete_tree(self, parent: Item, /, *, preview: bool = False) -> dict[str, int]: ...

    @overload
    async def get_many(
        self, get: Callable[[A], Awaitable[R | None]], keys: Iterable[A], /
    ) -> list[R | None]: ...
    @overload
    async def get_many(
        self, get: Callable[[*Arguments], Awaitable[R | None]], keys: Iterable[tuple[*Arguments]], /
    ) -> list[R | None]: ...
    async def get_many(self, get: Callable[..., Any], keys: Iterable[Any], /) -> list[Any]: ...

    def transaction(
        self, *others: "AsyncStore", token: str | None = None
    ) -> AbstractAsyncContextManager[AsyncTransaction]: ...

    async def transact(
        self,
        work: Callable[Concatenate[AsyncWork, P], Awaitable[R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R: ...

    def read_transaction(self) -> AbstractAsyncContextManager[AsyncReadTransaction]: ...

    def batch(self, *, copies: bool = True) -> AbstractAsyncContextManager[Batch]: ...

    async def sync(self, owner: Item, /) -> int: ...
