"""Whether a principal may perform an action on a resource.

    an explicit Deny anywhere                     -> no
    the resource's policy names the principal     -> yes
    its own policies or the resource's allow it,
    and so do its boundary and session policies   -> yes
    otherwise                                     -> no

Source: IAM user guide, "Policy evaluation logic" and "Permissions boundaries for IAM entities",
for one account.
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hashrange.access.operators import OPERATORS, Fits
from hashrange.access.patterns import NOTHING
from hashrange.access.policy import Policy, Statement, Test
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
    """`because` completes the message of a denial; it is empty if the request is allowed."""

    because: str
    source: Source | None = None

    @property
    def allowed(self) -> bool:
        return not self.because


Keys = Mapping[str, tuple[str, ...]]


def _no_keys() -> Keys:
    return {}


_LEADING = "dynamodb:leadingkeys"
_LEADINGS = frozenset({_LEADING, "dynamodb:firstpartitionkeyvalues"})


class RequestContext:
    """The condition keys of a request: of its principal, of its items, and of all around it.

    The latter two are computed once they are needed. `leading` has the leading keys if they are
    known without the other keys of the items.
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
        if self._leading is not None and key in _LEADINGS:
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


class _Candidate(Struct, frozen=True):
    """A statement about an action and a resource. Without `condition` it applies to any request.

    `verdict` is what it decides if it allows.
    """

    statement: Statement
    verdict: Verdict
    condition: Test | None


class _Group:
    """Some of the candidates of a plan."""

    def __init__(self, candidates: Iterable[_Candidate]) -> None:
        self._candidates = tuple(candidates)
        self._may_fit = _shared_test(each.statement for each in self._candidates)

    @property
    def varies(self) -> bool:
        return any(each.condition for each in self._candidates)

    def first(self, context: RequestContext) -> Verdict | None:
        """The verdict of the first one that applies."""
        if self._may_fit is not None:
            values = context.values(_LEADING)
            if len(values) == 1 and not self._may_fit(values[0], context):
                return None
        for each in self._candidates:
            condition = each.condition
            if condition is None or condition(context):
                return each.verdict
        return None


def _shared_test(statements: Iterable[Statement]) -> Fits | None:
    """What a single leading key must fit if any of several statements is to apply.

    None if they do not all ask for it, each by the same operator.
    """
    asked = [each.needed(_LEADING) for each in statements]
    names = {each.name for each in asked if each}
    if len(asked) < 2 or None in asked or len(names) > 1:
        return None
    [name] = names
    fixed = OPERATORS[name].fixed
    assert fixed
    return fixed([value for each in asked if each for value in each.values])


class Plan(Struct):
    """What decides about an action of a principal on a resource, prepared for many requests.

    `by_name` are the Allows of the resource's policy that name the principal. There is no
    `boundary` or `session` if it is None. `verdict` is there if it is the same for any request.
    """

    action: str
    denials: tuple[tuple[str, _Group], ...]
    by_name: _Group
    boundary: _Group | None
    session: _Group | None
    allowing: _Group
    verdict: Verdict | None = None

    @property
    def varies(self) -> bool:
        groups = (self.by_name, self.boundary, self.session, self.allowing)
        every = (*(group for _, group in self.denials), *filter(None, groups))
        return any(group.varies for group in every)

    def decide(self, context: RequestContext) -> Verdict:
        if self.verdict is not None:
            return self.verdict
        for kind, denials in self.denials:
            if denial := denials.first(context):
                return Verdict(f"with an explicit deny in {kind}", denial.source)
        if by_name := self.by_name.first(context):
            return by_name
        if self.boundary is not None and not self.boundary.first(context):
            return Verdict(self._nothing_allows(BOUNDARY))
        if self.session is not None and not self.session.first(context):
            return Verdict(self._nothing_allows(SESSION))
        return self.allowing.first(context) or Verdict(self._nothing_allows(IDENTITY))

    def _nothing_allows(self, kind: str) -> str:
        return f"because no {kind.partition(' ')[2]} allows the {self.action} action"


def evaluate(
    principal: Principal,
    action: str,
    resource: str,
    context: RequestContext,
    resource_policy: Policy | None = None,
) -> Verdict:
    """`action` as in `dynamodb:GetItem`, `resource` an ARN or `*`."""
    return plan(principal, action, resource, resource_policy).decide(context)


def plan(
    principal: Principal, action: str, resource: str, resource_policy: Policy | None = None
) -> Plan:
    """It is made once and remembered."""
    asked = (action, resource, resource_policy.text if resource_policy else "")
    found: Plan | None = principal.remembered.get(asked)
    if found is None:
        found = _plan(principal, action, resource, resource_policy)
        principal.remember(asked, found)
    return found


def _bound(principal: Principal, policy: Policy) -> list[_Candidate]:
    """The statements with the values of a principal, shared by all its plans."""
    asked = (policy.name, policy.text)
    found: list[_Candidate] | None = principal.remembered.get(asked)
    if found is None:
        known = RequestContext(principal.keys())
        statements = [each.bound(known) for each in policy.statements]
        found = [
            _Candidate(each, Verdict("", Source(policy.name, each.place)), each.condition())
            for each in statements
        ]
        principal.remember(asked, found)
    return found


def _about(
    principal: Principal, policies: Iterable[Policy], action: str, resource: str
) -> list[_Candidate]:
    """Of a statement with variables as resources it is left open whether it is about this one."""
    return [
        replace(each, condition=each.statement.condition(resource))
        if each.statement.has_variable_resources
        else each
        for policy in policies
        for each in _bound(principal, policy)
        if each.statement.names_action(action.lower())
        and each.statement.names_resource(resource, NOTHING) is not False
    ]


def _plan(principal: Principal, action: str, resource: str, resource_policy: Policy | None) -> Plan:
    def about(*policies: Policy | None) -> list[_Candidate]:
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
    found = Plan(
        action,
        tuple((kind, _Group(candidates)) for kind, candidates in denials.items() if candidates),
        _allows(by_name),
        _allows(boundary) if principal.boundary else None,
        _allows(session) if principal.session else None,
        _allows([*own, *shared]),
    )
    if not found.varies:
        found.verdict = found.decide(RequestContext({}))
    return found


def _allows(candidates: Iterable[_Candidate]) -> _Group:
    return _Group(each for each in candidates if each.statement.allows)


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
    """One that names the account only lets the policies of its identities decide."""
    return any(each in ("*", principal.role_arn) for each in statement.principals)
