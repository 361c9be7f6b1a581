"""PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy.

The responses were seen on the service, except for texts that are marked as assumed.
"""

from typing import Any, NamedTuple

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.log import streams
from hashrange.model.errors import PolicyNotFoundException, ResourceNotFoundException
from hashrange.model.tables import ResourcePolicy, Table
from hashrange.operations.resource_policies.stored import new_policy, policies_of, with_policy
from hashrange.operations.tables import resource_arns

Request = dict[str, Any]
"""The members of a request, as JSON."""

NO_POLICY = "NO_POLICY"
"""The ExpectedRevisionId of a resource that has no policy yet."""


class _Resource(NamedTuple):
    """A table or one of its streams, with its policy."""

    table: Table
    arn: str
    policy: ResourcePolicy | None


def get(request: Request, moment: Moment) -> Decide:
    resource = yield from _find(request["ResourceArn"])
    if resource.policy is None:
        raise _not_found(request)
    return answer({"Policy": resource.policy.text, "RevisionId": resource.policy.id})


def put(request: Request, moment: Moment) -> Decide:
    """Set a policy. If an equivalent policy is already set, nothing changes, not even the
    revision."""
    resource = yield from _find(request["ResourceArn"])
    _check_revision(request, resource)
    confirmed = bool(request.get("ConfirmRemoveSelfResourceAccess"))
    policy = new_policy(request["Policy"], resource.arn, moment, confirmed, resource.policy)
    if resource.policy is not None and resource.policy.text == policy.text:
        return answer({"RevisionId": resource.policy.id})
    changed = with_policy(resource.table, resource.arn, policy)
    return Decision([TableChange(resource.table, changed)], {"RevisionId": policy.id})


def delete(request: Request, moment: Moment) -> Decide:
    """Delete a policy. This succeeds if there is no policy."""
    resource = yield from _find(request["ResourceArn"])
    _check_revision(request, resource)
    if resource.policy is None:
        return answer({})
    changed = with_policy(resource.table, resource.arn, None)
    return Decision([TableChange(resource.table, changed)], {"RevisionId": resource.policy.id})


def _find(arn: str) -> Fetch[_Resource]:
    """The table or stream with this ARN. Raises ResourceNotFoundException if there is none."""
    name, label = resource_arns.parse(arn)
    table = yield from fetch.described_table(name)
    own = table.arn
    if label is not None:
        own = f"{table.arn}/stream/{label}"
        if (yield from streams.find(own)) is None:
            raise ResourceNotFoundException(
                f"Requested resource not found: Stream: {label} not found for Table: {name}"
            )
    return _Resource(table, own, policies_of(table).get(own))


def _check_revision(request: Request, resource: _Resource) -> None:
    """Raises PolicyNotFoundException if the policy does not have the expected revision."""
    expected = request.get("ExpectedRevisionId")
    current = NO_POLICY if resource.policy is None else resource.policy.id
    if expected not in (None, current):
        raise _not_found(request)


def _not_found(request: Request) -> PolicyNotFoundException:
    return PolicyNotFoundException(
        f"Resource-based policy not found for the provided ResourceArn: {request['ResourceArn']}"
    )
