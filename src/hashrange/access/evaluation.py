"""Whether a principal may perform an action on a resource.

    an explicit Deny anywhere                     -> no
    the resource's policy names the principal     -> yes
    the principal's policies or the resource's
    allow it, and so do the principal's boundary
    and session policies                          -> yes
    otherwise                                     -> no

Source: IAM user guide, "Policy evaluation logic" and "Permissions boundaries for IAM entities",
for one account.
"""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from hashrange.access.patterns import NOTHING
from hashrange.access.plans import (
    BOUNDARY,
    IDENTITY,
    LEADINGS,
    RESOURCE,
    SESSION,
    Candidate,
    Group,
    Keys,
    Plan,
    Source,
    Verdict,
    needs,
)
from hashrange.access.policy import Policy, Statement
from hashrange.access.principals import Principal


def _no_keys() -> Keys:
    return {}


class RequestContext:
    """The condition keys of a request: of its principal, its items, and its surroundings.

    The keys of the items and of the surroundings are computed when they are first needed. `leading`
    has the leading keys; None if they are computed with the other keys of the items.
    """

    __slots__ = ("_around", "_items", "_leading", "_of_items", "_of_surroundings", "_principal")

    def __init__(
        self,
        principal: Keys,
        of_items: Callable[[], Keys] = _no_keys,
        of_surroundings: Callable[[], Keys] = _no_keys,
        leading: tuple[str, ...] | None = None,
    ) -> None:
        self._principal = principal
        self._of_items = of_items
        self._of_surroundings = of_surroundings
        self._leading = leading
        self._items: Keys | None = None
        self._around: Keys | None = None

    def values(self, key: str, /) -> tuple[str, ...]:
        if self._leading is not None and key in LEADINGS:
            return self._leading
        if key in self._principal:
            return self._principal[key]
        if key in self.items:
            return self.items[key]
        return () if key.startswith("dynamodb:") else self.around.get(key, ())

    @property
    def items(self) -> Keys:
        if self._items is None:
            self._items = self._of_items()
        return self._items

    @property
    def around(self) -> Keys:
        if self._around is None:
            self._around = self._of_surroundings()
        return self._around

    def all(self) -> dict[str, tuple[str, ...]]:
        return {**self._principal, **self.around, **self.items}


def evaluate(
    principal: Principal,
    action: str,
    resource: str,
    context: RequestContext,
    resource_policy: Policy | None = None,
) -> Verdict:
    """The verdict on an action of a principal, such as `dynamodb:GetItem`.

    The resource is an ARN or `*`.
    """
    return plan(principal, action, resource, resource_policy).decide(context)


def plan(
    principal: Principal, action: str, resource: str, resource_policy: Policy | None = None
) -> Plan:
    """The plan for an action on a resource. It is made once for each principal, and remembered."""
    asked = (action, resource, resource_policy.text if resource_policy else "")
    result: Plan | None = principal.remembered.get(asked)
    if result is None:
        result = _plan(principal, action, resource, resource_policy)
        principal.remember(asked, result)
    return result


def _bound(principal: Principal, policy: Policy) -> list[Candidate]:
    """The statements of a policy, with the principal's values in place of variables.

    All plans of the principal share these statements.
    """
    asked = (policy.name, policy.text)
    candidates: list[Candidate] | None = principal.remembered.get(asked)
    if candidates is None:
        known = RequestContext(principal.keys())
        statements = [each.bound(known) for each in policy.statements]
        candidates = [
            Candidate(each, Verdict("", Source(policy.name, each.place)), needs(each))
            for each in statements
        ]
        principal.remember(asked, candidates)
    return candidates


def _about(
    principal: Principal, policies: Iterable[Policy], action: str, resource: str
) -> list[Candidate]:
    """The statements of policies that may be about the action and the resource.

    If the resources of a statement have variables, the statement gets a test that decides for each
    request whether the statement is about the resource.
    """
    return [
        replace(each, tests=needs(each.statement, resource))
        if each.statement.has_variable_resources
        else each
        for policy in policies
        for each in _bound(principal, policy)
        if each.statement.names_action(action.lower())
        and each.statement.names_resource(resource, NOTHING) is not False
    ]


def _plan(principal: Principal, action: str, resource: str, resource_policy: Policy | None) -> Plan:
    def about(*policies: Policy | None) -> list[Candidate]:
        return _about(principal, filter(None, policies), action, resource)

    own, session = about(*principal.policies), about(*principal.session)
    boundary = about(principal.boundary)
    of_resource = [each for each in about(resource_policy) if _is_named(principal, each.statement)]
    kinds = {IDENTITY: own, BOUNDARY: boundary, SESSION: session, RESOURCE: of_resource}
    denials = {
        kind: [each for each in candidates if not each.statement.allows]
        for kind, candidates in kinds.items()
    }
    by_name = [each for each in of_resource if _names_itself(principal, each.statement)]
    shared = [each for each in of_resource if _grants(principal, each.statement)]
    known = principal.keys()
    return Plan(
        action,
        tuple((kind, Group(candidates)) for kind, candidates in denials.items() if candidates),
        _allows(by_name),
        _allows(boundary) if principal.boundary else None,
        _allows(session) if principal.session else None,
        _allows([*own, *shared]),
    ).settled(RequestContext(known), lambda key: key in known or key.startswith("aws:principal"))


def _allows(candidates: Iterable[Candidate]) -> Group:
    return Group(each for each in candidates if each.statement.allows)


# ---- the principals of a resource's policy ----


def _is_named(principal: Principal, statement: Statement) -> bool:
    named = any(_names(principal, each) for each in statement.principals)
    return named is not statement.but_principals


def _names(principal: Principal, written: str) -> bool:
    account = principal.account
    if written in ("*", account, principal.arn, principal.role_arn):
        return True
    return written.endswith(f":iam::{account}:root")


def _names_itself(principal: Principal, statement: Statement) -> bool:
    return principal.arn in statement.principals


def _grants(principal: Principal, statement: Statement) -> bool:
    """Whether a statement of a resource's policy is enough to allow the principal.

    A statement that names only the account is not enough, because it leaves the decision to the
    policies of the account's identities.
    """
    return any(each in ("*", principal.role_arn) for each in statement.principals)
