"""CloudWatch's metrics of requests, by table and operation, under CloudWatch's names.

Latencies and returned items are counted only if throughput is measured, because only a measured
request has a receipt that names its tables. If a request got an error, its tables are read from the
request. Source: developer guide, DynamoDB metrics and dimensions.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from hashrange import wire
from hashrange.metering.metered import Metered
from hashrange.model.errors import (
    ApiError,
    ConditionalCheckFailedException,
    InternalServerError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
)
from hashrange.runtime.inspection.named_tables import tables_named
from hashrange.server.admin.histogram import SECONDS, cumulated
from hashrange.server.clients import Answered

if TYPE_CHECKING:
    from prometheus_client.core import Metric

THROTTLED = (ProvisionedThroughputExceededException, RequestLimitExceeded, ThrottlingException)
BY = ["table_name", "operation"]

TableOperation = tuple[str, str]
"""(name of a table, name of an operation)"""


class _Page(msgspec.Struct):
    """The response of GetRecords, with its records undecoded."""

    records: list[msgspec.Raw] = msgspec.field(default_factory=list, name="Records")


_page = msgspec.json.Decoder(_Page).decode


class Succeeded(msgspec.Struct):
    """The successful requests of one operation on one table."""

    buckets: list[int] = msgspec.field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    seconds: float = 0.0
    returned: int = 0


class TableCounts(msgspec.Struct):
    """The counts of requests by table and operation.

    `failed` has the counts of failed requests for each metric. `records` and `record_bytes` have
    the number and size of the records that GetRecords returned, by table. `expired` has the number
    of expired items that were deleted, by table.
    """

    succeeded: dict[TableOperation, Succeeded] = msgspec.field(default_factory=dict)
    failed: dict[str, Counter[TableOperation]] = msgspec.field(default_factory=dict)
    user_errors: int = 0
    records: Counter[str] = msgspec.field(default_factory=Counter)
    record_bytes: Counter[str] = msgspec.field(default_factory=Counter)
    expired: Counter[str] = msgspec.field(default_factory=Counter)

    def observe(self, answered: Answered) -> None:
        call, outcome = answered.call, answered.outcome
        assert call is not None, "the request must have become a call"
        if type(outcome) is Metered:
            for table in outcome.tables:
                served = self.succeeded.get((table, call.operation))
                if served is None:
                    served = self.succeeded[table, call.operation] = Succeeded()
                served.buckets[bisect_left(SECONDS, answered.seconds)] += 1
                served.seconds += answered.seconds
                served.returned += outcome.receipt.returned
        elif isinstance(outcome, bytes):
            if call.operation == "GetRecords":
                self._count_records(call, outcome)
        else:
            self._count_error(call, outcome)

    def add(self, other: "TableCounts") -> None:
        """Add the counts of another process."""
        for place, more in other.succeeded.items():
            served = self.succeeded.setdefault(place, Succeeded())
            served.buckets = [a + b for a, b in zip(served.buckets, more.buckets, strict=True)]
            served.seconds += more.seconds
            served.returned += more.returned
        for kind, places in other.failed.items():
            self.failed.setdefault(kind, Counter()).update(places)
        self.user_errors += other.user_errors
        self.records.update(other.records)
        self.record_bytes.update(other.record_bytes)
        self.expired.update(other.expired)

    def _count_records(self, call: wire.Call, body: bytes) -> None:
        for table in _tables_named(call):
            self.records[table] += len(_page(body).records)
            self.record_bytes[table] += len(body)

    def _count_error(self, call: wire.Call, error: BaseException) -> None:
        kinds = _kinds(error)
        if not kinds.keys() & set(_NOT_OF_USERS):
            self.user_errors += 1
        if not kinds:
            return
        tables = _tables_named(call)
        for kind, count in kinds.items():
            operation = "" if kind in _BY_TABLE else call.operation
            for table in tables:
                self.failed.setdefault(kind, Counter())[table, operation] += count


def families_of(counts: TableCounts) -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    latency = HistogramMetricFamily(
        "aws_dynamodb_successful_request_latency_seconds",
        "Time from a complete request to its answer.",
        labels=BY,
    )
    returned = CounterMetricFamily(
        "aws_dynamodb_returned_item_count", "Items that Query and Scan returned.", labels=BY
    )
    for place, served in sorted(counts.succeeded.items()):
        latency.add_metric([*place], cumulated(served.buckets), served.seconds)
        if served.returned:
            returned.add_metric([*place], served.returned)
    yield from (latency, returned)
    for kind, (text, labels) in _FAMILIES.items():
        family = CounterMetricFamily(f"aws_dynamodb_{kind}", text, labels=labels)
        for (table, operation), number in sorted(counts.failed.get(kind, {}).items()):
            family.add_metric([table, operation][: len(labels)], number)
        yield family
    for name, text, numbers in (
        ("returned_records_count", "Stream records that GetRecords returned.", counts.records),
        ("returned_bytes", "Bytes that GetRecords returned.", counts.record_bytes),
        ("time_to_live_deleted_item_count", "Items deleted by time to live.", counts.expired),
    ):
        family = CounterMetricFamily(f"aws_dynamodb_{name}", text, labels=BY[:1])
        for table, number in sorted(numbers.items()):
            family.add_metric([table], number)
        yield family
    yield CounterMetricFamily(
        "aws_dynamodb_user_errors",
        "Requests that got status 400, except throttled requests and failed conditions.",
        value=counts.user_errors,
    )


_FAMILIES = {
    "throttled_requests": ("Requests that were throttled.", BY),
    "system_errors": ("Requests that got status 500.", BY),
    "conditional_check_failed_requests": ("Writes whose condition failed.", BY[:1]),
    "transaction_conflict": (
        "Item-level requests that conflicted with another transaction.",
        BY[:1],
    ),
}
_NOT_OF_USERS = ("throttled_requests", "system_errors", "conditional_check_failed_requests")
_OF_MEMBERS = {
    "ConditionalCheckFailed": "conditional_check_failed_requests",
    "TransactionConflict": "transaction_conflict",
}
"""Maps codes of cancellation reasons to the metrics that count actions with these codes. Actions
with other codes are not counted."""
_BY_TABLE = {kind for kind, (_, labels) in _FAMILIES.items() if labels != BY}


def _tables_named(call: wire.Call) -> list[str]:
    try:
        body = wire.decoded(call)
    except ApiError:
        return []
    return tables_named(call.operation, body, call.caller)


def _kinds(error: BaseException) -> dict[str, int]:
    """For each metric of errors, by its name: how many times the error counts."""
    if isinstance(error, THROTTLED):
        return {"throttled_requests": 1}
    if isinstance(error, InternalServerError) or not isinstance(error, ApiError):
        return {"system_errors": 1}
    if isinstance(error, ConditionalCheckFailedException):
        return {"conditional_check_failed_requests": 1}
    if isinstance(error, TransactionConflictException):
        return {"transaction_conflict": 1}
    if isinstance(error, TransactionCanceledException):
        codes = [reason["Code"] for reason in error.members["CancellationReasons"]]
        return dict(Counter(_OF_MEMBERS[code] for code in codes if code in _OF_MEMBERS))
    return {}
