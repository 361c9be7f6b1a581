"""The middle of repeated measurements, and what it says despite noise."""

import math
from collections.abc import Iterable
from statistics import median, quantiles
from typing import Literal, NamedTuple, Self

Verdict = Literal["held", "missed", "within noise"]


class Spread(NamedTuple):
    """The median of some values, their quartiles, and how far the median can be trusted.

    The true median lies between `low` and `high` in at least 93 of 100 cases, whatever the
    distribution of the noise, if there are five values or more. The two are order statistics: the
    least and the greatest of up to eight values; of more values, two that are closer to the middle.
    """

    median: float
    first_quartile: float
    third_quartile: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        ordered = sorted(values)
        count = len(ordered)
        outside = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
        first, _, third = quantiles(ordered, n=4, method="inclusive") if count > 1 else 3 * ordered
        return cls(median(ordered), first, third, ordered[outside], ordered[-1 - outside])

    @property
    def per_cent(self) -> float:
        """The interquartile range as a percentage of the median."""
        width = self.third_quartile - self.first_quartile
        return 100 * width / self.median if self.median else 0.0

    def at_least(self, bar: float) -> Verdict:
        if self.low >= bar:
            return "held"
        return "missed" if self.high < bar else "within noise"

    def at_most(self, bar: float) -> Verdict:
        if self.high <= bar:
            return "held"
        return "missed" if self.low > bar else "within noise"
