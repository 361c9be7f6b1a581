"""The decorators of access patterns, which add facts to what a method's signature says."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hashrange.design.declare.item import Index, Item
from hashrange.design.declare.vectors import Vectors
from hashrange.design.errors import DeclarationError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Facts:
    """The facts that a pattern's decorators declare.

    `rate` is in calls per second, `items` in items per call, and `size` in bytes per item.
    """

    rate: float | None = None
    items: int | None = None
    size: int | None = None
    consistent: bool = False
    latest: bool = False
    scan: str | None = None
    where: str | None = None
    through: type[Item] | None = None
    through_field: str | None = None
    counted: tuple[type[Item], ...] = ()
    using: str | None = None
    scatter: tuple[str, ...] = ()
    buckets: int | None = None


def facts(function: Callable[..., Any]) -> Facts:
    declared: Facts = getattr(function, "__design_facts__", Facts())
    return declared


def _fact(function: F, **more: Any) -> F:
    function.__design_facts__ = replace(facts(function), **more)  # type: ignore[attr-defined]
    return function


def rate(
    per_second: float, *, items: int | None = None, size: int | None = None
) -> Callable[[F], F]:
    """How often the pattern is called, how many items it returns, and how many bytes each has."""
    numbers = {"rate": per_second, "items": items, "size": size}

    def declare(function: F) -> F:
        for name, number in numbers.items():
            if number is not None and number < 0:
                raise DeclarationError(
                    f"@st.rate: {name} must be at least 0, not {number:g}", at=function
                )
        return _fact(function, **numbers)

    return declare


def consistent(function: F) -> F:
    """Read with strong consistency, at twice the capacity. Global indexes do not support this."""
    return _fact(function, consistent=True)


def latest(function: F) -> F:
    """Return the newest items first or, with the result type `X | None`, only the newest item."""
    return _fact(function, latest=True)


def scan_ok(reason: str) -> Callable[[F], F]:
    """Allow this pattern to read the whole table, for the given reason."""
    return lambda function: _fact(function, scan=reason)


def where(condition: str) -> Callable[[F], F]:
    """Filter the items that were read, e.g. by `"status = :s"` where `s` is an argument."""
    return lambda function: _fact(function, where=condition)


def through(relation: type[Item], field: str | None = None, /) -> Callable[[F], F]:
    """Read items of the entity `relation`, then the items that they refer to.

    If `relation` has several references to the returned entity, `field` selects one: it names a
    field of that reference. The default is the reference with a field that is not an argument of
    the pattern.
    """
    return lambda function: _fact(
        function, through=_entity(relation, "through", function), through_field=field
    )


def using(index: Index | Vectors) -> Callable[[F], F]:
    """Read this index, e.g. `@st.using(Sensor.broken)`.

    An index with a `when` holds only some items, so it is used only if a pattern asks for it.
    """

    def declare(function: F) -> F:
        if not isinstance(index, (Index, Vectors)):
            message = f"@st.using({index!r}) needs the index itself, e.g. @st.using(Sensor.broken)"
            raise DeclarationError(message, at=function)
        return _fact(function, using=index.name)

    return declare


def scatter(*fields: str) -> Callable[[F], F]:
    """Send a Query for each possible value of the fields, and merge the results by the sort key.

    The fields are enums, literals, or integers with close bounds.
    """
    return lambda function: _fact(function, scatter=fields)


def buckets(*, at_most: int) -> Callable[[F], F]:
    """Read a range of time from partitions whose keys hold a month, a day or another unit of time.

    The partitions are read one after another. A range that touches more than `at_most` partitions
    is refused. A range without an upper end ends at the present.

    A pattern with `@st.latest` that returns `X | None` needs no lower end. Without a lower end, it
    reads the last `at_most` partitions, and raises EmptyBuckets if they are empty.
    """

    def declare(function: F) -> F:
        if at_most < 1:
            raise DeclarationError(
                f"@st.buckets: at_most must be at least 1, not {at_most}", at=function
            )
        return _fact(function, buckets=at_most)

    return declare


def counts(*entities: type[Item]) -> Callable[[F], F]:
    """Name the entities whose items the pattern counts. Such a pattern returns `int`."""

    def declare(function: F) -> F:
        return _fact(function, counted=tuple(_entity(e, "counts", function) for e in entities))

    return declare


def _entity(model: type[Item], decorator: str, at: object) -> type[Item]:
    if isinstance(model, type) and issubclass(model, Item):
        return model
    raise DeclarationError(f"@st.{decorator}({model!r}) needs the class of an entity", at=at)
