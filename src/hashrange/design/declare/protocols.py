"""The interface of a store, as Protocols, so that a test can pass a fake of the same shape.

    class Sensors(st.Store, Protocol):
        def floors(self, building_id: str) -> st.Query[Floor]: ...

`AsyncStore` is the same for asyncio: a pattern for one item is an `async def`, a pattern for a
collection is a plain `def` that returns an `AsyncQuery`. Errors are in `hashrange.design.errors`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from hashrange.design.declare.amounts import Amounts
from hashrange.design.declare.item import Item
from hashrange.design.declare.transaction_protocols import (
    AsyncReadTransaction,
    AsyncTransaction,
    AsyncWork,
    ReadTransaction,
    Transaction,
    Work,
)
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.errors import ItemError

P = ParamSpec("P")
I = TypeVar("I", bound=Item)  # noqa: E741 (the item, in signatures that are all about it)
R = TypeVar("R")
U = TypeVar("U")
X = TypeVar("X", covariant=True)

Errors = Literal["raise", "collect"]


@dataclass(frozen=True)
class Page(Generic[X]):
    """A page of a query. `cursor` is None on the last one.

    `skipped` counts items of entities that the table does not know. With `errors="collect"`,
    `errors` has an error for each item that does not fit its class.
    """

    items: Sequence[X]
    cursor: str | None
    skipped: int = 0
    errors: list[ItemError] = field(default_factory=list)

    def __iter__(self) -> Iterator[X]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass
class Explanation:
    """A query's requests as (operation, parameters), and its cost once it has run.

    `capacity` is the number of capacity units that DynamoDB reported.
    """

    pattern: str
    requests: list[tuple[str, dict[str, Any]]]
    items: int = 0
    pages: int = 0
    capacity: float = 0.0

    def __str__(self) -> str:
        lines = [self.pattern]
        for operation, parameters in self.requests:
            lines.append(f"  {operation}")
            lines += [f"    {name} = {value}" for name, value in parameters.items()]
        if self.pages:
            lines.append(
                f"  read {self.items} items in {self.pages} pages, {self.capacity} capacity units"
            )
        return "\n".join(lines)


class Query(Protocol[X]):
    """A collection that each iteration reads from the start, page by page."""

    def __iter__(self) -> Iterator[X]: ...

    def reverse(self) -> "Query[X]":
        """The same items in the opposite order. A Scan has no order: raises BadValue."""
        ...

    def limit(self, most: int, /) -> "Query[X]":
        """The first `most` items."""
        ...

    def first(self) -> X | None:
        """The first item, if there is one."""
        ...

    def of(self, entity: type[U], /) -> list[U]:
        """All items of one of the query's entities."""
        ...

    def page(
        self,
        size: int,
        cursor: str | None = None,
        *,
        max_read: int | None = None,
        errors: Errors = "raise",
    ) -> Page[X]:
        """A page of exactly `size` items; the last page may have fewer, but is never empty.

        With `max_read`, at most that many stored items are read for a page, so that it may have
        fewer items. Raises InvalidCursor.
        """
        ...

    def explain(self) -> Explanation:
        """The requests, without sending them. After the query has run, also its cost."""
        ...


class AsyncQuery(Protocol[X]):
    """See `Query`."""

    def __aiter__(self) -> AsyncIterator[X]: ...

    def reverse(self) -> "AsyncQuery[X]": ...

    def limit(self, most: int, /) -> "AsyncQuery[X]": ...

    async def first(self) -> X | None: ...

    async def of(self, entity: type[U], /) -> list[U]: ...

    async def page(
        self,
        size: int,
        cursor: str | None = None,
        *,
        max_read: int | None = None,
        errors: Errors = "raise",
    ) -> Page[X]: ...

    def explain(self) -> Explanation: ...


class Batch(Protocol):
    """Collects puts and deletes and sends them 25 at a time. Not atomic."""

    def put(self, item: Item, /) -> None: ...

    def delete(self, item: Item, /) -> None: ...


class Store(Protocol):
    """The writes of every store. `get` is a pattern of the store: `db.edit(db.sensor, "s-1")`.

    `where` is a condition of the stored item, e.g. `where="stock >= :n", n=5`. If it does not hold,
    the write raises ConditionFailed.
    """

    def put(self, item: I, /, *, where: Where | None = None, **values: Any) -> I:
        """Write the whole item and replace the stored one. Returns it with its copies filled in.

        If the entity has a version, the stored item must have the version of `item`, and a new
        item must not exist: raises Conflict.
        """
        ...

    def create(self, item: I, /, *, where: Where | None = None, **values: Any) -> I:
        """Write a new item. Raises AlreadyExists."""
        ...

    def save(self, item: I, /, *, where: Where | None = None, **values: Any) -> I:
        """Write the fields that differ from those read (see `Item.replace`). Raises Conflict."""
        ...

    def edit(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Read an item for the body to change, then write it. Raises NotFound, Conflict."""
        ...

    def update(
        self,
        get: Callable[P, I | None],
        change: Callable[[I], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> I:
        """As `edit`, but after a lost race read and change the item again, up to five times."""
        ...

    def patch(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Write the fields that the body assigns, without reading. Raises NotFound.

        Raises BadValue for a field that a key, a unique text or a copy depends on.
        """
        ...

    @overload
    def add(self, item: I, /, *, where: Where | None = None, **amounts: Any) -> I: ...
    @overload
    def add(
        self, item: I, by: Amounts[I], /, *, where: Where | None = None, **values: Any
    ) -> I: ...
    def add(
        self, item: Any, by: Any = None, /, *, where: Where | None = None, **amounts: Any
    ) -> Any:
        """Add to numbers, and members to sets, atomically and without a read: `add(item, count=1)`.
        For type checkers, `by` has the amounts as `st.Amounts`.

        Raises NotFound, BadValue for a field that `patch` refuses, and ConditionFailed if a field
        would leave its declared bounds (`Field(ge=0)`). `amounts` also has the values of `where`.
        """
        ...

    @overload
    def add_or_create(self, item: I, /, **amounts: Any) -> I: ...
    @overload
    def add_or_create(self, item: I, by: Amounts[I], /) -> I: ...
    def add_or_create(self, item: Any, by: Any = None, /, **amounts: Any) -> Any:
        """Add to numbers and sets of the stored item, or of `item`, which is created, if none is.

        One atomic request, or two if the stored item lacks a field that `item` has. Raises what
        `add` raises, and BadValue if the entity has unique texts or copies, or is copied.
        """
        ...

    def discard(self, item: I, /, *, where: Where | None = None, **members: Any) -> I:
        """Remove members from sets: see `add`."""
        ...

    def append(self, item: I, /, *, where: Where | None = None, **elements: Any) -> I:
        """Append elements to lists: see `add`."""
        ...

    def assign(
        self, item: I, path: str, value: Any, /, *, where: Where | None = None, **values: Any
    ) -> I:
        """Assign a nested value, of e.g. `"address.city"` or `"lines[0]"`: see `add`."""
        ...

    def move(self, item: I, /, *, where: Where | None = None, **values: Any) -> I:
        """Write an item whose key changed: delete the item that was read and create this one."""
        ...

    @overload
    def delete(self, item: Item, /, *, where: Where | None = None, **values: Any) -> None: ...
    @overload
    def delete(
        self, get: Callable[P, Item | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None:
        """Delete an item, or the item that a pattern names by its key, if it exists.

        If the entity has a version and `item` was read, the stored item must have the version of
        `item`: raises Conflict.
        """
        ...

    def delete_tree(self, parent: Item, /, *, preview: bool = False) -> dict[str, int]:
        """Delete an item and all items below it; returns the number of items of each entity.

        An entity's children are those whose primary key contains its primary key, by field names
        or st.ref. Children are deleted first and not atomically; after an interruption, a second
        call continues. With `preview`, the items are only counted. Raises BadValue if a child
        cannot be found (R04).
        """
        ...

    def get_many(self, get: Callable[..., R | None], keys: Iterable[Any], /) -> list[R | None]:
        """BatchGetItem: one result for each key (a tuple of arguments, or a single argument)."""
        ...

    def transaction(
        self, *others: "Store", token: str | None = None
    ) -> AbstractContextManager[Transaction]:
        """Write items of this table, and of the tables of `others`, together.

        `others` are stores on the same connection. Two transactions with the same `token` within
        ten minutes are done once.
        """
        ...

    def transact(
        self, work: Callable[Concatenate[Work, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call `work(t, ...)`, write what it collected in `t` if all that it read is unchanged.

        After a lost race, `work` is called again, up to ten times in all: it should have no other
        effects. Then Conflict is raised. It is not called again after an error of the client, such
        as a timeout, since the writes may have been done. Returns what `work` returns.
        """
        ...

    def read_transaction(self) -> AbstractContextManager[ReadTransaction]:
        """Get items of one snapshot, by patterns of any stores on the same connection."""
        ...

    def batch(self, *, copies: bool = True) -> AbstractContextManager[Batch]:
        """Raises BadValue for entities with unique texts or versions, and for those with copies
        unless `copies=False`, which neither fills in copies nor updates them."""
        ...

    def sync(self, owner: Item, /) -> int:
        """Update the copies of the owner's fields; returns how many were out of date.

        `save` does this by itself. After an interruption, a call of `sync` continues it.
        """
        ...


class AsyncStore(Protocol):
    """See `Store`."""

    async def put(self, item: I, /, *, where: Where | None = None, **values: Any) -> I: ...

    async def create(self, item: I, /, *, where: Where | None = None, **values: Any) -> I: ...

    async def save(self, item: I, /, *, where: Where | None = None, **values: Any) -> I: ...

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
    async def add(self, item: I, /, *, where: Where | None = None, **amounts: Any) -> I: ...
    @overload
    async def add(
        self, item: I, by: Amounts[I], /, *, where: Where | None = None, **values: Any
    ) -> I: ...
    async def add(
        self, item: Any, by: Any = None, /, *, where: Where | None = None, **amounts: Any
    ) -> Any: ...

    @overload
    async def add_or_create(self, item: I, /, **amounts: Any) -> I: ...
    @overload
    async def add_or_create(self, item: I, by: Amounts[I], /) -> I: ...
    async def add_or_create(self, item: Any, by: Any = None, /, **amounts: Any) -> Any: ...

    async def discard(self, item: I, /, *, where: Where | None = None, **members: Any) -> I: ...

    async def append(self, item: I, /, *, where: Where | None = None, **elements: Any) -> I: ...

    async def assign(
        self, item: I, path: str, value: Any, /, *, where: Where | None = None, **values: Any
    ) -> I: ...

    async def move(self, item: I, /, *, where: Where | None = None, **values: Any) -> I: ...

    @overload
    async def delete(self, item: Item, /, *, where: Where | None = None, **values: Any) -> None: ...
    @overload
    async def delete(
        self, get: Callable[P, Awaitable[Item | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    async def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None: ...

    async def delete_tree(self, parent: Item, /, *, preview: bool = False) -> dict[str, int]: ...

    async def get_many(
        self, get: Callable[..., Awaitable[R | None]], keys: Iterable[Any], /
    ) -> list[R | None]: ...

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
