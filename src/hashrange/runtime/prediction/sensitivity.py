"""The dependence of a prediction on constants that nobody outside DynamoDB knows.

Each variation changes one constant, or the positions of the keys. The result is not a confidence
interval: we have chosen the values (docs/reference/predict.md), and the true value may be outside
of their range.
"""

from typing import NamedTuple

from msgspec import Struct

from hashrange.model.settings import Settings
from hashrange.runtime.prediction.outcome import Outcome
from hashrange.runtime.prediction.provisioning import Demand
from hashrange.runtime.prediction.scenarios import Scenario

SEEDS = 20
REQUESTS_MAX = 60_000
"""The largest number of requests that a variation replays. In a longer load, one replayed request
stands for several."""


class Constant(NamedTuple):
    """A constant that is varied between `low` and `high`. `setting` is the meter's setting for
    it."""

    name: str
    setting: str
    low: float
    high: float


INITIAL = Constant("initial credit", "initial_burst_seconds", 0, 300)
HEAT_SHARE = Constant("heat share", "heat_share", 0.5, 1.0)
HEAT_SECONDS = Constant("heat seconds", "heat_seconds", 60, 900)
BACKLOG = Constant("backlog of an index", "index_backlog_units", 100, 10_000)
CONSTANTS = (INITIAL, HEAT_SHARE, HEAT_SECONDS, BACKLOG)
PLACEMENT = "placement of keys"
LAG = Constant("lag", "", 0.0, 1.0)
"""The time in seconds that an entry takes to reach an index that is not behind. It is not replayed:
its two values are added to the least and the largest lag."""


class Result(Struct):
    """The figures of one replay."""

    throttled: float
    lag_seconds: float

    @classmethod
    def of(cls, outcome: Outcome) -> "Result":
        return cls(outcome.throttled, outcome.lag_seconds)


class Varied(Struct):
    """The effect of varying one constant or the keys: `low` and `high` have the least and the
    largest figures."""

    name: str
    low: Result
    high: Result


class Range(Struct):
    """The least and the largest figures of a scenario, over all variations.

    `whole` has the figures of the whole load. The variations replay only a sample, one of every
    `thinned` requests, and `base` has the figures of the sample without a variation. The effect of
    a variation is the difference of its figures from `base`.
    """

    whole: Result
    base: Result
    varied: list[Varied]
    thinned: int

    @property
    def throttled(self) -> tuple[float, float]:
        changes = [end.throttled - self.base.throttled for end in self._ends]
        low, high = (self.whole.throttled + change(changes) for change in (min, max))
        return max(low, 0.0), min(high, 1.0)

    @property
    def lag_seconds(self) -> tuple[float, float]:
        changes = [end.lag_seconds - self.base.lag_seconds for end in self._ends]
        low, high = (self.whole.lag_seconds + change(changes) for change in (min, max))
        return max(low, 0.0) + LAG.low, high + LAG.high

    @property
    def _ends(self) -> list[Result]:
        return [self.base, *(end for each in self.varied for end in (each.low, each.high))]


def matter(outcome: Outcome, scenario: Scenario, demand: Demand, settings: Settings) -> set[str]:
    """The names of the constants that may change the figures of a scenario.

    A constant is left out if it has no effect: the initial credit if nothing is provisioned, heat
    if no partition comes near its limit, the backlog if no index is behind, and the placement of
    keys if one partition could serve each table.
    """
    names = set()
    tables = [scenario.of(table) for table in demand.tables.values()]
    if not all(table.on_demand for table in tables):
        names.add(INITIAL.name)
    ranges = any("KeyRange" in reason for reason, _, _ in outcome.reasons)
    if ranges or outcome.peak_share >= HEAT_SHARE.low:
        names |= {HEAT_SHARE.name, HEAT_SECONDS.name}
    if outcome.lags:
        names.add(BACKLOG.name)
    for (_, written), peak in demand.peaks.items():
        most = settings.partition_write_units if written else settings.partition_read_units
        if 2 * peak > most:  # then no second, wherever it begins, needs more than `most`
            names.add(PLACEMENT)
    return names
