"""Capacity and throttling for `/metrics`, under CloudWatch's names.

Labels are the names of tables and indexes; keys are never shown. Source: developer guide, DynamoDB
metrics and dimensions.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hashrange.metering.usage import SourceReport
from hashrange.runtime.inspection.capacities import Capacity

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BY = ["table_name", "global_secondary_index_name"]

Usage = Callable[[], Sequence[SourceReport]]
Capacities = Callable[[], Sequence[Capacity]]

_CAUSES = {
    "ProvisionedThroughput": "provisioned_throughput",
    "KeyRangeThroughput": "key_range_throughput",
    "AccountLimit": "account_limit",
    "MaxOnDemandThroughput": "max_on_demand_throughput",
}
"""Maps the causes of throttling, as throttled requests name them, to their names in metrics. The
reason `TableReadKeyRangeThroughputExceeded`, for example, has the cause `KeyRangeThroughput`."""


def collect(reports: Sequence[SourceReport], capacities: Sequence[Capacity]) -> "Iterator[Metric]":
    """The capacity metrics of all tables and indexes. `reports` have the consumption and
    throttling, `capacities` the provisioned capacity. The metrics of a table have an empty index
    name."""
    yield from _consumed(reports)
    yield from _throttled(reports)
    yield from _settings(capacities)


def _consumed(reports: Sequence[SourceReport]) -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily

    read = CounterMetricFamily(
        "aws_dynamodb_consumed_read_capacity_units", "Read units consumed.", labels=BY
    )
    written = CounterMetricFamily(
        "aws_dynamodb_consumed_write_capacity_units", "Write units consumed.", labels=BY
    )
    for report in reports:
        name = [report.table, report.index or ""]
        read.add_metric(name, report.read_units)
        written.add_metric(name, report.write_units)
    yield from (read, written)


def _throttled(reports: Sequence[SourceReport]) -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily

    for direction in ("Read", "Write"):
        lower = direction.lower()
        family = CounterMetricFamily(
            f"aws_dynamodb_{lower}_throttle_events", f"{direction}s that were refused.", labels=BY
        )
        for report in reports:
            events = report.read_throttles if lower == "read" else report.write_throttles
            family.add_metric([report.table, report.index or ""], events)
        yield family
        for cause, name in _CAUSES.items():
            family = CounterMetricFamily(
                f"aws_dynamodb_{lower}_{name}_throttle_events",
                f"{direction}s that were refused with the reason Table{direction}{cause}Exceeded "
                f"or Index{direction}{cause}Exceeded.",
                labels=BY,
            )
            for report in reports:
                reason = f"{'Index' if report.index else 'Table'}{direction}{cause}Exceeded"
                place = [report.table, report.index or ""]
                family.add_metric(place, report.throttled.get(reason, 0))
            yield family


def _settings(capacities: Sequence[Capacity]) -> "Iterator[Metric]":
    from prometheus_client.core import GaugeMetricFamily

    for name, text, member in (
        ("provisioned_read_capacity_units", "Read units provisioned.", "read_units"),
        ("provisioned_write_capacity_units", "Write units provisioned.", "write_units"),
        (
            "on_demand_max_read_request_units",
            "The limit of read units per second, in on-demand mode.",
            "read_units_max",
        ),
        (
            "on_demand_max_write_request_units",
            "The limit of write units per second, in on-demand mode.",
            "write_units_max",
        ),
        (
            "online_index_percentage_progress",
            "The percentage of a new index that is built.",
            "built",
        ),
    ):
        family = GaugeMetricFamily(f"aws_dynamodb_{name}", text, labels=BY)
        for each in capacities:
            value = getattr(each, member)
            if value is not None:
                shown = 100 * value if member == "built" else value
                family.add_metric([each.table, each.index or ""], shown)
        yield family
    lag = GaugeMetricFamily(
        "hashrange_index_lag_seconds",
        "The age of the oldest change that the index does not show yet.",
        labels=BY,
    )
    for each in capacities:
        if each.lag_seconds is not None:
            lag.add_metric([each.table, each.index or ""], each.lag_seconds)
    yield lag
    tables = sum(each.index is None for each in capacities)
    yield GaugeMetricFamily("aws_dynamodb_table_count", "Tables.", value=tables)
