"""The distance of two vectors of 32-bit numbers, as exact as a 64-bit number can be.

The product of two 32-bit numbers is exact in 64 bits, and `fsum` rounds a sum only once. So a
score does not depend on the order of the elements, nor on the way in which a vector was found.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from operator import mul, sub

from msgspec import Struct

from hashrange.model.tables import DistanceFunction

_NO_DIRECTION = 1.0
"""The cosine distance if one of the vectors is zero (?)."""

_SQUARING = 2.0**-50
"""More than the error of a squared score."""


class Query(Struct, gc=False):
    """The vector that others are compared with."""

    distance: DistanceFunction
    numbers: tuple[float, ...]
    norm: float

    @classmethod
    def of(cls, distance: DistanceFunction, numbers: tuple[float, ...]) -> "Query":
        return cls(distance, numbers, norm(numbers))

    def score(self, vector: Sequence[float]) -> float:
        """The score that the API returns: 1 - cosine, the Euclidean distance, or the dot
        product."""
        if self.distance == "EUCLIDEAN":
            return norm(list(map(sub, self.numbers, vector)))
        dot = fsum(map(mul, self.numbers, vector))
        if self.distance == "DOT_PRODUCT":
            return dot
        length = self.norm * norm(vector)
        if not length:
            return _NO_DIRECTION
        return 1.0 - max(-1.0, min(1.0, dot / length))

    def rank(self, score: float) -> float:
        """A number that is lower for nearer vectors."""
        return -score if self.distance == "DOT_PRODUCT" else score

    def bounds(self, score: float) -> tuple[float, float]:
        """The lowest and the highest rank of a row with this score, as a block states them."""
        if self.distance != "EUCLIDEAN":
            return self.rank(score), self.rank(score)
        square = score * score
        return square * (1 - _SQUARING), square * (1 + _SQUARING)


def norm(vector: Sequence[float]) -> float:
    return sqrt(fsum(map(mul, vector, vector)))
