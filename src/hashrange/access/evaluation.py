"""Whether a principal may perform an action on a resource.

    an explicit Deny anywhere                     -> no
    the resource's policy names the principal     -> yes
    its own policies or the resource's allow it,
    and so do its boundary and session policies   -> yes
    otherwise                                     -> no

Source: IAM user guide, "Policy evaluation logic" and "Permissions boundaries for IAM entities",
for one account.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hashrange.access.policy import NOTHING, Policy, Statement
from hashrange.access.principals import Principal

IDENTITY = "an identity-based policy"
BOUNDARY = "a permissions boundary"
SESSION = "a session policy"
RESOURCE = "a resource-based policy"
"""The kinds of policies, as messages name them."""


class Source(Struct, frozen=True):
    """The statement that decided, and the policy that it is in."""

    policy: str
    statement: str


class Verdict(Struct, frozen=True):
    """`because` completes the message of a denial; it is empty if the request is allowed.

    One that `stands` is the same for each request with this action on this resource.
    """

    because: str
    source: Source | None = None
    stands: bool = False

    @property
    def allowed(self) -> bool:
        return not self.because


Keys = Mapping[str, tuple[str, ...]]


def _no_keys() -> Keys:
    return {}


class RequestContext:
    """The condition keys of a request: of its principal, of its items, and of all around it.

    The latter two are computed once they are needed.
    """

    __slots__ = ("_around", "_items", "_of_items", "_of_surroundings", "_principal")

    def __init__(
        self,
        principal: Keys,
        of_items: Callable[[], Keys] = _no_keys,
        of_surroundings: Callable[[], Keys] = _no_keys,
    ) -> None:
        self._principal = principal
        self._of_items = of_items
        self._of_surroundings = of_surroundings
        self._items: Keys | None = None
        self._around: Keys | None = None

    def values(self, key: str, /) -> tuple[str, ...]:
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
    def asked_around(self) -> bool:
        """Whether more was asked for than the principal and the items tell."""
        return self._around is not None

    @property
    def around(self) -> Keys:
        if self._around is None:
            self._around = self._of_surroundings()
        return self._around

    def all(self) -> dict[str, tuple[str, ...]]:
        return {**self._principal, **self.around, **self.items}


Candidates = tuple[tuple[Policy, Statement], ...]


class _Plan(Struct):
    """The statements about an action and a resource, and the verdict if it needs no more."""

    identity: Candidates
    resource: Candidates
    boundary: Candidates
    session: Candidates
    verdict: Verdict | None = None


def evaluate(
    principal: Principal,
    action: str,
    resource: str,
    context: RequestContext,
    resource_policy: Policy | None = None,
) -> Verdict:
    """`action` as in `dynamodb:GetItem`, `resource` an ARN or `*`.

    Statements about the same action and resource are looked for once, and so is a verdict without
    conditions and variables.
    """
    asked = (action, resource, resource_policy.text if resource_policy else "")
    plan: _Plan | None = principal.remembered.get(asked)
    if plan is None:
        plan = _plan(principal, action, resource, resource_policy)
        principal.remember(asked, plan)
    return plan.verdict or _decide(principal, plan, action, resource, context)


def _plan(
    principal: Principal, action: str, resource: str, resource_policy: Policy | None
) -> _Plan:
    lower = action.lower()

    def about(policies: Iterable[Policy]) -> Candidates:
        return tuple(
            (policy, each)
            for policy in policies
            for each in policy.statements
            if each.names_action(lower)
            and (each.has_variable_resources or each.names_resource(resource, NOTHING))
        )

    plan = _Plan(
        about(principal.policies),
        tuple(
            (policy, each)
            for policy, each in about([resource_policy] if resource_policy else [])
            if _is_named(principal, each)
        ),
        about([principal.boundary] if principal.boundary else []),
        about(principal.session),
    )
    every = (*plan.identity, *plan.resource, *plan.boundary, *plan.session)
    if not any(each.varies for _, each in every):
        found = _decide(principal, plan, action, resource, RequestContext({}))
        plan.verdict = replace(found, stands=True)
    return plan


def _decide(
    principal: Principal, plan: _Plan, action: str, resource: str, context: RequestContext
) -> Verdict:
    def applying(candidates: Candidates) -> Candidates:
        if not any(each.varies for _, each in candidates):
            return candidates
        return tuple(
            (policy, each)
            for policy, each in candidates
            if (not each.has_variable_resources or each.names_resource(resource, context))
            and each.holds(context)
        )

    found = {
        IDENTITY: applying(plan.identity),
        BOUNDARY: applying(plan.boundary),
        SESSION: applying(plan.session),
        RESOURCE: applying(plan.resource),
    }
    for kind, statements in found.items():
        if denial := _first(statements, allows=False):
            return Verdict(f"with an explicit deny in {kind}", denial)
    return _allowance(principal, action, found)


Found = Mapping[str, Sequence[tuple[Policy, Statement]]]


def _allowance(principal: Principal, action: str, found: Found) -> Verdict:
    named = [
        (policy, each)
        for policy, each in found[RESOURCE]
        if not each.but_principals and principal.arn in each.principals
    ]
    if by_name := _first(named, allows=True):
        return Verdict("", by_name)
    if principal.boundary and not _first(found[BOUNDARY], allows=True):
        return Verdict(_nothing_allows(BOUNDARY, action))
    if principal.session and not _first(found[SESSION], allows=True):
        return Verdict(_nothing_allows(SESSION, action))
    shared = [
        (policy, each) for policy, each in found[RESOURCE] if _grants_by_itself(principal, each)
    ]
    allowed = _first(found[IDENTITY], allows=True) or _first(shared, allows=True)
    if allowed:
        return Verdict("", allowed)
    return Verdict(_nothing_allows(IDENTITY, action))


def _nothing_allows(kind: str, action: str) -> str:
    return f"because no {kind.partition(' ')[2]} allows the {action} action"


def _first(statements: Iterable[tuple[Policy, Statement]], allows: bool) -> Source | None:
    for policy, each in statements:
        if each.allows is allows:
            return Source(policy.name, each.place)
    return None


# ---- the principals of a resource's policy ----


def _is_named(principal: Principal, statement: Statement) -> bool:
    named = any(_names(principal, each) for each in statement.principals)
    return named is not statement.but_principals


def _names(principal: Principal, written: str) -> bool:
    account = principal.account
    if written in ("*", account, principal.arn, principal.role_arn):
        return True
    return written.endswith(f":iam::{account}:root")


def _grants_by_itself(principal: Principal, statement: Statement) -> bool:
    """One that names the account only lets the policies of its identities decide."""
    if statement.but_principals:
        return False
    return any(each in ("*", principal.role_arn) for each in statement.principals)
