"""What an application sees of a store, as Protocols: so a test may pass any fake of the same shape.

    class Sensors(st.Store, Protocol):
        def floors(self, building_id: str) -> st.Query[Floor]: ...

`AsyncStore` is the same for asyncio: single items are `async def`, collections plain `def`s
that return an `AsyncQuery`. Everything raises what `hashrange.design.errors` lists.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from hashrange.design.declare.item import Item
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

    `skipped` counts items of entities that the table does not know; `errors` are the items that
    do not fit their class, if they were to be collected.
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
    """A query's requests, as (operation, parameters), and once it ran, what it took.

    `capacity` is in capacity units, as DynamoDB reported them.
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
    """A collection that is read page by page while it is iterated over, anew each time."""

    def __iter__(self) -> Iterator[X]: ...

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
        """Exactly `size` items until the end, and no empty last page.

        With `max_read` a page may be short: at most that many stored items are read for it.
        Raises InvalidCursor.
        """
        ...

    def explain(self) -> Explanation:
        """The request, without sending it; of a query that ran, what it took."""
        ...


class AsyncQuery(Protocol[X]):
    """See `Query`."""

    def __aiter__(self) -> AsyncIterator[X]: ...

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


class Transaction(Protocol):
    """Collects up to 100 writes, which are done together, or not at all, at the end of `with`."""

    def put(self, item: Item, /) -> None: ...

    def create(self, item: Item, /) -> None: ...

    def save(self, item: Item, /) -> None: ...

    def delete(self, item: Item, /) -> None: ...

    def check(self, item: Item, condition: str, /, **values: Any) -> None:
        """Only if the stored item fulfils e.g. `"balance >= :b"` with `b=100`."""
        ...


class Batch(Protocol):
    """Collects puts and deletes and sends them 25 at a time. Not atomic."""

    def put(self, item: Item, /) -> None: ...

    def delete(self, item: Item, /) -> None: ...


class Store(Protocol):
    """The writes of every store. `get` is a pattern of this store: `db.edit(db.sensor, "s-1")`."""

    def put(self, item: I, /) -> I:
        """Write the whole item, over whatever is there. Returns it with its copies filled."""
        ...

    def create(self, item: I, /) -> I:
        """Write the item. Raises AlreadyExists."""
        ...

    def save(self, item: I, /) -> I:
        """Write what differs from what was read (see `Item.replace`). Raises Conflict."""
        ...

    def edit(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Read an item, let the body change its fields, write them. Raises NotFound, Conflict."""
        ...

    def update(
        self,
        get: Callable[P, I | None],
        change: Callable[[I], object],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> I:
        """As `edit`, but a lost race is run again with what is there then, five times in all."""
        ...

    def patch(
        self, get: Callable[P, I | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> AbstractContextManager[I]:
        """Write the fields that the body assigns, without reading. Raises NotFound.

        Refuses (BadValue) fields that a key, a unique text or a copy depends on.
        """
        ...

    def add(self, item: I, /, **amounts: int | Decimal) -> I:
        """Add to number fields atomically; those that `patch` refuses are refused too."""
        ...

    def move(self, item: I, /) -> I:
        """Write an item whose key changed: delete the one that was read and create this one."""
        ...

    @overload
    def delete(self, item: Item, /) -> None: ...
    @overload
    def delete(
        self, get: Callable[P, Item | None], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None:
        """Delete an item, or the one that a pattern names by its key; no matter if it is there."""
        ...

    def get_many(self, get: Callable[..., R | None], keys: Iterable[Any], /) -> list[R | None]:
        """BatchGetItem: one answer for each of `keys` (a tuple of arguments, or the only one)."""
        ...

    def transaction(self, *, token: str | None = None) -> AbstractContextManager[Transaction]:
        """`token`: two transactions with the same one within ten minutes are one."""
        ...

    def batch(self, *, copies: bool = True) -> AbstractContextManager[Batch]:
        """Refuses entities with unique texts or versions, and those with copies unless
        `copies=False` says that copies are neither filled nor kept in step."""
        ...

    def sync(self, owner: Item, /) -> int:
        """Bring the copies of the owner's fields in step with it; how many were behind.

        What `save` does by itself. Called again after an interruption it goes on.
        """
        ...


class AsyncStore(Protocol):
    """See `Store`."""

    async def put(self, item: I, /) -> I: ...

    async def create(self, item: I, /) -> I: ...

    async def save(self, item: I, /) -> I: ...

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

    async def add(self, item: I, /, **amounts: int | Decimal) -> I: ...

    async def move(self, item: I, /) -> I: ...

    @overload
    async def delete(self, item: Item, /) -> None: ...
    @overload
    async def delete(
        self, get: Callable[P, Awaitable[Item | None]], /, *args: P.args, **kwargs: P.kwargs
    ) -> None: ...
    async def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> None: ...

    async def get_many(
        self, get: Callable[..., Awaitable[R | None]], keys: Iterable[Any], /
    ) -> list[R | None]: ...

    def transaction(
        self, *, token: str | None = None
    ) -> AbstractAsyncContextManager[Transaction]: ...

    def batch(self, *, copies: bool = True) -> AbstractAsyncContextManager[Batch]: ...

    async def sync(self, owner: Item, /) -> int: ...
