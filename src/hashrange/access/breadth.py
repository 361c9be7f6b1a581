"""What a policy allows although its conditions seem to forbid it.

Each finding is about one Allow: an action that has no partition keys or attributes, so that a
condition on them does not hold it back. Source: developer guide, "Using IAM policy conditions for
fine-grained access control".
"""

from collections.abc import Iterator

from hashrange.access.actions import ACTIONS, SERVICE
from hashrange.access.conditions import ALL, Condition
from hashrange.access.policy import Policy, Statement

_LEADING = frozenset({"dynamodb:leadingkeys", "dynamodb:firstpartitionkeyvalues"})

_WITHOUT_KEYS = {
    "Scan": "it reads the whole table, and a Scan has no leading keys",
    "PartiQLSelect": "a SELECT without a partition key has no leading keys and reads the whole "
    "table, unless dynamodb:FullTableScan must be false",
    "GetRecords": "a stream shows the changes of all items",
    "SearchVectors": "a search has no condition keys at all",
    "ExportTableToPointInTime": "an export has all items",
    "CreateBackup": "a backup has all items, and can be restored to another table",
    "RestoreTableFromBackup": "it makes a copy of all items",
    "RestoreTableToPointInTime": "it makes a copy of all items",
    "UpdateTable": "it can add an index with another partition key",
    "DeleteTable": "it deletes all items",
}


def findings(policy: Policy) -> list[str]:
    """One line for each, with its statement; empty if there are none."""
    return [
        f"{each.place}: {finding}"
        for each in policy.statements
        if each.allows
        for finding in _of(each)
    ]


def allowed_actions(statement: Statement) -> set[str]:
    """The actions of DynamoDB that a statement names."""
    return {each for each in ACTIONS if statement.names_action(f"{SERVICE}:{each}".lower())}


def _of(statement: Statement) -> Iterator[str]:
    actions = allowed_actions(statement)
    if statement.but_actions:
        yield f"NotAction with Allow allows {len(actions)} actions, and those that are added later"
    if actions == ACTIONS and not statement.conditions:
        yield "it allows every action"
    keys = {condition.key for condition in statement.conditions}
    if _LEADING & keys:
        yield from _of_leading_keys(statement, actions, keys)
    if "dynamodb:attributes" in keys:
        yield from _of_attributes(actions, keys)
    if actions & {"TagResource", "UntagResource"} and any(
        key.startswith("aws:resourcetag/") for key in keys
    ):
        yield "TagResource beside a condition on aws:ResourceTag: who may set the tag decides"


def _of_leading_keys(statement: Statement, actions: set[str], keys: set[str]) -> Iterator[str]:
    if not any(_lets_absent_pass(each) for each in statement.conditions if each.key in _LEADING):
        return
    for action, reason in _WITHOUT_KEYS.items():
        if action not in actions:
            continue
        if action == "PartiQLSelect" and "dynamodb:fulltablescan" in keys:
            continue
        yield f"{action} in spite of the leading keys: {reason}"
    if any(_names_indexes(each.text) for each in statement.resources) or statement.but_resources:
        yield "on indexes the leading keys are those of the index, which may be other attributes"


def _lets_absent_pass(condition: Condition) -> bool:
    return condition.quantifier == ALL or condition.if_exists


def _names_indexes(resource: str) -> bool:
    return resource == "*" or "/index/" in resource or resource.endswith(("table/*", ":*"))


_READING = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "PartiQLSelect"})
_WRITING = frozenset(
    {"PutItem", "UpdateItem", "DeleteItem", "PartiQLUpdate", "PartiQLDelete", "ConditionCheckItem"}
)


def _of_attributes(actions: set[str], keys: set[str]) -> Iterator[str]:
    if actions & _READING and "dynamodb:select" not in keys:
        yield (
            "a read without a projection names no attributes and returns all; "
            "require dynamodb:Select to be SPECIFIC_ATTRIBUTES"
        )
    if actions & _WRITING and "dynamodb:returnvalues" not in keys:
        yield "ReturnValues of a write can return all attributes; restrict dynamodb:ReturnValues"
    if actions & _WRITING:
        yield (
            "ReturnValuesOnConditionCheckFailure returns all attributes of an item, "
            "and no condition key restricts it"
        )
    if "SearchVectors" in actions:
        yield "SearchVectors in spite of the attributes: a search has no condition keys at all"
