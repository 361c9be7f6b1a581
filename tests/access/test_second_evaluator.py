"""Any policies: the evaluator answers as the plainest one does."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from access_files import ACCOUNT, TABLES, USER
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import hashrange
from hashrange.access import patterns, policy
from hashrange.access.evaluation import RequestContext, evaluate, plan
from hashrange.access.patterns import NOTHING
from hashrange.access.principals import Principal
from hashrange.model.caller import Caller
from hashrange.model.errors import AccessDeniedException

from . import plain

ANN = f"{USER}ann"
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
ACTIONS = ("dynamodb:GetItem", "dynamodb:Query")
RESOURCES = (f"{TABLES}aaa", f"{TABLES}bbb", f"{TABLES}aaa/index/i")
LEADING, ATTRIBUTES = "dynamodb:leadingkeys", "dynamodb:attributes"

actions = st.lists(
    st.sampled_from(("dynamodb:GetItem", "dynamodb:Get*", "DYNAMODB:query", "*", "*", "s3:*")),
    min_size=1,
    max_size=2,
)
resources = st.lists(
    st.sampled_from(
        (
            *("*", "*", f"{TABLES}aaa", f"{TABLES}*", f"{TABLES}???", f"{TABLES}aaa/index/*"),
            *("arn:aws:dynamodb:*", "arn:*:dynamodb:*:*:table/aaa", "arn:aws:dynamodb:*:table/bbb"),
            TABLES + "${aws:PrincipalTag/table}",
            TABLES + "${aws:PrincipalTag/absent}",
        )
    ),
    min_size=1,
    max_size=2,
)
texts = st.lists(
    st.sampled_from(
        (
            *("x", "y", "x*", "*"),
            *("${aws:username}", "${aws:PrincipalTag/absent}", "${dynamodb:LeadingKeys}"),
        )
    ),
    min_size=1,
    max_size=2,
)
operators = st.sampled_from(
    [
        f"{quantifier}{name}{suffix}"
        for quantifier in ("", "ForAllValues:", "ForAnyValue:")
        for name in ("StringEquals", "StringNotEquals", "StringLike", "StringNotLike")
        for suffix in ("", "IfExists")
    ]
)
comparisons = st.dictionaries(
    operators,
    st.dictionaries(st.sampled_from((LEADING, ATTRIBUTES)), texts, min_size=1),
    max_size=2,
)
ready = st.sampled_from(
    (
        *({}, {"Null": {LEADING: ["true"]}}, {"Null": {LEADING: ["false"]}}),
        {"ForAllValues:StringEquals": {ATTRIBUTES: ["x", "y"]}},
        {"ForAllValues:StringLike": {LEADING: ["x*", "${aws:username}"]}},
        {"ForAllValues:StringEquals": {LEADING: ["x", "xy"]}},
    )
)
conditions = st.builds(lambda some, more: {**some, **more}, comparisons, ready) | ready


@st.composite
def statements(draw: Any, principals: bool = False) -> dict[str, Any]:
    found = {
        "Effect": draw(st.sampled_from(("Allow", "Allow", "Allow", "Deny"))),
        draw(st.sampled_from(("Action", "Action", "Action", "NotAction"))): draw(actions),
        draw(st.sampled_from(("Resource", "Resource", "Resource", "NotResource"))): draw(resources),
        "Condition": draw(conditions),
    }
    if principals:
        who = st.sampled_from((ANN, ROOT, f"{USER}bob"))
        found["Principal"] = {"AWS": draw(who)}
    return found


def documents(principals: bool = False) -> Any:
    return st.builds(
        lambda listed: {"Version": "2012-10-17", "Statement": listed},
        st.lists(statements(principals), min_size=1, max_size=3),
    )


values = st.lists(st.sampled_from(("x", "y", "xy", "ann", "*")), max_size=2, unique=True)


@settings(max_examples=150, deadline=None)
@given(
    identity=st.lists(documents(), max_size=2),
    boundary=st.none() | documents(),
    session=st.none() | documents(),
    own=st.none() | documents(principals=True),
    action=st.sampled_from(ACTIONS),
    resource=st.sampled_from(RESOURCES),
    leading=values,
    attributes=values,
)
def test_both_evaluators_agree(
    identity: list[dict[str, Any]],
    boundary: dict[str, Any] | None,
    session: dict[str, Any] | None,
    own: dict[str, Any] | None,
    action: str,
    resource: str,
    leading: list[str],
    attributes: list[str],
) -> None:
    def read(given: dict[str, Any], of_resource: bool = False) -> policy.Policy:
        return policy.parse(json.dumps(given), "x", of_resource)

    principal = Principal(
        ANN,
        tuple(map(read, identity)),
        read(boundary) if boundary else None,
        (read(session),) if session else (),
        {"table": "aaa"},
    )
    request = {LEADING: leading, ATTRIBUTES: attributes}
    own_keys = {key: tuple(found) for key, found in request.items() if found}
    context = RequestContext(principal.keys(), lambda: own_keys)
    resource_policy = read(own, of_resource=True) if own else None
    keys = {**request, "aws:username": ["ann"], "aws:principaltag/table": ["aaa"]}
    expected = plain.allowed(
        identity, boundary, session, own, {ANN: True, ROOT: False}, action, resource, keys
    )
    for _ in range(2):  # the second answer may be remembered
        verdict = evaluate(principal, action, resource, context, resource_policy)
        assert verdict.allowed is expected, verdict
    event("allowed" if expected else "denied")
    shared = plan(principal, action, resource, resource_policy).settled(
        context, lambda key: key != LEADING
    )
    assert shared.decide(context).allowed is expected
    if shared.by_key is not None and len(leading) == 1:
        assert bool(shared.by_key(leading[0], NOTHING)) is expected
        event("by its key alone")


OPERATOR = Caller("us-east-1", ACCOUNT)


@pytest.fixture(scope="module")
def database() -> Iterator[hashrange.Database]:
    x = {"AttributeName": "x"}
    table = {
        "TableName": "aaa",
        "AttributeDefinitions": [{**x, "AttributeType": "S"}],
        "KeySchema": [{**x, "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    with hashrange.connect() as database:
        database.runtime.call("CreateTable", json.dumps(table).encode(), OPERATOR)
        yield database


requests = st.tuples(
    st.sampled_from(("x", "y", "xy", "ann")),
    st.sampled_from((None, "x", "y", "x, y", "xy")),
)


@settings(max_examples=40, deadline=None)
@given(
    identity=st.lists(documents(), max_size=2),
    boundary=st.none() | documents(),
    asked=st.lists(requests, min_size=1, max_size=4),
)
def test_a_request_gets_what_the_policies_say(
    database: hashrange.Database,
    identity: list[dict[str, Any]],
    boundary: dict[str, Any] | None,
    asked: list[tuple[str, str | None]],
) -> None:
    """Requests share what is prepared for them: only their leading keys may differ then."""
    own = tuple(policy.parse(json.dumps(each), "x") for each in identity)
    limit = policy.parse(json.dumps(boundary), "x") if boundary else None
    ann = Principal(ANN, own, limit, tags={"table": "aaa"})
    caller = replace(OPERATOR, principal=ann)
    for key, projection in [*asked, *asked]:
        body: dict[str, Any] = {"TableName": "aaa", "Key": {"x": {"S": key}}}
        if projection:
            body["ProjectionExpression"] = projection
        text = json.dumps(body).encode()
        [told] = database.runtime.explain("GetItem", text, caller).access
        keys = {name: list(found) for name, found in told.condition_keys.items()}
        expected = plain.allowed(
            identity, boundary, None, None, {}, "dynamodb:GetItem", f"{TABLES}aaa", keys
        )
        assert told.allowed is expected
        with nullcontext() if expected else pytest.raises(AccessDeniedException):
            database.runtime.call("GetItem", text, caller)


@settings(max_examples=500, deadline=None)
@given(
    pattern=st.text("ab:*?", max_size=10),
    text=st.text("ab:", max_size=10),
    arn=st.booleans(),
)
def test_both_matchers_agree(pattern: str, text: str, arn: bool) -> None:
    found = patterns.parse(pattern, arn=arn).matches(text, NOTHING)
    assert found is plain.glob(pattern, text, arn)
