"""ReplicaUpdates: tables have no replicas here, and none can be added.

The errors were seen on the service in 2026, except the full stop after "not allowed", which is
assumed.
"""

from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table


def check(request: requests.UpdateTable, others: set[str]) -> None:
    """Do the checks that need no table. `others` are the other members of the request that would
    change the table."""
    updates = request.replica_updates
    if updates is None:
        return
    if others:
        raise invalid_parameter("Replica modification must be the only operation in the request")
    changed: set[str] = set()
    for update in updates:
        every = (update.create, update.update, update.delete, update.disassociate)
        actions = [action for action in every if action]
        if len(actions) > 1:
            raise ValidationException(
                "Update table operation with more than one type of replica actions not allowed."
            )
        if not actions or actions == [_no_change(actions[0].region_name)]:
            raise ValidationException(
                "There are no actions specified in the Replica Update Action of the request."
            )
        if not update.update:
            changed.add(actions[0].region_name)
    if len(changed) > 1:
        raise ValidationException(
            "Update table operation with more than one create or delete replica actions not "
            "allowed."
        )


def _no_change(region: str) -> requests.UpdateReplicationGroupMemberAction:
    return requests.UpdateReplicationGroupMemberAction(region_name=region)


def refusal(table: Table, updates: list[requests.ReplicationGroupUpdate]) -> ValidationException:
    """The error for replica updates, given that the table has no replicas."""
    created = {update.create.region_name for update in updates if update.create}
    deleted = {update.delete.region_name for update in updates if update.delete}
    others = {
        action.region_name for update in updates if (action := update.update or update.disassociate)
    }
    if table.region in created | deleted:
        return ValidationException(
            "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, "
            "DeleteTable, or UpdateTable as required."
        )
    if missing := deleted | others:
        return ValidationException(
            "Update global table operation failed because one or more replicas were not part of "
            "the global table. Please retry the request without these replicas: "
            f"[{', '.join(sorted(missing))}]."
        )
    if not table.on_demand:
        return ValidationException(
            "Table write capacity should either be Pay-Per-Request or AutoScaled."
        )
    return ValidationException("ReplicaUpdates is not supported by this server")
