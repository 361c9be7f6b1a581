"""`/metrics`: the server's counts, in the text format of Prometheus.

Requests are counted on the event loop, into plain numbers. When a client asks for the page,
`prometheus-client` renders it in a thread of the admin port. Labels name only operations, tables
and indexes, never keys or clients.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hashrange.kv import StoreError
from hashrange.metering.usage import SourceReport
from hashrange.model.errors import ApiError
from hashrange.runtime.inspection.capacities import Capacity
from hashrange.server.admin import capacity_metrics
from hashrange.server.admin.capacity_metrics import Capacities, Usage
from hashrange.server.admin.figures import figure
from hashrange.server.admin.histogram import SECONDS, cumulated
from hashrange.server.admin.routes import Answer, Figures, Query, Route, Routes, text_answer
from hashrange.server.admin.table_metrics import TableCounts, families_of
from hashrange.server.clients import Answered

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class Operation(msgspec.Struct):
    """The counts of one operation's requests."""

    buckets: list[int] = msgspec.field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    seconds: float = 0.0
    request_bytes: int = 0
    response_bytes: int = 0
    errors: Counter[str] = msgspec.field(default_factory=Counter)


class Counts(msgspec.Struct):
    """The counts of a server since its start.

    `others` has the number of answers by status, for requests that did not become a call. `usage`
    has the consumed capacity of tables and indexes, and `capacities` their provisioned capacity.
    """

    operations: dict[str, Operation] = msgspec.field(default_factory=dict)
    others: Counter[str] = msgspec.field(default_factory=Counter)
    figures: dict[str, int] = msgspec.field(default_factory=dict)
    usage: list[SourceReport] = msgspec.field(default_factory=list)
    tables: TableCounts = msgspec.field(default_factory=TableCounts)
    capacities: list[Capacity] = msgspec.field(default_factory=list)


class Metrics:
    """Counts the requests of one server, and collects its other figures.

    `figures` returns the figures of the store and the server: sizes, and counts since the start.
    `failed` is called with the outcome of each request that got an error. `usage` returns the
    consumed capacity of tables and indexes, and `capacities` their provisioned capacity. `expired`
    returns the number of expired items that were deleted, by table.
    """

    def __init__(
        self,
        figures: Figures,
        failed: Callable[[object], None] = lambda outcome: None,
        usage: Usage = tuple,
        capacities: Capacities = tuple,
        expired: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self._figures = figures
        self._failed = failed
        self._usage = usage
        self._capacities = capacities
        self._expired = expired
        self._counts = Counts()

    def routes(self) -> Routes:
        return {"/metrics": Route(self.render)}

    def observe(self, answered: Answered) -> None:
        """Count an answered request. This method can be an `Observer` of the server."""
        call, seconds = answered.call, answered.seconds
        if call is None:
            self._counts.others[answered.response[9:12].decode()] += 1
            return
        counted = self._counts.operations.get(call.operation)
        if counted is None:
            counted = self._counts.operations[call.operation] = Operation()
        counted.buckets[bisect_left(SECONDS, seconds)] += 1
        counted.seconds += seconds
        counted.request_bytes += len(call.body)
        counted.response_bytes += len(answered.response)
        self._counts.tables.observe(answered)
        outcome = answered.outcome
        if isinstance(outcome, BaseException):
            counted.errors[_code(outcome)] += 1
            self._failed(outcome)

    def counts(self) -> Counts:
        """All counts as of now. May be called from any thread, and may wait for a disk.

        While the database cannot be reached, `capacities` keeps its last known value.
        """
        self._counts.figures = dict(self._figures())
        self._counts.usage = list(self._usage())
        if self._counts.figures.get("ready", 1):
            with suppress(StoreError):
                self._counts.capacities = list(self._capacities())
        self._counts.tables.expired = Counter(self._expired())
        return self._counts

    def render(self, query: Query) -> Answer:
        return rendered(self.counts)


def rendered(
    counts: Callable[[], Counts], process: "Callable[[], Iterable[Metric]] | None" = None
) -> Answer:
    """The page of metrics, rendered from `counts`. `process` returns metrics of processor time,
    memory and so on; by default, those of this process."""
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector, exposition
    except ModuleNotFoundError:
        return text_answer("metrics need: pip install 'hashrange[metrics]'", 501)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(lambda: _families(counts())))
    if process is None:
        ProcessCollector(registry=registry)
    else:
        registry.register(_Collector(process))
    return Answer(200, exposition.generate_latest(registry), exposition.CONTENT_TYPE_LATEST)


class _Collector:
    """A collector for prometheus-client's registry: it calls `families` at each collection."""

    def __init__(self, families: "Callable[[], Iterable[Metric]]") -> None:
        self.collect = families


def _families(counts: Counts) -> "Iterator[Metric]":
    yield from capacity_metrics.collect(counts.usage, counts.capacities)
    yield from families_of(counts.tables)
    yield from _of_requests(counts)
    yield from _of_figures(counts.figures)


def _of_requests(counts: Counts) -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    by = ["operation"]
    latency = HistogramMetricFamily(
        "hashrange_request_seconds", "Time from a complete request to its answer.", labels=by
    )
    sent = CounterMetricFamily("hashrange_request_bytes", "The bytes of request bodies.", labels=by)
    answers = CounterMetricFamily("hashrange_response_bytes", "The bytes of responses.", labels=by)
    errors = CounterMetricFamily(
        "hashrange_errors",
        "Requests that were answered with an error.",
        labels=["operation", "error"],
    )
    for name, counted in sorted(counts.operations.items()):
        latency.add_metric([name], cumulated(counted.buckets), counted.seconds)
        sent.add_metric([name], counted.request_bytes)
        answers.add_metric([name], counted.response_bytes)
        for error, number in sorted(counted.errors.items()):
            errors.add_metric([name, error], number)
    others = CounterMetricFamily(
        "hashrange_other_responses",
        "Responses to requests that are not valid calls of the API: refusals and health checks.",
        labels=["status"],
    )
    for status, number in sorted(counts.others.items()):
        others.add_metric([status], number)
    yield from (latency, sent, answers, errors, others)


def _of_figures(figures: Mapping[str, int]) -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    for name, value in figures.items():
        kind = figure(name)
        family = CounterMetricFamily if kind.rises else GaugeMetricFamily
        yield family(f"hashrange_{name}", kind.meaning, value=value)


def _code(outcome: object) -> str:
    return outcome.code if isinstance(outcome, ApiError) else "InternalServerError"
