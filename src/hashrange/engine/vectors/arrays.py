"""Arrays of numbers: numpy, if it is installed, and exact sums."""

from math import fsum
from typing import Any


def numpy() -> Any:
    """The module numpy, or None if it is not installed. It is imported when it is first needed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def sums(np: Any, terms: Any) -> list[float]:
    """The sum of each row of a two-dimensional array of 64-bit numbers, rounded only once.

    The array is overwritten. Each round splits the leading bits off all terms. These are so few
    bits that their sum is exact in any order (Rump, Ogita and Oishi, Accurate Floating-Point
    Summation, 2008). Two or three rounds are usual. There are fifteen if the terms have all
    magnitudes that products of 32-bit numbers can have.
    """
    spare_bits = (terms.shape[1] + 1).bit_length()
    parts: list[list[float]] = []
    while largest := max(terms.max(), -terms.min()):
        grid = np.ldexp(1.0, np.frexp(largest)[1] + spare_bits)
        leading = terms + grid
        leading -= grid
        terms -= leading
        parts.append(leading.sum(axis=1).tolist())
    return list(map(fsum, zip(*parts, strict=True))) if parts else [0.0] * len(terms)
