"""Consumed capacity and throttling for `/metrics`, with the names that CloudWatch has for them.

Labels are the names of tables and indexes; keys are never shown. Source: developer guide, DynamoDB
metrics and dimensions.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hashrange.runtime.meter.report import SourceReport

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BY = ["table_name", "global_secondary_index_name"]

Usage = Callable[[], Sequence[SourceReport]]


def collect(reports: Sequence[SourceReport]) -> "Iterator[Metric]":
    """The families of metrics; the index's name is empty for a table."""
    from prometheus_client.core import CounterMetricFamily

    read = CounterMetricFamily(
        "aws_dynamodb_consumed_read_capacity_units", "Read units consumed.", labels=BY
    )
    written = CounterMetricFamily(
        "aws_dynamodb_consumed_write_capacity_units", "Write units consumed.", labels=BY
    )
    throttled = CounterMetricFamily(
        "aws_dynamodb_throttle_events",
        "Reads and writes that were refused, by reason.",
        labels=[*BY, "reason"],
    )
    for report in reports:
        name = [report.table, report.index or ""]
        read.add_metric(name, report.read_units)
        written.add_metric(name, report.write_units)
        for reason, number in sorted(report.throttled.items()):
            throttled.add_metric([*name, reason], number)
    yield from (read, written, throttled)
