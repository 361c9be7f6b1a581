"""Fields that hold vectors, their indexes, and the results of a search.

    class Document(st.Item):
        key = st.key("doc#{document_id}")
        by_meaning = st.vectors("by_meaning", "embedding", partition="tenant", filters=["kind"])

        document_id: str
        tenant: str
        kind: str
        embedding: st.Vector(768)

    class Documents(st.Store, Protocol):
        def similar(
            self, to: st.VectorLike, tenant: str, kind: str | None = None, top: int = 10
        ) -> st.Nearest[Document]: ...

A vector is a tuple of 32-bit numbers, made from any sequence of numbers or an array.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import Annotated, Any, Generic, Literal, SupportsFloat, TypeVar, Union

from pydantic import PlainValidator

from hashrange.design.errors import BadValue, DeclarationError
from hashrange.model import floats
from hashrange.model.limits import VECTOR_DIMENSIONS_MAX
from hashrange.model.values import AttributeValue

X = TypeVar("X", covariant=True)
VectorLike = Iterable[SupportsFloat]
"""A list, a tuple, an `array.array` or a numpy array of numbers."""
Distance = Literal["cosine", "euclidean", "dot_product"]


@dataclass(frozen=True)
class Vector:
    """A field with a list of `dimensions` 32-bit numbers: `embedding: st.Vector(768)`.

    Type checkers do not accept a call as a type. For them, write
    `embedding: Annotated[tuple[float, ...], st.Vector(768)]`, which means the same.
    """

    dimensions: int

    def __post_init__(self) -> None:
        if not 1 <= self.dimensions <= VECTOR_DIMENSIONS_MAX:
            text = (
                f"st.Vector({self.dimensions}): a vector has 1 to {VECTOR_DIMENSIONS_MAX} numbers"
            )
            raise DeclarationError(text, rule="V01")

    def __or__(self, other: Any) -> Any:
        return Union[Annotated[tuple[float, ...], self], other]  # noqa: UP007 (built at run time)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return handler.generate_schema(Annotated[Any, PlainValidator(self.validated)])

    def validated(self, value: Any) -> tuple[float, ...]:
        """The numbers rounded to 32 bits. Raises ValueError."""
        if isinstance(value, (str, bytes, Mapping, set, frozenset)):
            raise ValueError("a vector must be a sequence of numbers")
        try:
            elements = value.tolist() if hasattr(value, "tolist") else value
            numbers = [_number(element) for element in islice(elements, self.dimensions + 1)]
        except (TypeError, OverflowError):
            raise ValueError("a vector must be a sequence of numbers") from None
        if len(numbers) != self.dimensions:
            count = (
                f"more than {self.dimensions}" if len(numbers) > self.dimensions else len(numbers)
            )
            raise ValueError(f"it has {count} numbers instead of {self.dimensions}")
        if not all(map(isfinite, numbers)):
            raise ValueError("a vector cannot contain NaN or infinity")
        if not floats.fits(numbers):
            raise ValueError("a number does not fit in 32 bits")
        return floats.unpack(floats.pack(numbers))


def _number(element: Any) -> float:
    if isinstance(element, (str, bytes)):
        raise TypeError
    return float(element)


def stored(vector: Sequence[float]) -> AttributeValue:
    """The vector as a DynamoDB list. Each number has the fewest digits that identify its 32 bits.

    These digits count towards an item's limit of 400 KB. Raises BadValue.
    """
    if not all(map(isfinite, vector)) or not floats.fits(vector):
        raise BadValue("the numbers of a vector must be finite, and fit in 32 bits")
    return floats.as_list(floats.pack(vector))


@dataclass(frozen=True)
class Vectors:
    """See `vectors`."""

    name: str
    field: str
    partition: str | None
    filters: tuple[str, ...]
    distance: Distance
    project: Literal["ALL", "KEYS_ONLY"] | tuple[str, ...]


def vectors(
    name: str,
    field: str,
    /,
    *,
    partition: str | None = None,
    filters: Sequence[str] = (),
    distance: Distance = "cosine",
    project: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL",
) -> Vectors:
    """The vector index `name` of the vectors in `field`.

    A search must name a value of the field `partition`, if there is one, and finds only items with
    this value. It may also name values of the fields in `filters`. All these values are compared
    for equality. An item without the vector or the partition is not in the index.
    """
    shown: Any = project if isinstance(project, str) else tuple(project)
    return Vectors(name, field, partition, tuple(filters), distance, shown)


@dataclass(frozen=True)
class Match(Generic[X]):
    """An item and its score.

    Depending on the index's `distance`, the score is 1 - cosine, the Euclidean distance, or the dot
    product.
    """

    item: X
    score: float


@dataclass(frozen=True)
class Nearest(Generic[X]):
    """The items that are nearest to a vector, the nearest one first."""

    matches: Sequence[Match[X]]

    def __iter__(self) -> Iterator[Match[X]]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)

    def __getitem__(self, number: int) -> Match[X]:
        return self.matches[number]

    @property
    def items(self) -> list[X]:
        """The items without their scores."""
        return [match.item for match in self.matches]
