"""Checks which members of UpdateTable may be combined. This needs no table.

Rules, messages and the order of the checks were observed on the service in 2026.
"""

from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.operations.tables import table_capacity
from hashrange.operations.tables.update import replica_updates

NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
    "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, "
    "ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, "
    "OnDemandThroughput, WarmThroughput or TableClass is required"
)
ALONE = {
    "SSESpecification": "Server-Side Encryption modification must be the only operation in the "
    "request",
    "TableClass": "TableClass modification must be the only operation in the request",
    "DeletionProtectionEnabled": "DeletionProtection modification must be the only operation in "
    "the request",
}


def check(request: requests.UpdateTable) -> None:
    members = _members(request)
    replica_updates.check(request, members)
    if request.replica_updates is None and not members:
        given_alone = "MultiRegionConsistency, " if request.multi_region_consistency else ""
        raise ValidationException(NOTHING.replace(given_alone, ""))
    if request.global_secondary_index_updates == []:
        raise invalid_parameter("List of GlobalSecondaryIndexUpdates is empty")
    if request.vector_index_updates == []:
        raise invalid_parameter("List of VectorIndexUpdates is empty")
    _check_warm_throughput(request)
    for member, message in ALONE.items():
        if member in members and len(members) > 1:
            raise invalid_parameter(message)
    _check_throughput(request, members)
    _check_online_changes(request, members)


def _members(request: requests.UpdateTable) -> set[str]:
    """The members that change something. Empty members do not count."""
    indexes = request.global_secondary_index_updates
    values = {
        "ProvisionedThroughput": request.provisioned_throughput,
        "BillingMode": request.billing_mode,
        "StreamSpecification": request.stream_specification,
        "GlobalSecondaryIndexUpdates": indexes or None,
        "SSESpecification": request.sse_specification,
        "DeletionProtectionEnabled": request.deletion_protection_enabled,
        "OnDemandThroughput": table_capacity.units(request.on_demand_throughput) or None,
        "WarmThroughput": table_capacity.units(request.warm_throughput) or None,
        "TableClass": request.table_class,
        "VectorIndexUpdates": request.vector_index_updates or None,
    }
    return {member for member, value in values.items() if value is not None}


def _check_warm_throughput(request: requests.UpdateTable) -> None:
    for update in request.global_secondary_index_updates or ():
        change = update.update
        if change and change.warm_throughput and not table_capacity.units(change.warm_throughput):
            raise invalid_parameter(
                "WarmThroughput must have at least one of ReadUnitsPerSecond or "
                f"WriteUnitsPerSecond specified for index: {change.index_name}"
            )


def _check_throughput(request: requests.UpdateTable, members: set[str]) -> None:
    if "OnDemandThroughput" in members and members & {"StreamSpecification", "WarmThroughput"}:
        raise invalid_parameter(
            "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
        )
    updates = request.global_secondary_index_updates or ()
    if "WarmThroughput" in members:
        if any(update.create for update in updates):
            raise invalid_parameter(
                "Create global secondary index cannot be specified when updating WarmThroughput"
            )
        if members - {"WarmThroughput", "GlobalSecondaryIndexUpdates"}:
            raise invalid_parameter("WarmThroughput must be the only operation in the request")
    capacity = request.provisioned_throughput
    if request.billing_mode == "PAY_PER_REQUEST" and capacity is not None:
        raise invalid_parameter(
            "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST"
        )
    if request.billing_mode == "PROVISIONED" and capacity is None:
        raise invalid_parameter(
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
        )
    table_capacity.check_bounds(capacity)


def _check_online_changes(request: requests.UpdateTable, members: set[str]) -> None:
    """Check that the request changes at most one of throughput, the stream, and the set of
    indexes."""
    updates = request.global_secondary_index_updates or ()
    builds = "VectorIndexUpdates" in members
    builds |= any(update.create or update.delete for update in updates)
    if "ProvisionedThroughput" in members:
        if "StreamSpecification" in members:
            raise invalid_parameter("You cannot modify stream status while updating table IOPS")
        if builds:
            raise invalid_parameter("You cannot create or delete index while updating table IOPS")
    if "StreamSpecification" in members and builds:
        raise invalid_parameter("You cannot create or delete index while changing stream status")
