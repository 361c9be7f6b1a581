"""The Protocols of queries, with their pages and explanations: see `stores`."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from hashrange.design.errors import ItemError

U = TypeVar("U")
X = TypeVar("X", covariant=True)

Errors = Literal["raise", "collect"]


@dataclass(frozen=True)
class Page(Generic[X]):
    """A page of a query's items. The last page has no `cursor`.

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
                f"  items read: {self.items}, pages: {self.pages}, "
                f"capacity units consumed: {self.capacity}"
            )
        return "\n".join(lines)


class Query(Protocol[X]):
    """A collection of items. Each iteration reads it from the start, page by page."""

    def __iter__(self) -> Iterator[X]: ...

    def reverse(self) -> "Query[X]":
        """The same items in the opposite order. Raises BadValue for a Scan, which has no order."""
        ...

    def limit(self, most: int, /) -> "Query[X]":
        """The first `most` items."""
        ...

    def first(self) -> X | None:
        """The first item; None if there is none."""
        ...

    def of(self, entity: type[U], /) -> list[U]:
        """All items of one of the query's entities. Raises BadValue for any other class."""
        ...

    def page(
        self,
        size: int,
        cursor: str | None = None,
        *,
        max_read: int | None = None,
        errors: Errors = "raise",
    ) -> Page[X]:
        """A page of exactly `size` items. The last page may have fewer.

        `max_read` limits how many stored items are read for a page. If this limit is reached, the
        page may have fewer than `size` items. Raises InvalidCursor.
        """
        ...

    def explain(self) -> Explanation:
        """The query's requests, without sending them. Includes the cost if the query has run."""
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
