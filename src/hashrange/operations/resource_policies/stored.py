"""Policies as tables store them, and the checks of a new policy."""

from collections.abc import Mapping
from typing import cast

from msgspec.structs import replace

from hashrange.access import resource_policies
from hashrange.access.policy import PolicyError
from hashrange.access.principals import Principal
from hashrange.access.resource_policies import POLICY_BYTES_MAX, LockOutError
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model.caller import Caller
from hashrange.model.errors import ValidationException
from hashrange.model.tables import ResourcePolicy, Table


def new_policy(
    text: str,
    resource: str,
    moment: Moment,
    confirmed: bool,
    old: ResourcePolicy | None = None,
) -> ResourcePolicy:
    """Check the policy of a request, and return it as it will be stored.

    Its revision is the time in milliseconds, or one more than the `old` revision if that is
    greater.

    Raises ValidationException if the policy is invalid or, unless it is `confirmed`, would prevent
    the caller from changing it later.
    """
    if len(text.encode()) > POLICY_BYTES_MAX:
        raise invalid_parameter(
            f"Resource policy exceeds the maximum size of {POLICY_BYTES_MAX} bytes"  # assumed
        )
    try:
        policy = resource_policies.checked(text, resource)
        if not confirmed:
            resource_policies.check_no_lock_out(policy, _principal(moment.caller), resource)
    except PolicyError as fault:
        raise invalid_parameter(f"Invalid policy document: {fault}") from None
    except LockOutError:
        raise ValidationException(
            "The new resource policy will not allow you to update the resource policy in the "
            "future."
        ) from None
    revision = max(int(moment.now * 1000), int(old.id) + 1 if old else 0)
    return ResourcePolicy(resource_policies.canonical(text), str(revision))


def _principal(caller: Caller) -> Principal:
    """The principal of a caller, which is the account's root user if the caller has none."""
    principal = cast(Principal | None, caller.principal)
    return principal or Principal(f"arn:aws:iam::{caller.account}:root")


def policies_of(table: Table) -> Mapping[str, ResourcePolicy]:
    """The policies of the table and its streams, by ARN."""
    own = {} if table.resource_policy is None else {table.arn: table.resource_policy}
    return {**own, **table.stream_policies}


def with_policy(table: Table, arn: str, policy: ResourcePolicy | None) -> Table:
    """The table with this policy for `arn`, which names the table or one of its streams. None
    removes the policy."""
    if arn == table.arn:
        return replace(table, resource_policy=policy)
    others = {each: kept for each, kept in table.stream_policies.items() if each != arn}
    return replace(table, stream_policies=others | ({} if policy is None else {arn: policy}))
