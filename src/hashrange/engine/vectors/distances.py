"""The distance of two vectors of 32-bit numbers, computed exactly and then rounded to 64 bits.

The product of two 32-bit numbers is exact in 64 bits, and a sum is rounded only once. So a score
does not depend on the order of the elements, nor on the way in which a vector was found.
"""

from collections.abc import Sequence
from functools import cached_property
from math import fsum, sqrt
from operator import mul, sub
from typing import Any

from hashrange.engine.vectors.arrays import numpy, sums
from hashrange.model.floats import unpack
from hashrange.model.tables import DistanceFunction

_NO_DIRECTION = 1.0
"""The cosine distance if one of the vectors is zero. This value is an assumption."""

_SQUARING = 2.0**-50
"""An upper bound of the relative error of a score's square."""


class Query:
    """The vector of a search, and the distance function that compares it with stored vectors."""

    def __init__(self, distance: DistanceFunction, numbers: tuple[float, ...]) -> None:
        self.distance = distance
        self.numbers = numbers
        self.norm = sqrt(fsum(map(mul, numbers, numbers)))

    @cached_property
    def array(self) -> Any:
        return numpy().array(self.numbers)

    @cached_property
    def array32(self) -> Any:
        return self.array.astype("f4")

    def scores(self, packed: Sequence[bytes]) -> list[float]:
        """The scores that the API returns for one or more packed vectors.

        A score is 1 - cosine, the Euclidean distance, or the dot product.
        """
        np = numpy()
        if np is None:
            return [self._score(unpack(each)) for each in packed]
        vectors = np.frombuffer(b"".join(packed), "<f4").reshape(len(packed), -1).astype(float)
        if self.distance == "EUCLIDEAN":
            return [sqrt(square) for square in sums(np, (self.array - vectors) ** 2)]
        if self.distance == "DOT_PRODUCT":
            return sums(np, self.array * vectors)
        both = sums(np, np.concatenate((self.array * vectors, vectors * vectors)))
        return list(map(self._cosine_distance, both[: len(packed)], both[len(packed) :]))

    def _score(self, vector: Sequence[float]) -> float:
        if self.distance == "EUCLIDEAN":
            differences = list(map(sub, self.numbers, vector))
            return sqrt(fsum(map(mul, differences, differences)))
        dot = fsum(map(mul, self.numbers, vector))
        if self.distance == "DOT_PRODUCT":
            return dot
        return self._cosine_distance(dot, fsum(map(mul, vector, vector)))

    def _cosine_distance(self, dot: float, square: float) -> float:
        length = self.norm * sqrt(square)
        if not length:
            return _NO_DIRECTION
        return 1.0 - max(-1.0, min(1.0, dot / length))

    def rank(self, score: float) -> float:
        """A number that is lower for nearer vectors."""
        return -score if self.distance == "DOT_PRODUCT" else score

    def bounds(self, score: float) -> tuple[float, float]:
        """The lowest and the highest rank that a row with this score can have in a block.

        They differ only for the Euclidean distance: a block ranks by the squared distance, and the
        square of the score is rounded.
        """
        if self.distance != "EUCLIDEAN":
            return self.rank(score), self.rank(score)
        square = score * score
        return square * (1 - _SQUARING), square * (1 + _SQUARING)
