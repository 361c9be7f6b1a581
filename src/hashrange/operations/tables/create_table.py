"""CreateTable: a table with its keys, indexes and settings."""

from typing import Any, NamedTuple
from uuid import UUID

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.errors import ResourceInUseException
from hashrange.model.partitions import equal_parts
from hashrange.model.tables import KeyType, Table, partitions_needed
from hashrange.operations.common.parse import decode
from hashrange.operations.resource_policies.stored import new_policy, with_policy
from hashrange.operations.tables import (
    stream_settings,
    table_capacity,
    table_encryption,
    table_schema,
    tags,
    vector_schema,
)
from hashrange.operations.tables.table_description import describe, warm_throughput

UNSUPPORTED = {
    "global_table_settings_replication_mode": "GlobalTableSettingsReplicationMode",
    "global_table_source_arn": "GlobalTableSourceArn",
}


class Request(NamedTuple):
    body: requests.CreateTable
    types: dict[str, KeyType]
    tags: dict[str, str]


def parse(body: bytes) -> Request:
    request = table_capacity.with_billing_mode(decode(body, requests.CreateTable))
    _check_throughput(request)
    types = table_schema.attribute_types(request.attribute_definitions)
    table_schema.check_table(request, types)
    if request.vector_indexes is not None:
        on_demand = request.billing_mode == "PAY_PER_REQUEST"
        vector_schema.check_all(request.vector_indexes, types, on_demand)
    stream_settings.check_new(request.stream_specification)
    table_encryption.check(request.sse_specification)
    table_schema.check_class(request.table_class)
    tagged = tags.check(request.tags or ())
    table_schema.check_supported(request, UNSUPPORTED)
    return Request(request, types, tagged)


def _check_throughput(request: requests.CreateTable) -> None:
    """Check that the throughput fits the billing mode. The service does this before checking the
    keys."""
    on_demand, capacity = request.billing_mode == "PAY_PER_REQUEST", request.provisioned_throughput
    if on_demand and capacity is not None:
        raise invalid_parameter(table_capacity.NOT_ON_DEMAND)
    if not on_demand and capacity is None:
        raise invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode "
            "is PROVISIONED"
        )
    table_capacity.check_bounds(capacity)
    for name in table_capacity.units(request.on_demand_throughput):
        if not on_demand:
            raise invalid_parameter(
                f"{name} for OnDemandThroughput cannot be specified when table BillingMode is "
                "PROVISIONED."
            )
    table_capacity.check_on_demand(request.on_demand_throughput)
    table_capacity.check_new_warm(request.warm_throughput, capacity)


def decide(request: Request, moment: Moment) -> Decide:
    body = request.body
    name = fetch.plain_name(body.table_name)
    there = yield from fetch.find_table(name)
    if there is not None:
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being created: {name}"
            if moment.now < there.active_at
            else f"Table already exists: {name}"
        )
    _check_maxima(body, moment)
    indexes = [*(body.local_secondary_indexes or ()), *(body.global_secondary_indexes or ())]
    vectors = body.vector_indexes or ()
    spaces = iter((yield from fetch.new_spaces(spaces_needed(body))))
    capacity, caller = body.provisioned_throughput, moment.caller
    key_arn = table_encryption.key_arn(body.sse_specification, caller.region, caller.account)
    throughput = table_capacity.new_throughput(capacity)
    warm = table_capacity.new_warm(body.warm_throughput, capacity)
    table = Table(
        name=name,
        id=str(UUID(bytes=moment.entropy, version=4)),
        account=caller.account,
        region=caller.region,
        space=next(spaces),
        hash=table_schema.names_of(body.key_schema, "HASH"),
        range=table_schema.names_of(body.key_schema, "RANGE"),
        types=dict(sorted(request.types.items())),
        indexes=tuple(table_schema.index(index, next(spaces)) for index in indexes),
        vector_indexes=tuple(
            vector_schema.definition(index, next(spaces), next(spaces)) for index in vectors
        ),
        collections=next(spaces) if body.local_secondary_indexes else None,
        index_log=next(spaces) if moment.indexes_follow else None,
        created_at=moment.now,
        active_at=moment.now + moment.settings.table_delay,
        on_demand=capacity is None,
        on_demand_since=moment.now if capacity is None else None,
        on_demand_switches=(moment.now,) if capacity is None else (),
        throughput=throughput,
        on_demand_limits=table_capacity.changed_on_demand(None, body.on_demand_throughput),
        warm=warm,
        partitions=equal_parts(partitions_needed(throughput, warm)),
        deletion_protection=bool(body.deletion_protection_enabled),
        table_class=body.table_class,
        kms_key_arn=key_arn,
        tags=request.tags,
    )
    if body.resource_policy is not None:
        policy = new_policy(body.resource_policy, table.arn, moment, confirmed=False)
        table = with_policy(table, table.arn, policy)
    wanted = body.stream_specification
    stream = wanted if wanted and wanted.stream_enabled else None
    table, streams = yield from stream_settings.changed(table, stream, spaces, moment)
    response = {"TableDescription": _described(table, body, moment)}
    return Decision([TableChange(None, table), *streams], response)


def spaces_needed(request: requests.CreateTable) -> int:
    """The largest number of spaces that the table of this request may need."""
    indexes = [*(request.local_secondary_indexes or ()), *(request.global_secondary_indexes or ())]
    return 4 + len(indexes) + 2 * len(request.vector_indexes or ())


def _check_maxima(request: requests.CreateTable, moment: Moment) -> None:
    table_capacity.check_maxima(
        moment,
        request.provisioned_throughput,
        request.on_demand_throughput,
        request.warm_throughput,
    )
    for index in request.global_secondary_indexes or ():
        table_capacity.check_maxima(
            moment,
            index.provisioned_throughput,
            index.on_demand_throughput,
            index.warm_throughput,
            index=index.index_name,
        )


def _described(table: Table, request: requests.CreateTable, moment: Moment) -> dict[str, Any]:
    description = describe(table, moment.now, "CREATING")
    if request.warm_throughput is not None:
        description["WarmThroughput"] = warm_throughput(table.warm, "UPDATING")
    return description
