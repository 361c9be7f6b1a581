"""Policies of tables and streams: the checks and the stored form of the service.

Source: developer guide, "Resource-based policies for DynamoDB" and its considerations. Some of the
service's messages are known only in part.
"""

import re
from typing import Any

from hashrange.access import patterns, policy
from hashrange.access.actions import SERVICE
from hashrange.access.evaluation import RequestContext, evaluate
from hashrange.access.policy import FIRST, Policy, PolicyError, Statement
from hashrange.access.principals import Principal

POLICY_BYTES_MAX = 20_480
"""The largest size of a resource-based policy, including white space."""

PUT = f"{SERVICE}:PutResourcePolicy"

_NEVER = """
    CreateTable DescribeBackup DeleteBackup RestoreTableFromBackup DescribeExport ImportTable
    DescribeImport ListBackups ListContributorInsights ListExports ListGlobalTables ListImports
    ListStreams ListTables DescribeLimits DescribeEndpoints CreateGlobalTable UpdateGlobalTable
    DescribeGlobalTable DescribeGlobalTableSettings UpdateGlobalTableSettings
"""
NEVER = frozenset(_NEVER.split())
"""The actions that a resource-based policy may not name."""

_ORDER = ("Version", "Id", "Statement")
_STATEMENT_ORDER = (
    *("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction"),
    *("Resource", "NotResource", "Condition"),
)


class LockOutError(Exception):
    """The new policy would prevent the caller from changing the policy again."""


def checked(text: str, name: str) -> Policy:
    """Parse and check the policy of a resource. Raises PolicyError."""
    parsed = policy.parse(text, name, of_resource=True)
    for each in parsed.statements:
        _check_actions(each)
        _check_principals(each)
        if each.allows and "*" in each.principals and not each.conditions:
            why = "an Allow for everybody without a Condition grants unbounded access"
            raise PolicyError(f"{each.place}.Principal: {why}")
    return parsed


def _check_actions(statement: Statement) -> None:
    if statement.but_actions:
        return
    for pattern in statement.actions:
        written = pattern.text
        if not written.startswith(f"{SERVICE}:") and written != "*":
            raise PolicyError(f"{statement.place}.Action: {written!r} is not an action of DynamoDB")
        name = written.partition(":")[2]
        for action in sorted(NEVER):
            if name == action.lower():
                raise PolicyError(
                    f"{statement.place}.Action: the policy of a resource cannot name {action}"
                )


_PRINCIPAL = re.compile(
    r"\*|\d{12}|arn:[\w-]+:(?:iam|sts)::\d{12}:[\w-]+(?:/[^*?]+)?|[A-Z]\w+:.+", re.ASCII
)


def _check_principals(statement: Statement) -> None:
    """Refuse principals with wildcards: a Deny for `user/*` would apply to nobody."""
    for each in statement.principals:
        if not _PRINCIPAL.fullmatch(each):
            raise PolicyError(f"{statement.place}.Principal: {each!r} is not a valid principal")


def canonical(text: str) -> str:
    """The policy as the service returns it, without white space. A list of one text becomes a
    text."""
    import json  # imported late: a server without policies does not need it

    document = json.loads(text)
    document.setdefault("Version", FIRST)
    statements = document["Statement"]
    if isinstance(statements, list):
        document["Statement"] = [_sorted(each, _STATEMENT_ORDER) for each in statements]
    else:
        document["Statement"] = _sorted(statements, _STATEMENT_ORDER)
    return json.dumps(
        _unlisted(_sorted(document, _ORDER)), separators=(",", ":"), ensure_ascii=False
    )


def _sorted(members: dict[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {name: members[name] for name in order if name in members}


def _unlisted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unlisted(member) for name, member in value.items()}
    if isinstance(value, list):
        if len(value) == 1 and not isinstance(value[0], dict):
            return value[0]
        return [_unlisted(member) for member in value]
    return value


def check_no_lock_out(new: Policy, caller: Principal, resource: str) -> None:
    """Raises LockOutError if the new policy denies the caller the right to change it again."""
    allowed_else = Principal(caller.arn, tags=caller.tags, policies=(_EVERYTHING,))
    context = RequestContext(caller.keys())
    if not evaluate(allowed_else, PUT, resource, context, new).allowed:
        raise LockOutError


_ANY = patterns.parse("*")
_EVERYTHING = Policy("everything", (Statement("Statement", True, (_ANY,), (_ANY,)),))
