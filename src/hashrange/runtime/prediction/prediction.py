"""Predictions: a load in several scenarios, and how the results depend on the assumptions.

Everything is synchronous and deterministic: the same load gives the same figures.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from msgspec import Struct

from hashrange.metering.trace import SECOND, Event, Note
from hashrange.runtime.prediction.attempts import Assumed, FirstAttempts
from hashrange.runtime.prediction.outcome import Outcome
from hashrange.runtime.prediction.provisioning import UNITS_MAX, Demand
from hashrange.runtime.prediction.reading import Line, Load, TraceError, settings_of
from hashrange.runtime.prediction.replay import Chosen, Replay
from hashrange.runtime.prediction.scenarios import Scenario
from hashrange.runtime.prediction.sensitivity import (
    CONSTANTS,
    PLACEMENT,
    REQUESTS_MAX,
    SEEDS,
    Range,
    Result,
    Varied,
    matter,
)

Wanted = dict[str, tuple[int | None, int | None]]
"""Maps the name of each table and index to its read and write units."""

ROUNDS, TRIALS, CONFIRMED_MAX = 2, 16, 2
"""How a sufficient multiple of the provisioned units is found. In each of `ROUNDS` rounds, fewer
than `TRIALS` factors are tried together with a thinned load. Then the smallest factors that seem
sufficient, at most `CONFIRMED_MAX`, are tried with the whole load."""


class Smallest(Struct):
    """The smallest provisioned capacity without refusals. If no capacity is sufficient, `units` is
    None, and `why` is the reason."""

    units: Wanted | None
    why: str = ""
    outcome: Outcome | None = None


class Predicted(Struct):
    scenario: Scenario
    outcome: Outcome
    range: Range | None = None


class Prediction(Struct):
    scenarios: list[Predicted]
    smallest: Smallest
    assumed: Assumed
    seconds: float
    demand: Demand
    notes: list[str]
    """What the recording does not show."""


class Predictor:
    """Makes the prediction for a load. Before each step, `progress` is called with a description of
    the step."""

    def __init__(self, load: Load, progress: Callable[[str], None] = lambda _: None) -> None:
        self._load = load
        self._progress = progress
        self._settings = settings_of(load.head)

    def predict(self, scenarios: Sequence[Scenario], add_smallest: bool = False) -> Prediction:
        """Predict the outcome in each scenario. Raises TraceError.

        With `add_smallest`, the smallest sufficient provisioning is added as another scenario.
        """
        self._progress("replaying the load")
        replays = [Replay(self._load.head, each) for each in scenarios]
        demand, first = Demand(), FirstAttempts()
        time, notes = -1, list[str]()
        for line in self._lines(first):
            demand.feed(line)
            for replay in replays:
                replay.feed(line)
            if type(line) is Event:
                time = line.time
            elif type(line) is Note:
                notes.append(line.note)
        if time < 0:
            raise TraceError(f"{self._load.path}: the load has no requests")
        time = max(time, int(self._load.seconds * SECOND))
        for replay in replays:
            replay.end(time)
        predicted = [Predicted(each.scenario, each.outcome) for each in replays]
        self._check_names(scenarios, demand)
        thinned = max(1, -(-first.counted.requests // REQUESTS_MAX))
        smallest = self._smallest(demand, thinned)
        if add_smallest and smallest.units is not None and smallest.outcome is not None:
            made = _provisioned("smallest provisioned", smallest.units)
            predicted.append(Predicted(made, smallest.outcome))
        self._vary(predicted, thinned, demand)
        seconds = time / SECOND
        return Prediction(predicted, smallest, first.counted, seconds, demand, notes)

    def _lines(self, first: FirstAttempts) -> Iterator[Line]:
        for _, line in first.of(self._load.lines()):
            yield line

    def _check_names(self, scenarios: Sequence[Scenario], demand: Demand) -> None:
        known = [s.name for t in demand.tables.values() for s in t.with_global_indexes()]
        for scenario in scenarios:
            for name in (*scenario.changed, *scenario.shards):
                if name not in known:
                    raise TraceError(
                        f"{scenario.name}: the load has no table or index {name} (it has "
                        f"{', '.join(known)})"
                    )

    # ---- the smallest provisioning ----

    def _smallest(self, demand: Demand, thinned: int) -> Smallest:
        self._progress("looking for the smallest provisioning")
        units = demand.smallest(self._load.head.started, self._settings)
        if units is None:
            return Smallest(None, f"{UNITS_MAX:,} units, the default quota, are not enough")
        outcome = self._try(units)
        if (first := outcome.first) is None:
            return Smallest(units, "", outcome)
        # More units make more partitions, which may help unless a single key is the cause.
        for factor in self._factors(units, thinned):
            more = _times(units, factor)
            outcome = self._try(more)
            if (first := outcome.first) is None:
                return Smallest(more, "", outcome)
        where = first.index or first.table
        why = f"a single key exceeds its limit: {first.reason}, {where}, key {first.key}"
        return Smallest(None, why)

    def _factors(self, units: Wanted, thinned: int) -> list[float]:
        """Factors for the units, smallest first, to be tried in this order with the whole load.

        Each factor but the last was sufficient in a replay of a thinned load. The last factor is
        the largest possible one.
        """
        low, high = 1.0, float(UNITS_MAX)
        sufficient = [high]
        for _ in range(ROUNDS):
            factors = [low * (high / low) ** (n / TRIALS) for n in range(1, TRIALS)]
            self._progress(f"trying {len(factors)} multiples of the provisioned units")
            chosen = Chosen(thinned=thinned, brief=True, trial=True)
            trials = [
                Replay(self._load.head, _provisioned("a trial", _times(units, each)), chosen)
                for each in factors
            ]
            self._replay_some(trials, thinned)
            enough = [f for f, trial in zip(factors, trials, strict=True) if not trial.failed]
            if not enough:
                break
            sufficient += enough
            high = min(enough)
            low = max((f for f in factors if f < high), default=low)
        return [*sorted(sufficient)[:CONFIRMED_MAX], float(UNITS_MAX)]

    def _try(self, units: Wanted) -> Outcome:
        """The outcome of a replay with these provisioned units. The replay ends at the first
        refusal."""
        replay = Replay(self._load.head, _provisioned("a trial", units), Chosen(trial=True))
        time = 0
        for line in self._lines(FirstAttempts()):
            replay.feed(line)
            if type(line) is Event:
                time = line.time
                if replay.failed:
                    break
        replay.end(time)
        return replay.outcome

    # ---- variations ----

    def _vary(self, predicted: Sequence[Predicted], thinned: int, demand: Demand) -> None:
        runs = [self._variations(each, thinned, demand) for each in predicted]
        everything = [replay for run in runs for replays in run.values() for replay in replays]
        if everything:
            self._progress(f"varying the assumptions: {len(everything)} replays")
            self._replay_some(everything, thinned)
        for each, run in zip(predicted, runs, strict=True):
            whole = Result.of(each.outcome)
            results = {name: [Result.of(r.outcome) for r in rs] for name, rs in run.items()}
            [base] = results.pop("", [whole])
            varied = [_extremes(name, varied_results) for name, varied_results in results.items()]
            each.range = Range(whole, base, varied, thinned)

    def _replay_some(self, replays: Sequence[Replay], thinned: int) -> None:
        """Replay a sample of the load: one random request of every `thinned` successive
        requests."""
        random, time, left, behind = Random(0), 0, 1, 0
        for line in self._lines(FirstAttempts()):
            if type(line) is Event:
                time = line.time
                left -= 1
                if left:
                    continue
                before = int(random.random() * thinned)
                left, behind = behind + before + 1, thinned - before - 1
            for replay in replays:
                replay.feed(line)
            if all(replay.failed for replay in replays):
                break
        for replay in replays:
            replay.end(time)

    def _variations(
        self, predicted: Predicted, thinned: int, demand: Demand
    ) -> dict[str, list[Replay]]:
        """The replays of variations that may change the outcome, by the name of what is varied.

        If there are any, the result also has a replay without variation, under the name "".
        """

        def replay(settings: dict[str, float] | None = None, seed: int | None = None) -> Replay:
            chosen = Chosen(settings or {}, seed, thinned, brief=True)
            return Replay(self._load.head, predicted.scenario, chosen)

        names = matter(predicted.outcome, predicted.scenario, demand, self._settings)
        runs = {"": [replay()]} if names else {}
        for each in CONSTANTS:
            if each.name in names:
                values = (each.low, each.high)
                runs[each.name] = [replay({each.setting: value}) for value in values]
        if PLACEMENT in names:
            runs[PLACEMENT] = [replay(seed=n) for n in range(SEEDS)]
        return runs


def _provisioned(name: str, units: Wanted) -> Scenario:
    return Scenario(name=name, mode="provisioned", changed=units)


def _times(units: Wanted, factor: float) -> Wanted:
    def more(each: int | None) -> int:
        return min(round((each or 1) * factor), UNITS_MAX)

    return {name: (more(read), more(write)) for name, (read, write) in units.items()}


def _extremes(name: str, results: Sequence[Result]) -> Varied:
    throttled = [each.throttled for each in results]
    lags = [each.lag_seconds for each in results]
    return Varied(name, Result(min(throttled), min(lags)), Result(max(throttled), max(lags)))
