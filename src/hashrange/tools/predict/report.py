"""A prediction as data, and as text for people."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from hashrange.amounts import counted
from hashrange.design.tools.cost.price_list import Prices
from hashrange.design.tools.cost.report import aligned
from hashrange.runtime.prediction.outcome import Outcome
from hashrange.runtime.prediction.prediction import Predicted, Prediction, Smallest
from hashrange.runtime.prediction.reading import Load
from hashrange.runtime.prediction.sensitivity import LAG, Range
from hashrange.tools.predict.dollars import usd_a_month

CHANGES_SHOWN = 12
OPEN_LOOP = (
    "each request is replayed once, at the time of its first attempt, and not retried if it is "
    "refused"
)
OURS = "the ranges are no confidence intervals: see docs/reference/predict.md"


class Report:
    def __init__(
        self, load: Load, prediction: Prediction, prices: Prices, assumed: Sequence[str] = ()
    ) -> None:
        self.load = load
        self.prediction = prediction
        self.prices = prices
        self.assumed = [*assumed, *self._assumed()]

    def usd(self, outcome: Outcome) -> float:
        return usd_a_month(outcome, self.prediction.seconds, self.prices)

    def range_of(self, each: Predicted, name: str) -> tuple[float, float]:
        """The smallest and the largest value that the prediction `each` has for `name`:
        "throttled", "lag" or "dollars"."""
        if name == "dollars":
            usd = self.usd(each.outcome)
            return usd, usd
        assert each.range is not None
        return each.range.throttled if name == "throttled" else each.range.lag_seconds

    def _assumed(self) -> Iterator[str]:
        yield OPEN_LOOP
        counts, head = self.prediction.assumed, self.load.head
        if counts.retried:
            yield f"{counts.retried:,} later attempts of these requests are left out"
        if counts.assumed:
            yield (
                f"{counted(counts.assumed, 'request')} were refused at every attempt; each is "
                "assumed to consume the average of requests with the same operation on the same "
                "table or index"
            )
        if head.keys == "hmac":
            yield (
                "the trace has no keys, only hashes of partition keys, so the replay cannot split "
                "an item collection"
            )
        yield from self.prediction.notes
        yield (
            "partitions are split because they are hot or because throughput is raised, not "
            "because of their size"
        )

    # ---- data ----

    def data(self) -> dict[str, Any]:
        return {
            "load": self.load.path,
            "seconds": self.prediction.seconds,
            "requests": self.prediction.assumed.requests,
            "scenarios": [self._scenario(each) for each in self.prediction.scenarios],
            "smallest_provisioned": self._smallest(self.prediction.smallest),
            "assumed": self.assumed,
            "prices": {"region": self.prices.region, "date": self.prices.date},
        }

    def _scenario(self, each: Predicted) -> dict[str, Any]:
        outcome = each.outcome
        return {
            "name": each.scenario.name,
            "requests": outcome.requests,
            "refused_requests": outcome.refused_requests,
            "refused_units": outcome.refused_units,
            "throttled": outcome.throttled,
            "first_refusal": _first(outcome),
            "reasons": [
                {"reason": reason, "table": table, "index": index, **_members(count)}
                for (reason, table, index), count in outcome.reasons.items()
            ],
            "minutes": [
                {
                    "minute": minute,
                    "at": clock(outcome.started + 60 * minute),
                    "requests": requests,
                    **_members(outcome.minutes.get(minute), "refused_"),
                    "reasons": {
                        f"{reason} {index or table}": number
                        for (at, reason, table, index), number in outcome.minute_reasons.items()
                        if at == minute
                    },
                }
                for minute, requests in sorted(outcome.minute_requests.items())
            ],
            "tables": [
                {
                    "table": use.table,
                    "index": use.index,
                    "billing": "PAY_PER_REQUEST" if use.on_demand else "PROVISIONED",
                    "read_units": use.read_units,
                    "write_units": use.write_units,
                    "provisioned": use.provisioned,
                    "partitions": use.partitions,
                    "warm_throughput": use.warm,
                    "key_to_blame": use.blamed,
                    "lag_seconds": use.lag_seconds,
                }
                for use in outcome.uses
            ],
            "changes": [
                {"seconds": c.seconds, "table": c.table, "index": c.index, "change": c.text}
                for c in outcome.changes
            ],
            "usd_a_month": self.usd(outcome),
            "range": _range(each.range),
        }

    def _smallest(self, smallest: Smallest) -> dict[str, Any]:
        if smallest.units is None:
            return {"suffices": False, "why": smallest.why}
        units = {name: {"read": r, "write": w} for name, (r, w) in smallest.units.items()}
        usd = None if smallest.outcome is None else self.usd(smallest.outcome)
        return {"suffices": True, "units": units, "usd_a_month": usd}

    # ---- text ----

    def text(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> Iterator[str]:
        prediction = self.prediction
        minutes = prediction.seconds / 60
        requests = f"{prediction.assumed.requests:,} requests"
        yield f"{self.load.path}: {requests} in {minutes:,.1f} minutes"
        yield ""
        head = [
            *("scenario", "refused", "share", "range", "units refused"),
            *("lag, s", "splits", "$ a month"),
        ]
        yield from aligned([head, *(self._row(each) for each in prediction.scenarios)])
        for each in prediction.scenarios:
            yield ""
            yield from self._details(each)
        yield ""
        yield from self._provisioning()
        yield ""
        yield from (f"assumed: {text}" for text in self.assumed)
        yield OURS

    def _row(self, each: Predicted) -> list[str]:
        outcome = each.outcome
        return [
            each.scenario.name,
            f"{outcome.refused_requests:,}",
            percent(outcome.throttled),
            "" if each.range is None else _span(*each.range.throttled, percent),
            f"{outcome.refused_units:,.0f}",
            f"{outcome.lag_seconds:,.1f}",
            str(sum("split" in change.text for change in outcome.changes)),
            f"{self.usd(outcome):,.2f}",
        ]

    def _details(self, each: Predicted) -> Iterator[str]:
        outcome = each.outcome
        yield f"{each.scenario.name}:"
        if outcome.first is None:
            yield "  nothing is refused"
        else:
            yield f"  first refusal: {first_text(outcome)}"
        for (reason, table, index), count in outcome.reasons.items():
            where = f"{table}/{index}" if index else table
            yield (f"  {count.requests:,} refused, {count.units:,.0f} units: {reason} of {where}")
        if outcome.minutes:
            worst = max(outcome.minutes, key=lambda minute: outcome.minutes[minute].requests)
            yield (
                f"  worst minute: {clock(outcome.started + 60 * worst)[:5]}, "
                f"{outcome.minutes[worst].requests:,} of {outcome.minute_requests[worst]:,} "
                f"refused; {counted(len(outcome.minutes), 'minute')} with refusals"
            )
        for use in outcome.uses:
            where = f"{use.table}/{use.index}" if use.index else use.table
            if use.blamed:
                yield f"  to blame in {where}: key {use.blamed}"
            if use.lag_seconds:
                yield f"  {where} was {use.lag_seconds:,.1f} s behind"
        for change in outcome.changes[:CHANGES_SHOWN]:
            where = f"{change.table}/{change.index}" if change.index else change.table
            yield f"  {clock(outcome.started + change.seconds)}, {where}: {change.text}"
        if len(outcome.changes) > CHANGES_SHOWN:
            yield f"  and {len(outcome.changes) - CHANGES_SHOWN:,} more changes"
        if each.range is not None:
            yield from self._sensitivity(each.range)

    def _sensitivity(self, spread_range: Range) -> Iterator[str]:
        thinned = (
            f" (one request in {spread_range.thinned} is replayed)"
            if spread_range.thinned > 1
            else ""
        )
        spread = [
            f"{each.name} {_span(each.low.throttled, each.high.throttled, percent)}"
            for each in spread_range.varied
            if each.low.throttled != each.high.throttled
            or each.low.throttled != spread_range.base.throttled
        ]
        if spread:
            yield (
                f"  share of refused requests: {percent(spread_range.base.throttled)}; if one "
                f"assumption is varied{thinned}: {'; '.join(spread)}"
            )
        else:
            yield f"  no varied assumption changes the share of refused requests{thinned}"

    def _provisioning(self) -> Iterator[str]:
        smallest = self.prediction.smallest
        if smallest.units is None:
            yield f"no provisioned capacity was found that serves every request: {smallest.why}"
            return
        units = "; ".join(f"{name} {r} RCU, {w} WCU" for name, (r, w) in smallest.units.items())
        yield f"smallest provisioned capacity that serves every request: {units}"


def first_text(outcome: Outcome) -> str:
    """The first refusal: "09:14:07, GSI4, key 'Measurement', partition 1 of this simulation: …"."""
    first = outcome.first
    assert first is not None
    at = clock(outcome.started + first.seconds)
    return (
        f"{at}, {first.index or first.table}, key {first.key}, partition {first.partition} of "
        f"this simulation: {first.reason}"
    )


def clock(seconds: float) -> str:
    """The time of day in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share else "0 %"


def _span(low: float, high: float, shown: Any) -> str:
    return shown(low) if low == high else f"{shown(low)} to {shown(high)}"


def _first(outcome: Outcome) -> dict[str, Any] | None:
    first = outcome.first
    if first is None:
        return None
    return {
        "seconds": first.seconds,
        "at": clock(outcome.started + first.seconds),
        "reason": first.reason,
        "table": first.table,
        "index": first.index,
        "key": first.key,
        "partition": first.partition,
    }


def _members(count: Any, before: str = "") -> dict[str, Any]:
    requests, units = (count.requests, count.units) if count else (0, 0.0)
    names = ("requests", "units") if not before else ("refused", "refused_units")
    return {names[0]: requests, names[1]: units}


def _range(throttle_range: Range | None) -> dict[str, Any] | None:
    if throttle_range is None:
        return None
    return {
        "throttled": throttle_range.throttled,
        "lag_seconds": throttle_range.lag_seconds,
        "one_request_of": throttle_range.thinned,
        "varied": [
            {
                "name": each.name,
                "throttled": (each.low.throttled, each.high.throttled),
                "lag_seconds": (each.low.lag_seconds, each.high.lag_seconds),
            }
            for each in throttle_range.varied
        ]
        + [{"name": LAG.name, "lag_seconds_added": (LAG.low, LAG.high)}],
    }
