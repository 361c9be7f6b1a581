"""Finds permissions of a principal that no pattern or write of a model needs."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hashrange.access.actions import ACTIONS, SERVICE
from hashrange.access.evaluation import RequestContext, evaluate
from hashrange.access.policy import Policy
from hashrange.access.principals import Principal
from hashrange.model.caller import DEFAULT_REGION

if TYPE_CHECKING:
    from hashrange.design import Table

_ARN = re.compile(r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/")
_ACCOUNT = "123456789012"

_OF_INDEXES = frozenset({"Query", "Scan", "PartiQLSelect", "SearchVectors"})
_OF_STREAMS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator"})


def beyond(principal: Principal, tables: "Sequence[Table]", region: str) -> Iterator[str]:
    """A line for each table or index on which the principal may take actions that no request of the
    model needs.

    Requests are assumed to have no condition keys except those of the principal. So an Allow whose
    condition needs other keys is not reported.
    """
    if principal.full_access:
        yield f"{principal.arn} has full access"
        return
    needed = _needed(tables)
    for table in tables:
        own = f"arn:aws:dynamodb:{region}:{principal.account}:table/{table.name}"
        resources = [own, *(f"{own}/index/{name}" for name in _index_names(table))]
        resources.append(f"{own}/stream/2026-01-01T00:00:00.000")
        for resource in resources:
            actions = [
                action
                for action in sorted(ACTIONS)
                if _fits(action, resource)
                and (action, _place(resource)) not in needed
                and _allowed(principal, action, resource)
            ]
            if actions:
                names = ", ".join(actions)
                yield f"allowed on {_place(resource)}, although the model does not need it: {names}"


def beyond_policy(policy: Policy, tables: "Sequence[Table]") -> Iterator[str]:
    """Like `beyond`, for a principal with a single policy. The account and the region are the first
    that the policy names."""
    texts = [each.text for statement in policy.statements for each in statement.resources]
    named = next(filter(None, map(_ARN.match, texts)), None)
    region, account = named.groups() if named else (DEFAULT_REGION, _ACCOUNT)
    principal = Principal(f"arn:aws:iam::{account}:user/anybody", (policy,))
    return beyond(principal, tables, region)


def _needed(tables: "Sequence[Table]") -> set[tuple[str, str]]:
    """The pair (action, table or index) of each permission in the model's own IAM policy, as
    `hashrange design export` writes it."""
    from hashrange.design.exchange import iam

    document: dict[str, Any] = json.loads(iam.export(tables).text)
    permissions = set()
    for statement in document["Statement"]:
        for action in statement["Action"]:
            permissions.add((action.removeprefix(f"{SERVICE}:"), _place(statement["Resource"])))
    return permissions


def _place(arn: str) -> str:
    return arn.partition(":table/")[2].partition("/stream/")[0]


def _index_names(table: "Table") -> list[str]:
    sources = {plan.source.name for plan in table.plans.values() if hasattr(plan, "source")}
    return sorted(name for name in sources if name is not None)


def _fits(action: str, resource: str) -> bool:
    if "/stream/" in resource:
        return action in _OF_STREAMS
    if "/index/" in resource:
        return action in _OF_INDEXES
    return action not in _OF_STREAMS


def _allowed(principal: Principal, action: str, resource: str) -> bool:
    context = RequestContext(principal.keys())
    return evaluate(principal, f"{SERVICE}:{action}", resource, context).allowed
