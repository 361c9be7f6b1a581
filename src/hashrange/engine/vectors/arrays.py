"""Arrays of numbers: numpy, if it is installed, and exact sums."""

from math import fsum
from typing import Any

_ROUNDING = 2.0**-53


def numpy() -> Any:
    """The library, or None if it is not installed. It is imported when it is first needed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def sums(np: Any, numbers: Any) -> list[float]:
    """The sum of each row of a two-dimensional array of 64-bit numbers, rounded only once.

    What each addition rounds off is exact, and is added up beside the sum (Ogita, Rump and Oishi,
    Accurate Sum and Dot Product, 2005). If the error of that second sum might change how the whole
    is rounded, `fsum` decides.
    """
    running = numbers.cumsum(axis=1)
    lost = _rounded_off(running[:, :-1], numbers[:, 1:], running[:, 1:]).sum(axis=1)
    whole = running[:, -1] + lost
    doubt = np.abs(_rounded_off(running[:, -1], lost, whole))
    doubt += 2 * (numbers.shape[1] * _ROUNDING) ** 2 * np.abs(numbers).sum(axis=1)
    half_step = np.spacing(np.nextafter(np.abs(whole), 0)) / 2
    totals: list[float] = whole.tolist()
    for row in (doubt >= half_step).nonzero()[0].tolist():
        totals[row] = fsum(numbers[row].tolist())
    return totals


def _rounded_off(a: Any, b: Any, added: Any) -> Any:
    """What rounding took from `added`, the sums of two arrays (Knuth, The Art of Computer
    Programming, volume 2, section 4.2.2, theorem B)."""
    back = added - a
    return (a - (added - back)) + (b - back)
