"""The rules of IAM, case by case: statements, patterns, operators, boundaries and sessions."""

import pickle
from typing import Any

import pytest
from access_files import ACCOUNT, THINGS, USER, document, statement

from hashrange.access import policy
from hashrange.access.evaluation import RequestContext, evaluate
from hashrange.access.policy import PolicyError
from hashrange.access.principals import Principal

GET = "dynamodb:GetItem"


def decided(
    *statements: dict[str, Any],
    keys: dict[str, Any] | None = None,
    action: str = GET,
    resource: str = THINGS,
    version: str = "2012-10-17",
    **more: Any,
) -> bool:
    """Whether a user with these statements may do it; `keys` are those of the request."""
    own = policy.parse(document(*statements, version=version), "own")
    principal = Principal(f"{USER}ann", (own,), tags={"team": "blue*"}, **more)
    values = {
        key.lower(): (value,) if isinstance(value, str) else tuple(value)
        for key, value in (keys or {}).items()
    }
    context = RequestContext(principal.keys(), lambda: values)
    return evaluate(principal, action, resource, context).allowed


def allow(**more: Any) -> dict[str, Any]:
    return statement("Allow", "dynamodb:*", **more)


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*", True),
        (THINGS, True),
        (f"{THINGS}2", False),
        (THINGS.upper(), False),
        (THINGS.replace("things", "thing?"), True),
        (THINGS.replace("things", "th*"), True),
        (THINGS.replace("us-east-1", "us-*-1"), True),
        (THINGS.replace("us-east-1", "*"), True),
        (f"arn:aws:dynamodb:*:{ACCOUNT}:table/things", True),
        # A star within a segment stays there; at its end it goes beyond the colon.
        ("arn:aws:dynamodb:*1:table/things", False),
        ("arn:aws:dynamodb:us*2:table/things", False),
        ("arn:aws:dynamodb:*:table/things", True),
        ("arn:aws:dynamodb:*", True),
        ("arn:aws:dynamodb:us?east?1?123456789012:table/things", False),
        (f"{THINGS}/index/*", False),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/${aws:username}", False),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/${aws:absent, 'things'}", True),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/${aws:absent}", False),
    ],
)
def test_resources(pattern: str, matches: bool) -> None:
    assert decided(statement("Allow", GET, pattern)) is matches
    denied = statement("Deny", GET, pattern)
    # A Deny whose variable has no value applies.
    assert decided(allow(), denied) is not (matches or pattern.endswith("absent}"))
    other = {"Effect": "Allow", "Action": GET, "NotResource": pattern}
    if not pattern.endswith("absent}"):
        assert decided(other) is not matches


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*", True),
        ("dynamodb:*", True),
        ("dynamodb:GetItem", True),
        ("DynamoDB:getITEM", True),
        ("dynamodb:Get*", True),
        ("dynamodb:?etItem", True),
        ("dynamodb:Put*", False),
        ("s3:GetObject", False),
        ("s3:*", False),
    ],
)
def test_actions(pattern: str, matches: bool) -> None:
    assert decided(statement("Allow", ["dynamodb:Query", pattern])) is matches
    assert decided({"Effect": "Allow", "NotAction": pattern, "Resource": "*"}) is not matches


A, B = {"dynamodb:Select": "a"}, {"dynamodb:Select": "b"}
NONE: dict[str, Any] = {}
CASES: list[tuple[str, Any, dict[str, Any], bool]] = [
    ("StringEquals", "a", A, True),
    ("StringEquals", ["x", "a"], A, True),
    ("StringEquals", "A", A, False),
    ("StringEquals", "*", A, False),
    ("StringEquals", "a", NONE, False),
    ("StringEqualsIfExists", "a", NONE, True),
    ("StringEqualsIfExists", "a", B, False),
    ("StringNotEquals", "a", A, False),
    ("StringNotEquals", ["x", "a"], A, False),
    ("StringNotEquals", "a", B, True),
    ("StringNotEquals", "a", NONE, True),
    ("StringEqualsIgnoreCase", "A", A, True),
    ("StringNotEqualsIgnoreCase", "A", A, False),
    ("StringLike", "?", A, True),
    ("StringLike", "b*", A, False),
    ("StringNotLike", "*", A, False),
    ("StringNotLike", "b*", A, True),
    ("Null", "true", A, False),
    ("Null", "true", NONE, True),
    ("Null", "false", A, True),
    ("Null", False, NONE, False),
    ("NumericEquals", "5", {"dynamodb:Select": "5.0"}, True),
    ("NumericNotEquals", 5, {"dynamodb:Select": "5"}, False),
    ("NumericLessThan", "5", {"dynamodb:Select": "4.9"}, True),
    ("NumericLessThan", "5", {"dynamodb:Select": "5"}, False),
    ("NumericLessThanEquals", "5", {"dynamodb:Select": "5"}, True),
    ("NumericGreaterThan", "5", {"dynamodb:Select": "5"}, False),
    ("NumericGreaterThanEquals", "5", {"dynamodb:Select": "five"}, False),
    ("DateLessThan", "2026-01-01T00:00:00Z", {"dynamodb:Select": "2025-12-31T23:59:59Z"}, True),
    ("DateGreaterThan", "1767225600", {"dynamodb:Select": "2026-01-01T00:00:01Z"}, True),
    ("DateEquals", "2026-01-01", {"dynamodb:Select": "2026-01-01T00:00:00Z"}, True),
    ("Bool", "true", {"dynamodb:Select": "TRUE"}, True),
    ("Bool", "false", {"dynamodb:Select": "true"}, False),
    ("Bool", "false", NONE, False),
    ("BinaryEquals", "YQ==", {"dynamodb:Select": "YQ=="}, True),
    ("IpAddress", "10.0.0.0/8", {"dynamodb:Select": "10.9.8.7"}, True),
    ("IpAddress", "10.0.0.0/8", {"dynamodb:Select": "11.0.0.1"}, False),
    ("IpAddress", "::1", {"dynamodb:Select": "::1"}, True),
    ("NotIpAddress", "10.0.0.0/8", {"dynamodb:Select": "11.0.0.1"}, True),
    ("ArnEquals", "arn:aws:iam::*:user/*", {"dynamodb:Select": f"{USER}ann"}, True),
    ("ArnLike", "arn:aws:iam::1*:user/ann", {"dynamodb:Select": f"{USER}ann"}, True),
    ("ArnLike", "arn:aws:s3:::*", {"dynamodb:Select": f"{USER}ann"}, False),
    ("ArnNotEquals", f"{USER}*", {"dynamodb:Select": f"{USER}ann"}, False),
    ("ArnNotLike", "arn:aws:s3:::*", {"dynamodb:Select": f"{USER}ann"}, True),
]


@pytest.mark.parametrize(("operator", "values", "keys", "holds"), CASES)
def test_operators(operator: str, values: Any, keys: dict[str, Any], holds: bool) -> None:
    condition = {operator: {"dynamodb:Select": values}}
    assert decided(allow(Condition=condition), keys=keys) is holds
    denied = statement("Deny", "*", Condition=condition)
    assert decided(allow(), denied, keys=keys) is not holds


LEADING = "dynamodb:LeadingKeys"
SETS: list[tuple[str, list[str], bool]] = [
    ("ForAllValues:StringEquals", ["a", "b"], True),
    ("ForAllValues:StringEquals", ["a", "c"], False),
    ("ForAllValues:StringEquals", [], True),
    ("ForAnyValue:StringEquals", ["c", "a"], True),
    ("ForAnyValue:StringEquals", ["c"], False),
    ("ForAnyValue:StringEquals", [], False),
    ("ForAllValues:StringNotEquals", ["c", "d"], True),
    ("ForAllValues:StringNotEquals", ["c", "a"], False),
    ("ForAllValues:StringNotEquals", [], True),
    ("ForAnyValue:StringNotEquals", ["a", "c"], True),
    ("ForAnyValue:StringNotEquals", ["a", "b"], False),
    ("ForAnyValue:StringNotEquals", [], False),
    ("ForAllValues:StringEqualsIfExists", [], True),
    ("ForAnyValue:StringEqualsIfExists", [], True),
    # Without a set operator a set never equals a value, not even a set of one.
    ("StringEquals", ["a"], False),
    ("StringEquals", ["a", "b"], False),
    ("StringNotEquals", ["c"], True),
    ("StringNotEquals", ["c", "a"], False),
]


@pytest.mark.parametrize(("operator", "values", "holds"), SETS)
def test_sets_of_values(operator: str, values: list[str], holds: bool) -> None:
    condition = {operator: {"DynamoDB:leadingkeys": ["a", "b"]}}
    assert decided(allow(Condition=condition), keys={LEADING: values}) is holds


def test_all_conditions_of_a_statement_must_hold() -> None:
    both = {"StringEquals": {"dynamodb:Select": "a"}, "Bool": {"dynamodb:FullTableScan": "false"}}
    keys = {"dynamodb:Select": "a", "dynamodb:FullTableScan": "false"}
    assert decided(allow(Condition=both), keys=keys)
    assert not decided(allow(Condition=both), keys={**keys, "dynamodb:Select": "b"})
    assert not decided(allow(Condition=both), keys={**keys, "dynamodb:FullTableScan": "true"})


def test_variables() -> None:
    def like(text: str, key: str, **more: Any) -> bool:
        condition = {"ForAllValues:StringLike": {LEADING: [text]}}
        return decided(allow(Condition=condition), keys={LEADING: [key]}, **more)

    assert like("${aws:username}", "ann")
    assert like("${AWS:UserName}-*", "ann-1")
    assert like("${aws:PrincipalTag/Team}", "blue*")
    assert not like("${aws:PrincipalTag/team}", "blues"), "the value of a tag is no wildcard"
    assert like("${aws:PrincipalTag/absent, 'x'}", "x")
    assert not like("${aws:PrincipalTag/absent}", "x")
    several = statement("Allow", GET, "arn:aws:dynamodb:*:*:table/${dynamodb:Attributes, 'things'}")
    assert decided(several)
    assert not decided(several, keys={"dynamodb:Attributes": ["a", "b"]}), "it has no one value"
    assert like("${*}${?}${$}", "*?$")
    assert not like("${*}", "x")
    assert like("${aws:username}", "${aws:username}", version="2008-10-17")
    assert not like("${aws:username}", "ann", version="2008-10-17")
    null = {"Null": {"dynamodb:Select": "${aws:PrincipalTag/absent}"}}
    assert not decided(allow(Condition=null))
    assert not decided(allow(), statement("Deny", "*", Condition=null))
    # A missing variable: an Allow does not apply, and a Deny does, negated or not.
    for operator in ("StringEquals", "StringNotEquals"):
        condition = {operator: {"dynamodb:Select": "${aws:PrincipalTag/absent}"}}
        keys = {"dynamodb:Select": "a"}
        assert not decided(allow(Condition=condition), keys=keys)
        assert not decided(allow(), statement("Deny", "*", Condition=condition), keys=keys)
    for quantifier in ("ForAnyValue", "ForAllValues"):
        condition = {f"{quantifier}:StringEquals": {LEADING: "${aws:PrincipalTag/absent}"}}
        assert not decided(allow(Condition=condition), keys={LEADING: ["a", "b"]})
        denial = statement("Deny", "*", Condition=condition)
        assert not decided(allow(), denial, keys={LEADING: ["a", "b"]})


def test_deny_boundary_and_session() -> None:
    everything = policy.parse(document(allow()), "everything")
    reading = policy.parse(document(statement("Allow", GET)), "reading")
    nothing = policy.parse(document(statement("Deny", GET)), "nothing")
    assert decided(allow())
    assert not decided(statement("Allow", "dynamodb:PutItem"))
    assert not decided(allow(), statement("Deny", GET))
    assert decided(allow(), boundary=everything, session=(everything,))
    assert decided(allow(), boundary=reading)
    assert not decided(allow(), boundary=reading, action="dynamodb:PutItem")
    assert not decided(allow(), session=(reading,), action="dynamodb:PutItem")
    assert not decided(statement("Allow", "dynamodb:PutItem"), boundary=everything)
    assert not decided(allow(), boundary=nothing)
    both = policy.parse(document(allow(), statement("Deny", GET)), "both")
    assert not decided(allow(), boundary=both)
    assert not decided(allow(), session=(both,))
    assert not decided(allow(), session=(nothing,))


def test_statements_about_one_leading_key() -> None:
    """They are tested together, where that can be."""

    def condition(operator: str, value: str) -> dict[str, Any]:
        return {"Condition": {f"ForAllValues:{operator}": {LEADING: value}}}

    likes = [allow(**condition("StringLike", f"{each}#*")) for each in ("a", "b")]
    for more in ([], [allow(**condition("StringEquals", "c"))]):
        for keys, expected in ((["a#1"], True), (["b#1"], True), (["a#1", "b#1"], False)):
            assert decided(*likes, *more, keys={LEADING: keys}) is expected
        assert decided(*likes, *more, keys={LEADING: ["c"]}) is bool(more)
        assert not decided(*likes, *more, keys={LEADING: ["d"]})
        assert decided(*likes, *more), "an absent key"
    everywhere = statement("Allow", GET)
    assert decided(*likes, everywhere, keys={LEADING: ["d"]})
    others = [allow(**condition("StringNotLike", f"{each}#*")) for each in ("a", "b")]
    assert decided(*others, keys={LEADING: ["d"]})
    assert decided(*others, keys={LEADING: ["a#1"]})
    assert not decided(others[0], keys={LEADING: ["a#1"]})
    denials = [statement("Deny", GET, **condition("StringLike", f"{each}?")) for each in "ab"]
    for key, expected in (("a1", False), ("b1", False), ("a12", True), ("c1", True)):
        assert decided(everywhere, *denials, keys={LEADING: [key]}) is expected


def test_a_principal_is_the_same_in_another_process() -> None:
    """Where large requests are evaluated."""
    one = policy.parse(document(allow()), "one")
    given: dict[str, Any] = {
        "boundary": one,
        "session": (one,),
        "tags": {"a": "b"},
        "expires_at": 1.0,
    }
    for full_access in (False, True):
        principal = Principal(f"{USER}ann", (one,), **given, full_access=full_access)
        copy = pickle.loads(pickle.dumps(principal))
        for name in ("arn", "tags", "expires_at", "full_access"):
            assert getattr(copy, name) == getattr(principal, name)
        for policies in (copy.policies, [copy.boundary], copy.session):
            assert [each.text for each in policies] == [one.text]


FAULTS: list[tuple[Any, str]] = [
    ("[]", "it is not an object with a Statement"),
    ("{", "line 1: it is not JSON"),
    ('{"Statement": %s}' % ("1" * 5000), "it has a number with too many digits"),
    ('{"Id": "\\ud800", "Statement": []}', "half of a character"),
    ('{"Id": 1, "Statement": []}', "Id: must be a string"),
    ('{"Statement": [], "Statement": []}', "an object has the same member twice"),
    ('{"Version": "2020-01-01", "Statement": []}', "Version: '2020-01-01' is neither"),
    ('{"Statements": []}', "the policy: unknown member 'Statements'"),
    ('{"Statement": []}', "Statement: must be an object or a list of objects"),
    ({"Effect": "allow"}, "Statement[0].Effect: must be Allow or Deny"),
    ({"Action": "GetItem"}, "Statement[0].Action: 'GetItem' is not an action"),
    ({"Action": "dynamodb:GetItems"}, "there is no action 'dynamodb:GetItems'"),
    ({"Action": "dynamodb:Gett*"}, "there is no action 'dynamodb:Gett*'"),
    ({"Action": []}, "Statement[0].Action: must be a string or a list of strings"),
    ({"NotAction": GET}, "must have either Action or NotAction"),
    ({"Resource": None}, "Statement[0].Resource: must be a string"),
    ({"Resource": "things"}, "'things' is not an ARN"),
    ({"Resource": "arn:aws:dynamodb:*:*:table/${nothing}"}, "${nothing} is not a policy variable"),
    ({"Principal": "*"}, "an identity-based policy cannot have one"),
    ({"Condition": []}, "Statement[0].Condition: must be an object"),
    ({"Condition": {"StringIs": {}}}, "there is no condition operator 'StringIs'"),
    ({"Condition": {"ForSome:StringLike": {}}}, "there is no condition operator"),
    ({"Condition": {"NullIfExists": {}}}, "Null cannot be combined with IfExists"),
    ({"Condition": {"StringLike": []}}, "must be an object of condition keys"),
    ({"Condition": {"StringLike": {"dynamodb:LeadingKey": "a"}}}, "there is no condition key"),
    ({"Condition": {"StringLike": {"aws:UserNames": "a"}}}, "there is no condition key"),
    ({"Condition": {"StringLike": {"aws:PrincipalTag/": "a"}}}, "there is no condition key"),
    ({"Condition": {"StringLike": {"LeadingKeys": "a"}}}, "is not a condition key"),
    ({"Condition": {"Bool": {"aws:SecureTransport": "yes"}}}, "is neither true nor false"),
    ({"Condition": {"NumericEquals": {"aws:EpochTime": "x"}}}, "is not a number"),
    ({"Condition": {"DateEquals": {"aws:CurrentTime": "soon"}}}, "is not a date"),
    ({"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/99"}}}, "is not an address"),
    ({"Condition": {"ArnLike": {"aws:PrincipalArn": "ann"}}}, "is not an ARN"),
    ({"Condition": {"BinaryEquals": {"aws:Userid": "?"}}}, "is not base64"),
    ({"Condition": {"StringLike": {"aws:Userid": {}}}}, "a value must be a string"),
]


@pytest.mark.parametrize(("given", "message"), FAULTS)
def test_a_faulty_policy_is_refused_with_its_place(given: Any, message: str) -> None:
    if not isinstance(given, str):
        given = document({**statement("Allow", GET), **given})
    with pytest.raises(PolicyError) as refused:
        policy.parse(given, "x")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_hostile_patterns_end() -> None:
    """If each star tried each place, this would take years."""
    hostile = "*a" * 5000 + "b"
    condition = {"ForAllValues:StringLike": {LEADING: [hostile]}}
    assert not decided(allow(Condition=condition), keys={LEADING: ["a" * 2048]})
    arn = THINGS.replace("things", "*a" * 120 + "b")
    assert not decided(statement("Allow", GET, arn), resource=THINGS.replace("things", "a" * 255))
    # Stars that go beyond colons, and a text of colons: a client chooses what an iterator names.
    for pattern in ("arn:*:*:*:*:x", "*:*:*:*:*:*x*:y", "*:a*:b*:c*:d*:e"):
        for text in (":" * 2000, ":a:b:c:d" * 250, "a:" * 1000):
            assert not decided(statement("Allow", GET, pattern), resource=text)
