"""What a policy allows although its conditions seem to forbid it."""

from typing import Any

from access_files import TABLES, THINGS, document, statement

from hashrange.access import breadth, policy

from .things import LEADING


def findings(*statements: dict[str, Any]) -> str:
    return "\n".join(breadth.findings(policy.parse(document(*statements), "policy")))


narrow = statement("Allow", ["dynamodb:GetItem"], THINGS, Condition=LEADING)
tags = {"StringEquals": {"aws:ResourceTag/team": "a"}}


def test_an_action_that_a_condition_does_not_hold_back() -> None:
    assert findings(narrow) == ""
    for action, words in (
        ("Scan", "Scan is allowed in spite of the condition on leading keys"),
        ("PartiQL*", "PartiQLSelect is allowed in spite of"),
        ("GetRecords", "a stream shows the changes of all items"),
        ("SearchVectors", "no condition keys at all"),
        ("ExportTableToPointInTime", "an export has all items"),
        ("RestoreTable*", "a copy of all items"),
        ("UpdateTable", "add an index with another partition key"),
    ):
        told = findings(statement("Allow", f"dynamodb:{action}", THINGS, Condition=LEADING))
        assert words in told, told
    wide = findings(statement("Allow", "dynamodb:Query", f"{THINGS}*", Condition=LEADING))
    assert wide == "", "a table name with a star is no index"
    index = findings(statement("Allow", "dynamodb:Query", f"{THINGS}/index/*", Condition=LEADING))
    assert "the partition keys of the index" in index
    names = {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk"]}}
    told = findings(statement("Allow", "dynamodb:*Item", THINGS, Condition=names))
    assert "require dynamodb:Select" in told
    assert "ReturnValues of a write" in told
    assert "ReturnValuesOnConditionCheckFailure" in told
    assert "it also allows TagResource" in findings(
        statement("Allow", "dynamodb:*", Condition=tags)
    )


def test_what_other_statements_allow_and_deny() -> None:
    scan = statement("Allow", "dynamodb:Scan", THINGS)
    assert "Statement[1] allows Scan in spite of the condition on" in findings(narrow, scan)
    again = findings(narrow, statement("Allow", "dynamodb:*Item", f"{THINGS}*"))
    assert "Statement[1] allows GetItem without a condition on leading keys" in again
    for harmless in (
        statement("Allow", "dynamodb:Scan", f"{THINGS}2"),
        statement("Allow", "dynamodb:ListTables"),
    ):
        assert findings(narrow, harmless) == ""
    every = statement("Allow", ["dynamodb:GetItem", "dynamodb:Scan"], THINGS, Condition=LEADING)
    without_keys = {"Null": {"dynamodb:LeadingKeys": "true"}}
    for denial, said in (
        (statement("Deny", "dynamodb:Scan"), False),
        (statement("Deny", "dynamodb:*", THINGS, Condition=without_keys), False),
        (statement("Deny", "dynamodb:Scan", f"{THINGS}2"), True),
        (statement("Deny", "dynamodb:Query"), True),
        (statement("Deny", "dynamodb:Scan", Condition=tags), True),
    ):
        assert ("Scan is allowed in spite of" in findings(every, denial)) is said
    tagged = statement("Allow", "dynamodb:GetItem", THINGS, Condition=tags)
    tagging = statement("Allow", "dynamodb:TagResource", f"{TABLES}*")
    assert "Statement[1] allows TagResource" in findings(tagged, tagging)
    assert "TagResource" not in findings(tagged, tagging, statement("Deny", "dynamodb:*Tag*"))
