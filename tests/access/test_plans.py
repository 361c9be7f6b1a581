"""Plans of which only the leading key is asked decide by it alone, as the second evaluator does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from access_files import ACCOUNT, THINGS, USER

from hashrange.access import policy
from hashrange.access.evaluation import RequestContext, plan
from hashrange.access.patterns import NOTHING
from hashrange.access.principals import Principal

from . import plain

ANN, ROOT = f"{USER}ann", f"arn:aws:iam::{ACCOUNT}:root"
GET, LEADING, ATTRIBUTES = "dynamodb:GetItem", "dynamodb:leadingkeys", "dynamodb:attributes"

Document = dict[str, Any]


def statement(effect: str, condition: Document) -> Document:
    return {"Effect": effect, "Action": [GET], "Resource": ["*"], "Condition": condition}


def document(*statements: Document) -> Document:
    return {"Version": "2012-10-17", "Statement": list(statements)}


EVERYTHING = document(statement("Allow", {}))
OTHERS = {"ForAnyValue:StringLike": {LEADING: ["o*"]}}


def arrangements(condition: Document) -> Iterator[dict[str, Any]]:
    """Policies of a principal, in which one condition matters in each place where one can be."""
    allowing, denying = statement("Allow", condition), statement("Deny", condition)
    yield {"identity": [document(allowing)]}
    yield {"identity": [document(allowing, statement("Allow", OTHERS))]}
    another = {"ForAnyValue:StringNotEquals": {LEADING: ["xy"]}}
    yield {"identity": [document(statement("Allow", {**condition, **another}))]}
    yield {"identity": [EVERYTHING, document(denying, statement("Deny", OTHERS))]}
    yield {"identity": [EVERYTHING], "boundary": document(allowing)}
    yield {"identity": [EVERYTHING], "session": document(allowing)}
    yield {"identity": [EVERYTHING], "boundary": document(statement("Allow", {}), denying)}
    for who in (ANN, ROOT):
        principal = {"Principal": {"AWS": who}}
        yield {"identity": [document(statement("Allow", OTHERS))],
               "own": document({**allowing, **principal})}  # fmt: skip
        yield {"identity": [EVERYTHING], "boundary": document(statement("Allow", OTHERS)),
               "own": document({**allowing, **principal})}  # fmt: skip
        yield {"identity": [EVERYTHING], "own": document({**denying, **principal})}


@pytest.mark.parametrize("quantifier", ["", "ForAllValues:", "ForAnyValue:"])
@pytest.mark.parametrize("name", ["StringEquals", "StringNotEquals", "StringLike", "StringNotLike"])
@pytest.mark.parametrize("values", [
    ["x"], ["x*", "y"], ["${aws:username}"], ["${dynamodb:LeadingKeys}", "x"],
])  # fmt: skip
def test_a_leading_key_decides(quantifier: str, name: str, values: list[str]) -> None:
    """Attributes, which are settled first, allow what they say."""
    condition = {f"{quantifier}{name}": {LEADING: values}}
    for settled in (
        {},
        {"ForAllValues:StringEqualsIfExists": {ATTRIBUTES: ["a", "x"]}},
        {"ForAnyValue:StringLikeIfExists": {ATTRIBUTES: ["${dynamodb:LeadingKeys}"]}},
    ):
        for policies in arrangements({**condition, **settled}):
            check(**policies)


def test_a_resource_named_by_the_leading_key() -> None:
    named = {"Resource": [THINGS.replace("things", "${dynamodb:LeadingKeys}")]}
    check([document({**statement("Allow", {}), **named})])
    check([EVERYTHING, document({**statement("Deny", {}), **named})])


def check(
    identity: list[Document],
    boundary: Document | None = None,
    session: Document | None = None,
    own: Document | None = None,
) -> None:
    def read(given: Document | None, of_resource: bool = False) -> policy.Policy | None:
        return policy.parse(json.dumps(given), "x", of_resource) if given else None

    principal = Principal(
        ANN,
        tuple(filter(None, map(read, identity))),
        read(boundary),
        tuple(filter(None, [read(session)])),
    )
    general = plan(principal, GET, THINGS, read(own, of_resource=True))
    for attributes in (("x",), ("x", "c")):
        shared = RequestContext({ATTRIBUTES: attributes})
        settled = general.settled(shared, lambda key: key != LEADING)
        for key in ("x", "xy", "ann", "o", "things"):
            keys = {LEADING: [key], ATTRIBUTES: list(attributes), "aws:username": ["ann"]}
            expected = plain.allowed(
                identity, boundary, session, own, {ANN: True, ROOT: False}, GET, THINGS, keys
            )
            context = RequestContext({**principal.keys(), LEADING: (key,), ATTRIBUTES: attributes})
            assert general.decide(context).allowed is expected
            assert settled.decide(context).allowed is expected
            if settled.by_key is not None:
                assert bool(settled.by_key(key, NOTHING)) is expected
