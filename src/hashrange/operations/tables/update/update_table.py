"""UpdateTable: throughput, billing mode, settings, the stream, global and vector indexes."""

from typing import NamedTuple

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException
from hashrange.model.tables import Table
from hashrange.operations.common.parse import decode
from hashrange.operations.tables import (
    stream_settings,
    table_capacity,
    table_encryption,
    table_schema,
)
from hashrange.operations.tables.update import (
    index_updates,
    replica_updates,
    update_answer,
    update_combinations,
    vector_updates,
)
from hashrange.operations.tables.update.index_updates import IN_USE, IndexUpdates
from hashrange.operations.tables.update.vector_updates import VectorUpdates

UNSUPPORTED = {
    "disassociation_protection_enabled": "DisassociationProtectionEnabled",
    "global_table_settings_replication_mode": "GlobalTableSettingsReplicationMode",
}
UNSUPPORTED_WITH_REPLICAS = {
    "global_table_witness_updates": "GlobalTableWitnessUpdates",
    "multi_region_consistency": "MultiRegionConsistency",
}
"""Unsupported members that the service does not count as changes of a table."""


class Request(NamedTuple):
    body: requests.UpdateTable
    indexes: IndexUpdates
    vectors: VectorUpdates


def parse(body: bytes) -> Request:
    request = table_capacity.with_billing_mode(decode(body, requests.UpdateTable))
    table_schema.check_supported(request, UNSUPPORTED)
    update_combinations.check(request)
    table_schema.check_supported(request, UNSUPPORTED_WITH_REPLICAS)
    stream_settings.check_change(request.stream_specification)
    table_encryption.check(request.sse_specification)
    table_schema.check_class(request.table_class)
    return Request(request, index_updates.parse(request), vector_updates.parse(request))


def decide(request: Request, moment: Moment) -> Decide:
    body = request.body
    table = yield from fetch.described_table(body.table_name)
    if moment.now < table.active_at:
        raise ResourceInUseException(f"{IN_USE}Table is being created: {table.name}")
    if body.replica_updates is not None:
        raise replica_updates.refusal(table, body.replica_updates)
    on_demand = (body.billing_mode or table.billing_mode) == "PAY_PER_REQUEST"
    _check_capacity(table, request, on_demand)
    _check_not_allocating(table, body)
    spaces = iter((yield from fetch.new_spaces(4)))
    changed = index_updates.apply(table, request.indexes, on_demand, spaces, moment)
    changed = vector_updates.apply(changed, request.vectors, on_demand, spaces)
    changed = _with_settings(_with_capacity(changed, body, moment), body, moment)
    changed, streams = yield from stream_settings.changed(
        changed, body.stream_specification, spaces, moment
    )
    description = yield from update_answer.description(table, changed, body, moment)
    response = {"TableDescription": description}
    return Decision([TableChange(table, changed), *streams], response)


# ---- may it be changed ----


def _check_capacity(table: Table, request: Request, on_demand: bool) -> None:
    """Check that the throughput of the request fits the billing mode that the table will have."""
    body = request.body
    if on_demand and body.provisioned_throughput is not None:
        raise invalid_parameter(table_capacity.NOT_ON_DEMAND)
    for name in table_capacity.units(body.on_demand_throughput):
        if not on_demand:
            raise invalid_parameter(
                f"{name} for OnDemandThroughput cannot be specified when the table BillingMode "
                "is PROVISIONED"
            )
    if table.on_demand and not on_demand:
        updated = {update.index_name for update in request.indexes.updates}
        without = [i.name for i in table.global_indexes if i.name not in updated]
        if without:
            raise invalid_parameter(
                f"ProvisionedThroughput must be specified for index: {','.join(without)}"
            )


def _check_not_allocating(table: Table, request: requests.UpdateTable) -> None:
    """Raises ResourceInUseException if the request changes a setting that must not change in the
    first phase of an index build (resource allocation)."""
    if not table.allocating:
        return
    indexes = f"[{', '.join(table.allocating)}]"
    if request.provisioned_throughput is not None or request.billing_mode is not None:
        raise ResourceInUseException(
            f"{IN_USE}Can't change table IOPS when an index is being created. "
            f"Table: {table.name} Indexes: {indexes}"
        )
    if request.stream_specification is not None:
        raise ResourceInUseException(
            f"{IN_USE}Can't change stream status when an index is being created. "
            f"Table: {table.name} Indexes: {indexes}"
        )
    if request.on_demand_throughput is not None:
        raise ResourceInUseException(
            f"{IN_USE}OnDemandThroughput cannot be updated while index creation is in progress "
            f"for indexes: {indexes}"
        )


# ---- the table after the update ----


def _with_capacity(table: Table, request: requests.UpdateTable, moment: Moment) -> Table:
    capacity, maxima, warm = (
        request.provisioned_throughput,
        request.on_demand_throughput,
        request.warm_throughput,
    )
    table_capacity.check_on_demand(maxima, can_clear=True)
    table_capacity.check_raises_warm(table.warm, warm)
    if request.billing_mode not in (None, table.billing_mode):
        table = _switched(table, moment.now)
    throughput = table.throughput
    if capacity is not None:
        throughput = table_capacity.provisioned(throughput, capacity, None, moment)
    table_capacity.check_maxima(moment, capacity, maxima, warm)
    return replace(
        table,
        throughput=throughput,
        on_demand_limits=table_capacity.changed_on_demand(table.on_demand_limits, maxima),
        warm=table_capacity.raised_warm(table.warm, warm).raised(throughput.read, throughput.write),
    )


def _switched(table: Table, now: float) -> Table:
    """The table in the other billing mode, without the settings of its present mode."""
    if table.on_demand:
        indexes = tuple(replace(index, on_demand=None) for index in table.indexes)
        return replace(table, on_demand=False, on_demand_limits=None, indexes=indexes)
    return replace(
        table,
        on_demand=True,
        on_demand_since=now,
        on_demand_switches=table_capacity.switches_to_on_demand(table, now),
        throughput=replace(table.throughput, read=0, write=0),
        warm=table.warm.raised(*table_capacity.ON_DEMAND_START),
        indexes=tuple(
            replace(
                index,
                throughput=index.throughput if index.local else index.throughput.switched_off(now),
                warm=index.warm.raised(*table_capacity.ON_DEMAND_START),
            )
            for index in table.indexes
        ),
    )


def _with_settings(table: Table, request: requests.UpdateTable, moment: Moment) -> Table:
    if request.deletion_protection_enabled is not None:
        table = replace(table, deletion_protection=request.deletion_protection_enabled)
    if request.table_class is not None and request.table_class != (table.table_class or "STANDARD"):
        table = replace(table, table_class=request.table_class, table_class_since=moment.now)
    if request.sse_specification is not None:
        key = table_encryption.changed_key_arn(table, request.sse_specification)
        table = replace(table, kms_key_arn=key)
    return table
