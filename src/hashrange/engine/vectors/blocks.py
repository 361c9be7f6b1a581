"""Blocks: up to 1024 rows of a vector index in memory, which never change.

With numpy, a block uses 32-bit arithmetic to find the rows that may be among the nearest. The error
of this arithmetic has a proven bound: the computed dot product of x and q differs from the true one
by at most g |x| |q|, where g = d u / (1 - d u) for d dimensions and u = 2^-24, plus d times the
smallest number (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). If the
products could overflow, 64 bits are used. If 32 bits do not distinguish rows, closer bounds are
computed from their differences in 64 bits. Without numpy, every row is a candidate.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from hashrange.engine.vectors.arrays import numpy
from hashrange.engine.vectors.distances import Query
from hashrange.model.tables import VectorIndex

ROWS_MAX = 1024
NUMBERS_MAX = 256 * 1024
"""The largest number of vector elements in a block. Other requests wait while a block is prepared,
which takes about two milliseconds."""
Filters = Sequence[tuple[str, Any] | None]
"""For each filter attribute, the type and content of its value; None if it is absent."""

_ROUNDING_32, _ROUNDING_64 = 2.0**-24, 2.0**-53
_SMALLEST_32, _SMALLEST_64 = 2.0**-149, 2.0**-1074
_COSINE_ROUNDING = 64 * _ROUNDING_64
"""An upper bound of the error of the cosine distance in `closer` and `Query.scores`, for near
vectors. For other vectors the error grows with the distance."""
_SAFE = 1e37
"""If the product of the two norms is below this, no partial sum of a 32-bit dot product
overflows."""
_OVERHEAD_BYTES = 400
"""The memory of a row without its vector, in bytes: its key, raw key, filters and their objects."""


class Candidates(NamedTuple):
    """Rows of a block, by number, each with the lowest and the highest rank that it can have.

    See `Query.rank`. Without numpy, these bounds are None.
    """

    rows: Sequence[int]
    low: Any = None
    high: Any = None


class StoredVector(NamedTuple):
    """A row: its key in the index, the raw key of its item, the packed vector, and its filters."""

    key: bytes
    raw: bytes
    packed: bytes
    filters: Filters


class Block:
    """One or more rows of an index. Their packed vectors are joined."""

    def __init__(self, rows: Sequence[StoredVector]) -> None:
        self._packed = b"".join([row.packed for row in rows])
        self._width = len(rows[0].packed)
        self._raws = [row.raw for row in rows]
        self._filters = [row.filters for row in rows]
        self.numbers = {row.key: number for number, row in enumerate(rows)}
        """Maps the key of each row to its number in the block."""
        self._keys = list(self.numbers)

    def __len__(self) -> int:
        return len(self._keys)

    def row(self, number: int) -> StoredVector:
        at = number * self._width
        packed = self._packed[at : at + self._width]
        return StoredVector(self._keys[number], self._raws[number], packed, self._filters[number])

    @property
    def bytes(self) -> int:
        """The approximate size of the block in memory, including the arrays."""
        return len(self._packed) + _OVERHEAD_BYTES * len(self)

    def candidates(self, query: Query, wanted: Filters | None, dead: frozenset[int]) -> Candidates:
        """The rows whose filter attributes have the values `wanted`, without the `dead` rows, which
        are no longer in the view.

        In `wanted`, None stands for an attribute that may have any value.
        """
        rows: Sequence[int] = range(len(self))
        if dead:
            rows = [number for number in rows if number not in dead]
        for at, value in enumerate(wanted or ()):
            if value is not None:
                rows = [number for number in rows if self._filters[number][at] == value]
        np = numpy()
        if np is None or not rows:
            return Candidates(rows)
        low, high = self._bounds(np, query)
        if len(rows) < len(self):
            low, high = low[rows], high[rows]
        return Candidates(rows, low, high)

    def closer(self, query: Query, candidates: Candidates) -> Candidates:
        """The same rows with closer bounds of their ranks, which distinguish even near duplicates.

        The bounds are computed from copies of the rows in 64 bits. For the Euclidean and the cosine
        distance, they are computed from sums of squared differences, whose relative error is small.
        """
        np = numpy()
        numbers, vector = self._matrix[candidates.rows].astype(np.float64), query.array
        norms, dimensions = self._norms[candidates.rows], len(vector)
        match query.distance:
            case "DOT_PRODUCT":
                middle = -(numbers @ vector)
                error = dimensions * _ROUNDING_64 * norms * query.norm * (1 + 1e-9)
                error += dimensions * _SMALLEST_64
            case "EUCLIDEAN":
                middle = _squares(np, numbers, vector)
                error = 4 * (dimensions + 8) * _ROUNDING_64 * middle
            case "COSINE":
                pairs = norms > 0 if query.norm else np.zeros(len(norms), bool)
                numbers /= np.where(pairs, norms, 1.0)[:, None]
                squares = _squares(np, numbers, vector / (query.norm or 1.0))
                middle = np.where(pairs, squares / 2, 1.0)
                error = 4 * dimensions * _ROUNDING_64 * middle + _COSINE_ROUNDING
                error = np.where(pairs, error, 0.0)
        low, high = (
            np.maximum(candidates.low, middle - error),
            np.minimum(candidates.high, middle + error),
        )
        return Candidates(candidates.rows, low, high)

    @cached_property
    def _matrix(self) -> Any:
        return numpy().frombuffer(self._packed, "<f4").reshape(len(self), -1)

    @cached_property
    def _norms(self) -> Any:
        """The norm of each row, computed in 64 bits."""
        # `einsum` converts portions, so it makes no 64-bit copy of the whole matrix.
        np = numpy()
        return np.sqrt(np.einsum("ij,ij->i", self._matrix, self._matrix, dtype=np.float64))

    @cached_property
    def _longest(self) -> float:
        return float(self._norms.max())

    @cached_property
    def _shortest(self) -> float:
        return float(self._norms.min())

    def _bounds(self, np: Any, query: Query) -> tuple[Any, Any]:
        """The lowest and the highest rank that each row can have."""
        norms, lengths = self._norms, self._norms * query.norm
        dimensions = self._matrix.shape[1]
        if self._longest * query.norm < _SAFE:
            rounding, smallest = _ROUNDING_32, _SMALLEST_32
            dots = (self._matrix @ query.array32).astype(np.float64)
        else:
            rounding, smallest = _ROUNDING_64, _SMALLEST_64
            dots = self._matrix.astype(np.float64) @ query.array
        share = dimensions * rounding / (1 - dimensions * rounding)
        error = share * (1 + 1e-9) * lengths + dimensions * smallest
        match query.distance:
            case "DOT_PRODUCT":
                middle = -dots
            case "EUCLIDEAN":
                # The squared distance has the same order as the distance.
                squares = norms * norms + query.norm * query.norm
                middle = squares - 2 * dots
                error = 2 * error + 8 * dimensions * _ROUNDING_64 * squares
            case "COSINE":
                if not self._shortest * query.norm:  # a zero vector has no direction
                    lengths = np.where(lengths > 0, lengths, np.inf)
                middle = 1 - dots / lengths
                error = error / lengths + 8 * dimensions * _ROUNDING_64
        return middle - error, middle + error


def _squares(np: Any, numbers: Any, vector: Any) -> Any:
    """The squared distance of each row to a vector. The array `numbers` is overwritten."""
    numbers -= vector
    return np.einsum("ij,ij->i", numbers, numbers)


def rows_max(index: VectorIndex) -> int:
    """The largest number of rows in a block of an index."""
    return max(1, min(ROWS_MAX, NUMBERS_MAX // index.dimensions))


def blocks_of(index: VectorIndex, rows: Sequence[StoredVector]) -> list[Block]:
    most = rows_max(index)
    return [Block(rows[at : at + most]) for at in range(0, len(rows), most)]
