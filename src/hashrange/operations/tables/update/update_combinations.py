"""Checks which members of UpdateTable may stand together, before the table is looked up.

Rules, messages and precedence were observed on the service in 2026.
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


def check(given: requests.UpdateTable) -> None:
    members = _members(given)
    replica_updates.check(given, members)
    if given.replica_updates is None and not members:
        given_alone = "MultiRegionConsistency, " if given.multi_region_consistency else ""
        raise ValidationException(NOTHING.replace(given_alone, ""))
    if given.global_secondary_index_updates == []:
        raise invalid_parameter("List of GlobalSecondaryIndexUpdates is empty")
    if given.vector_index_updates == []:
        raise invalid_parameter("List of VectorIndexUpdates is empty")
    _check_warm_throughput(given)
    for member, message in ALONE.items():
        if member in members and len(members) > 1:
            raise invalid_parameter(message)
    _check_throughput(given, members)
    _check_online_changes(given, members)


def _members(given: requests.UpdateTable) -> set[str]:
    """The members that change something. An empty member counts as absent."""
    indexes = given.global_secondary_index_updates
    values = {
        "ProvisionedThroughput": given.provisioned_throughput,
        "BillingMode": given.billing_mode,
        "StreamSpecification": given.stream_specification,
        "GlobalSecondaryIndexUpdates": indexes or None,
        "SSESpecification": given.sse_specification,
        "DeletionProtectionEnabled": given.deletion_protection_enabled,
        "OnDemandThroughput": table_capacity.units(given.on_demand_throughput) or None,
        "WarmThroughput": table_capacity.units(given.warm_throughput) or None,
        "TableClass": given.table_class,
        "VectorIndexUpdates": given.vector_index_updates or None,
    }
    return {member for member, value in values.items() if value is not None}


def _check_warm_throughput(given: requests.UpdateTable) -> None:
    for update in given.global_secondary_index_updates or ():
        change = update.update
        if change and change.warm_throughput and not table_capacity.units(change.warm_throughput):
            raise invalid_parameter(
                "WarmThroughput must have at least one of ReadUnitsPerSecond or "
                f"WriteUnitsPerSecond specified for index: {change.index_name}"
            )


def _check_throughput(given: requests.UpdateTable, members: set[str]) -> None:
    if "OnDemandThroughput" in members and members & {"StreamSpecification", "WarmThroughput"}:
        raise invalid_parameter(
            "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
        )
    updates = given.global_secondary_index_updates or ()
    if "WarmThroughput" in members:
        if any(update.create for update in updates):
            raise invalid_parameter(
                "Create global secondary index cannot be specified when updating WarmThroughput"
            )
        if members - {"WarmThroughput", "GlobalSecondaryIndexUpdates"}:
            raise invalid_parameter("WarmThroughput must be the only operation in the request")
    capacity = given.provisioned_throughput
    if given.billing_mode == "PAY_PER_REQUEST" and capacity is not None:
        raise invalid_parameter(
            "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST"
        )
    if given.billing_mode == "PROVISIONED" and capacity is None:
        raise invalid_parameter(
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
        )
    table_capacity.check_bounds(capacity)


def _check_online_changes(given: requests.UpdateTable, members: set[str]) -> None:
    """Throughput, the stream, and the set of indexes can only be changed one at a time."""
    updates = given.global_secondary_index_updates or ()
    builds = "VectorIndexUpdates" in members
    builds |= any(update.create or update.delete for update in updates)
    if "ProvisionedThroughput" in members:
        if "StreamSpecification" in members:
            raise invalid_parameter("You cannot modify stream status while updating table IOPS")
        if builds:
            raise invalid_parameter("You cannot create or delete index while updating table IOPS")
    if "StreamSpecification" in members and builds:
        raise invalid_parameter("You cannot create or delete index while changing stream status")
