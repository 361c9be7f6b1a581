"""Asks the policies whether the principal of a request may make the request.

Each member of a request, such as an item of a batch, is checked on the ARN of its resource, in the
snapshot of the decision. A refusal reveals nothing about the table: not its state, its keys, or
whether it exists.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

from msgspec import Struct

from hashrange.access import evaluation, policy
from hashrange.access.evaluation import RequestContext
from hashrange.access.patterns import NOTHING
from hashrange.access.plans import LEADINGS, Plan, Source, Verdict
from hashrange.access.policy import Policy
from hashrange.access.principals import Principal
from hashrange.engine.fetch import Fetch, Moment, find_table, plain_name
from hashrange.model.caller import Caller
from hashrange.model.errors import AccessDeniedException, ApiError, ResourceNotFoundException
from hashrange.model.tables import Table
from hashrange.operations import condition_keys, item_shapes
from hashrange.operations.condition_keys import Keys, Member
from hashrange.operations.operation import Operation
from hashrange.operations.resources import table_arn, table_of

_log = logging.getLogger("hashrange")


def check_on_table(operation: Operation, request: Any, table: Table | None, moment: Moment) -> None:
    """Check a request about one table. Raises AccessDeniedException or
    ResourceNotFoundException."""
    principal = moment.caller.principal
    assert isinstance(principal, Principal)
    if principal.full_access:
        return
    body, known = request.body, None
    if table is not None and body.table_name == table.name:
        # Programs make the same request again and again, so the plan of its policies is kept.
        policy, index = table.resource_policy, getattr(body, "index_name", None)
        known = (operation.name, table.id, index, policy and policy.text)
        plan: Plan | None = principal.remembered.get(known)
        if plan is not None and _allows(plan, principal, operation.name, request, table, moment):
            return
    [member] = condition_keys.members(operation.name, request, moment.caller, operation.resources)
    asked = question(principal, member, table, moment)
    verdict = ask(principal, asked)
    refusal = _refusal(principal, asked, verdict)
    if refusal is not None:
        raise refusal
    if known is not None:
        plan = evaluation.plan(principal, asked.action, asked.resource, asked.policy)
        principal.remember(known, plan)


def _allows(
    plan: Plan, principal: Principal, name: str, request: Any, table: Table, moment: Moment
) -> bool:
    if plan.asks_items and plan.by_key is None and name in item_shapes.OPERATIONS:
        plan = _of_shape(plan, name, request, table)
    if plan.verdict is not None:
        return plan.verdict.allowed
    leading = item_shapes.leading(name, request, table)
    if leading is not None and plan.by_key is not None:
        return bool(plan.by_key(leading, NOTHING))
    context = RequestContext(
        _principal_keys(principal),
        lambda: condition_keys.of_one_table(name, request, table),
        lambda: _surroundings(table, table.arn, moment),
        None if leading is None else (leading,),
    )
    return not plan.decide(context).because


SHAPES_MAX = 200
SHAPE_CHARACTERS_MAX = 5000
"""The largest number of characters in the shape (see `_of_shape`) of a request whose plan is kept.
A shape contains names of attributes, which may be long."""


def _of_shape(plan: Plan, name: str, request: Any, table: Table) -> Plan:
    """The part of `plan` that is left to check once the shape of a request about one item is known.

    Two requests of the operation `name` have the same shape if they differ at most in the values of
    their leading keys. All requests of one shape share the result.
    """
    shape = item_shapes.shape(name, request)
    settled = plan.shapes.get(shape)
    if settled is None:
        keys = condition_keys.of_one_table(name, request, table)
        settled = plan.settled(RequestContext(keys), _is_shared)
        if len(repr(shape)) <= SHAPE_CHARACTERS_MAX:
            if len(plan.shapes) >= SHAPES_MAX:
                plan.shapes.clear()
            plan.shapes[shape] = settled
    return settled


def _is_shared(key: str) -> bool:
    return key not in LEADINGS


def check(operation: Operation, request: Any, moment: Moment) -> Fetch[Any]:
    """Check a request. Returns it; a BatchExecuteStatement is returned without its denied members.

    Raises AccessDeniedException or ResourceNotFoundException.
    """
    principal = cast(Principal, moment.caller.principal)
    members = condition_keys.members(operation.name, request, moment.caller, operation.resources)
    refusals: dict[int, ApiError] = {}
    for member in members:
        table = None
        if ":table/" in member.resource:
            table = yield from find_table(table_of(member.resource))
        asked = question(principal, member, table, moment)
        refusal = _refusal(principal, asked, ask(principal, asked))
        if refusal is not None and member.number is None:
            raise refusal
        if refusal is not None and member.number is not None:
            refusals[member.number] = refusal
    return condition_keys.refuse(request, refusals)


class Question(NamedTuple):
    """A question to the policies: an action on a resource, and the condition keys.

    `named` is the resource as the request names it. Messages contain this name, because the table's
    own ARN would reveal that the table exists. The resource is `foreign` if the request names it by
    an ARN that is not the table's own.
    """

    action: str
    resource: str
    context: RequestContext
    policy: Policy | None
    named: str
    foreign: bool
    now: float


def question(principal: Principal, member: Member, table: Table | None, moment: Moment) -> Question:
    named = resource = member.resource
    foreign = False
    if ":table/" in named:
        own = _own_arn(named, table, moment.caller)
        written = not member.table_name or member.table_name.startswith("arn:")
        foreign = written and own != named and not (table is None and _outlives_table(named))
        resource = named if written else own
    known = None if foreign else table
    context = RequestContext(
        _principal_keys(principal),
        partial(member.keys, known),
        partial(_surroundings, known, resource, moment),
    )
    own_policy = _policy_of(known, resource)
    return Question(member.action, resource, context, own_policy, named, foreign, moment.now)


def ask(principal: Principal, asked: Question) -> Verdict:
    return evaluation.evaluate(principal, asked.action, asked.resource, asked.context, asked.policy)


class Answered(Struct):
    """The answer of the policies to one action of a request.

    `policy` and `statement` decided the action; they are empty if no statement allows it.
    `condition_keys` are all condition keys of the request, by their names in lower case.
    """

    action: str
    resource: str
    allowed: bool
    because: str
    policy: str
    statement: str
    condition_keys: dict[str, tuple[str, ...]]


def answers(operation: Operation, request: Any, moment: Moment) -> Fetch[list[Answered]]:
    """The answers of the policies of the caller's principal, one for each action of a request.

    The list is empty if the principal has full access, because then no policy is evaluated.
    """
    principal = cast(Principal | None, moment.caller.principal)
    answered: list[Answered] = []
    if principal is None or principal.full_access:
        return answered
    for member in condition_keys.members(
        operation.name, request, moment.caller, operation.resources
    ):
        table = None
        if ":table/" in member.resource:
            table = yield from find_table(table_of(member.resource))
        asked = question(principal, member, table, moment)
        verdict = ask(principal, asked)
        source = verdict.source or Source("", "")
        keys = dict(sorted(asked.context.all().items()))
        answered.append(
            Answered(
                *(asked.action, asked.resource, verdict.allowed, verdict.because),
                *(source.policy, source.statement, keys),
            )
        )
    return answered


def _refusal(principal: Principal, asked: Question, verdict: Verdict) -> ApiError | None:
    if verdict.allowed:
        # There are no tables of other accounts and regions, and the request does not mean the table
        # of this one. The message is the same whether or not a table with this name exists.
        missing = ResourceNotFoundException("Requested resource not found")
        return missing if asked.foreign else None
    _log_denial(principal, asked, verdict)
    return AccessDeniedException(
        f"User: {principal.arn} is not authorized to perform: {asked.action} on resource: "
        f"{asked.named} {verdict.because}"
    )


LOGGED_AGAIN_SECONDS = 60
"""How long repetitions of a denial are not logged. A program that is denied access tries again and
again."""


def _log_denial(principal: Principal, asked: Question, verdict: Verdict) -> None:
    known = "denied", asked.action, asked.resource, verdict
    if asked.now - principal.remembered.get(known, 0) < LOGGED_AGAIN_SECONDS:
        return
    principal.remember(known, asked.now)
    source = verdict.source
    _log.warning(
        "denied to %s: %s on %s %s%s",
        *(principal.arn, asked.action, asked.resource, verdict.because),
        f" ({source.statement} of {source.policy})" if source else "",
    )


def _own_arn(named: str, table: Table | None, caller: Caller) -> str:
    """The ARN of the `named` resource, with the region and account of its table.

    If the table does not exist, the ARN has the region and account of the caller.
    """
    written = table_of(named)
    own = table.arn if table else table_arn(plain_name(written), caller)
    return own + named.removeprefix(written)


# ---- condition keys ----


@lru_cache(maxsize=1024)
def _principal_keys(principal: Principal) -> Mapping[str, tuple[str, ...]]:
    return principal.keys()


def _surroundings(table: Table | None, resource: str, moment: Moment) -> Keys:
    keys = {**_of_caller(moment.caller), **_of_time(moment.now)}
    parts = resource.split(":")
    if len(parts) > 4:
        keys["aws:resourceaccount"] = (parts[4],)
    if table is not None and _kind(resource) not in _COPIES:
        for key, value in table.tags.items():
            name = f"aws:resourcetag/{key}".lower()
            keys[name] = (*keys.get(name, ()), value)
    return keys


_COPIES = frozenset({"backup", "export", "import", "bulk-operation"})
"""Kinds of resources that have neither tags nor policies."""


def _kind(resource: str) -> str:
    """The kind of a resource that belongs to a table, such as "index"; empty for a table itself."""
    return resource.rpartition(":table/")[2].partition("/")[2].partition("/")[0]


def _outlives_table(resource: str) -> bool:
    return _kind(resource) in _COPIES or _kind(resource) == "stream"


def _of_caller(caller: Caller) -> Keys:
    keys: Keys = {
        "aws:requestedregion": (caller.region,),
        "aws:securetransport": ("true" if caller.secure else "false",),
    }
    if caller.address:
        keys["aws:sourceip"] = (caller.address,)
    return keys


def _of_time(now: float) -> Keys:
    moment = datetime.fromtimestamp(int(now), UTC)
    return {
        "aws:currenttime": (f"{moment:%Y-%m-%dT%H:%M:%SZ}",),
        "aws:epochtime": (str(int(now)),),
    }


# ---- policies of resources ----


def _policy_of(table: Table | None, resource: str) -> Policy | None:
    """The resource policy of a table and its indexes or, if the resource is a stream, the policy of
    the stream."""
    if table is None or _kind(resource) in _COPIES:
        return None
    of_stream = _kind(resource) == "stream"
    stored = table.stream_policies.get(resource) if of_stream else table.resource_policy
    return None if stored is None else _parsed(stored.text, resource)


@lru_cache(maxsize=256)
def _parsed(text: str, resource: str) -> Policy:
    return policy.parse(text, f"the policy of {resource}", of_resource=True)
