"""UpdateTable: throughput, billing mode, protection, class, and one global index at a time."""

from typing import Any, NamedTuple

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException, ValidationException
from hashrange.model.tables import Table
from hashrange.operations import index_updates, stream_settings, table_capacity, table_schema
from hashrange.operations.index_updates import IndexUpdate
from hashrange.operations.parse import decode
from hashrange.operations.table_description import describe

SUPPORTED = (
    "billing_mode",
    "deletion_protection_enabled",
    "global_secondary_index_updates",
    "on_demand_throughput",
    "provisioned_throughput",
    "sse_specification",
    "stream_specification",
    "table_class",
    "warm_throughput",
)


class Request(NamedTuple):
    given: requests.UpdateTable
    index_update: IndexUpdate


def parse(body: bytes) -> Request:
    given = decode(body, requests.UpdateTable)
    if all(getattr(given, name) is None for name in SUPPORTED):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
            "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"
        )
    if given.billing_mode == "PAY_PER_REQUEST" and given.provisioned_throughput is not None:
        raise ValidationException(table_capacity.NEITHER_ON_DEMAND)
    stream_settings.check(given.stream_specification)
    return Request(given, index_updates.parse(given))


def decide(request: Request, moment: Moment) -> Decide:
    given = request.given
    table = yield from fetch.described_table(given.table_name)
    if table.status(moment.now) == "CREATING":
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being created: "
            f"{table.name}"
        )
    spaces = iter((yield from fetch.new_spaces(2)))
    changed = _with_capacity(_with_settings(table, given, moment), given, moment)
    changed = index_updates.apply(changed, request.index_update, spaces)
    changed, streams = stream_settings.changed(changed, given.stream_specification, spaces, moment)
    statistics = yield from fetch.statistics([changed, *changed.indexes])
    description = describe(changed, "UPDATING", statistics)
    index_updates.show_deleted(description, table, request.index_update)
    response: dict[str, Any] = {"TableDescription": description}
    return Decision([TableChange(table, changed), *streams], lambda _: response)


def _with_settings(table: Table, given: requests.UpdateTable, moment: Moment) -> Table:
    if given.deletion_protection_enabled is not None:
        table = replace(table, deletion_protection=given.deletion_protection_enabled)
    if given.table_class is not None and given.table_class != (table.table_class or "STANDARD"):
        table = replace(table, table_class=given.table_class, table_class_since=moment.now)
    if given.warm_throughput is not None:
        table = replace(table, warm=table_capacity.raised(table.warm, given.warm_throughput))
    return table


def _with_capacity(table: Table, given: requests.UpdateTable, moment: Moment) -> Table:
    if given.billing_mode == "PAY_PER_REQUEST" and not table.on_demand:
        table = table_capacity.to_on_demand(table, moment.now)
    elif given.billing_mode == "PROVISIONED" and table.on_demand:
        if given.provisioned_throughput is None:
            raise ValidationException(table_capacity.BOTH_PROVISIONED)
        table = replace(table, on_demand=False)
    if given.provisioned_throughput is not None:
        table = table_capacity.provision(table, given.provisioned_throughput, moment.now)
    if given.on_demand_throughput is not None:
        if not table.on_demand:
            raise table_schema.refuse(
                "OnDemandThroughput cannot be specified when BillingMode is PROVISIONED"
            )
        table = replace(
            table, on_demand_limits=table_capacity.on_demand(given.on_demand_throughput)
        )
    return table
