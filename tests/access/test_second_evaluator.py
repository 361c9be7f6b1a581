"""Any policies: the evaluator answers as the plainest one does."""

import json
from typing import Any

from access_files import ACCOUNT, TABLES, USER
from hypothesis import event, given, settings
from hypothesis import strategies as st

from hashrange.access import patterns, policy
from hashrange.access.evaluation import RequestContext, evaluate
from hashrange.access.patterns import NOTHING
from hashrange.access.principals import Principal

from . import plain

ANN = f"{USER}ann"
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
ACTIONS = ("dynamodb:GetItem", "dynamodb:Query")
RESOURCES = (f"{TABLES}a", f"{TABLES}b", f"{TABLES}a/index/i")
LEADING, ATTRIBUTES = "dynamodb:leadingkeys", "dynamodb:attributes"

actions = st.lists(
    st.sampled_from(("dynamodb:GetItem", "dynamodb:Get*", "DYNAMODB:query", "*", "s3:*")),
    min_size=1,
    max_size=2,
)
resources = st.lists(
    st.sampled_from(
        (
            *("*", f"{TABLES}a", f"{TABLES}*", f"{TABLES}?", f"{TABLES}a/index/*"),
            *("arn:aws:dynamodb:*", "arn:*:dynamodb:*:*:table/a", "arn:aws:dynamodb:*:table/b"),
            TABLES + "${aws:PrincipalTag/table}",
            TABLES + "${aws:PrincipalTag/absent}",
        )
    ),
    min_size=1,
    max_size=2,
)
texts = st.lists(
    st.sampled_from(("x", "y", "x*", "*", "${aws:username}", "${aws:PrincipalTag/absent}")),
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
nulls = st.dictionaries(
    st.just("Null"), st.dictionaries(st.just(LEADING), st.sampled_from((["true"], ["false"])))
)
conditions = st.builds(lambda some, null: {**some, **null}, comparisons, nulls)


@st.composite
def statements(draw: Any, principals: bool = False) -> dict[str, Any]:
    found = {
        "Effect": draw(st.sampled_from(("Allow", "Allow", "Deny"))),
        draw(st.sampled_from(("Action", "Action", "NotAction"))): draw(actions),
        draw(st.sampled_from(("Resource", "Resource", "NotResource"))): draw(resources),
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
        {"table": "a"},
    )
    request = {LEADING: leading, ATTRIBUTES: attributes}
    own_keys = {key: tuple(found) for key, found in request.items() if found}
    context = RequestContext(principal.keys(), lambda: own_keys)
    resource_policy = read(own, of_resource=True) if own else None
    keys = {**request, "aws:username": ["ann"], "aws:principaltag/table": ["a"]}
    expected = plain.allowed(
        identity, boundary, session, own, {ANN: True, ROOT: False}, action, resource, keys
    )
    for _ in range(2):  # the second answer may be remembered
        verdict = evaluate(principal, action, resource, context, resource_policy)
        assert verdict.allowed is expected, verdict
    event("allowed" if expected else "denied")


@settings(max_examples=500, deadline=None)
@given(
    pattern=st.text("ab:*?", max_size=10),
    text=st.text("ab:", max_size=10),
    arn=st.booleans(),
)
def test_both_matchers_agree(pattern: str, text: str, arn: bool) -> None:
    found = patterns.parse(pattern, arn=arn).matches(text, NOTHING)
    assert found is plain.glob(pattern, text, arn)
