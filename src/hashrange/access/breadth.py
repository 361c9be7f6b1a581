"""Finds what a policy allows although its conditions seem to forbid it.

Each finding is about one Allow with a condition on partition keys or attributes. Either the
condition does not restrict an action, because requests for it have no such keys or attributes, or
another Allow of the policy lacks the condition. An action that a Deny forbids is not a finding.
Source: developer guide, "Using IAM policy conditions for fine-grained access control".
"""

import re
from collections.abc import Iterator, Mapping

from hashrange.access import patterns
from hashrange.access.actions import ACTIONS, SERVICE
from hashrange.access.conditions import ALL, Condition
from hashrange.access.patterns import NOTHING, Pattern
from hashrange.access.plans import needs
from hashrange.access.policy import Policy, Statement

_LEADING = frozenset({"dynamodb:leadingkeys", "dynamodb:firstpartitionkeyvalues"})

_WITHOUT_KEYS = {
    "Scan": "it reads the whole table, and a Scan has no leading keys",
    "PartiQLSelect": "a SELECT without a partition key has no leading keys and reads the whole "
    "table; to prevent it, require dynamodb:FullTableScan to be false",
    "GetRecords": "a stream shows the changes of all items",
    "SearchVectors": "a search has no condition keys at all",
    "ExportTableToPointInTime": "an export has all items",
    "CreateBackup": "a backup has all items, and can be restored to another table",
    "RestoreTableFromBackup": "it makes a copy of all items",
    "RestoreTableToPointInTime": "it makes a copy of all items",
    "UpdateTable": "it can add an index with another partition key",
    "DeleteTable": "it deletes all items",
}


_ATTRIBUTES = frozenset({"dynamodb:attributes"})


def findings(policy: Policy) -> list[str]:
    """One line for each finding. It begins with the place of the statement."""
    allows = [each for each in policy.statements if each.allows]
    denials = [each for each in policy.statements if not each.allows]
    return [
        f"{each.place}: {finding}"
        for each in allows
        for finding in _Allow(each, allows, denials).findings()
    ]


def allowed_actions(statement: Statement) -> set[str]:
    """DynamoDB's actions that match the actions of a statement."""
    return {each for each in ACTIONS if statement.names_action(f"{SERVICE}:{each}".lower())}


class _Allow:
    """An Allow, and the other statements of its policy."""

    def __init__(
        self, statement: Statement, allows: list[Statement], denials: list[Statement]
    ) -> None:
        self._statement = statement
        self._denials = denials
        self._keys = _keys(statement)
        self._others = [
            each for each in allows if each is not statement and _overlap(statement, each)
        ]

    def findings(self) -> Iterator[str]:
        statement, actions = self._statement, self._left(self._statement)
        if statement.but_actions:
            count = len(actions)
            yield f"NotAction with Allow allows {count} actions, and all that AWS adds later"
        if actions == ACTIONS and not statement.conditions:
            yield "it allows every action"
        if _LEADING & self._keys:
            yield from _of_leading_keys(statement, actions, self._keys)
            yield from self._in_spite_of(_LEADING, "leading keys", _WITHOUT_KEYS)
        if _ATTRIBUTES & self._keys:
            yield from _of_attributes(actions, self._keys)
            yield from self._in_spite_of(_ATTRIBUTES, "attributes", {})
        if any(key.startswith("aws:resourcetag/") for key in self._keys):
            yield from self._of_tags(actions)

    def _left(self, statement: Statement) -> set[str]:
        """The actions that a statement allows and that no Deny forbids."""
        return {
            action
            for action in allowed_actions(statement)
            if not any(_takes_back(each, action, statement) for each in self._denials)
        }

    def _in_spite_of(
        self, keys: frozenset[str], what: str, more: Mapping[str, str]
    ) -> Iterator[str]:
        """Lines for actions that other statements allow without a condition on `keys`.

        Only statements about the same tables matter. The lines call the keys `what`. Each action in
        `more` gets a line of its own, with a reason.
        """
        for other in self._others:
            if keys & _keys(other):
                continue
            left = self._left(other)
            for action in sorted(left & more.keys()):
                reason = more[action]
                yield f"{other.place} allows {action} in spite of the condition on {what}: {reason}"
            same = sorted(left & allowed_actions(self._statement) - more.keys())
            if same:
                yield f"{other.place} allows {', '.join(same)} without a condition on {what}"

    def _of_tags(self, actions: set[str]) -> Iterator[str]:
        if actions & _TAGGING:
            yield f"it also allows {_CHANGES_OF_TAGS}"
        for other in self._others:
            if self._left(other) & _TAGGING and not _keys(other) & {"aws:tagkeys"}:
                yield f"{other.place} allows {_CHANGES_OF_TAGS}"


_TAGGING = frozenset({"TagResource", "UntagResource"})
_CHANGES_OF_TAGS = (
    "TagResource or UntagResource, so the caller can change the very tag that the condition on "
    "aws:ResourceTag tests"
)


def _keys(statement: Statement) -> set[str]:
    return {condition.key for condition in statement.conditions}


def _overlap(one: Statement, other: Statement) -> bool:
    """Whether two statements may be about the same table.

    This is assumed if one of them has a NotResource.
    """
    if one.but_resources or other.but_resources:
        return True
    return any(
        _covers(a, b) or _covers(b, a)
        for first in one.resources
        for second in other.resources
        for a, b in [(_table_of(first), _table_of(second))]
    )


def _table_of(pattern: Pattern) -> Pattern:
    table = re.sub(r"(:table/[^/]+)/.*", r"\1", pattern.text)
    return patterns.parse(table, arn=pattern.arn)


def _covers(pattern: Pattern, other: Pattern) -> bool:
    """Whether the pattern matches everything that the other matches, judged by their texts."""
    return pattern.text == other.text or pattern.matches(other.text, NOTHING) is True


def _takes_back(denial: Statement, action: str, statement: Statement) -> bool:
    """Whether a Deny forbids an action that a statement allows.

    It must forbid the action in every request. If the Deny depends only on leading keys, it is
    enough if it forbids the action in requests that have no leading keys.
    """
    if not denial.names_action(f"{SERVICE}:{action}".lower()) or denial.but_resources:
        return False
    if statement.but_resources or not all(
        any(_covers(each, resource) for each in denial.resources)
        for resource in statement.resources
    ):
        return False
    if not denial.conditions:
        return True
    asked = _keys(denial) <= _LEADING | {"dynamodb:fulltablescan"} and action in _WITHOUT_KEYS
    return asked and all(each.holds(_WholeTable()) for each in needs(denial))


class _WholeTable:
    """The context of a request that reads a whole table."""

    def values(self, key: str, /) -> tuple[str, ...]:
        return ("true",) if key == "dynamodb:fulltablescan" else ()


def _of_leading_keys(statement: Statement, actions: set[str], keys: set[str]) -> Iterator[str]:
    if not any(_lets_absent_pass(each) for each in statement.conditions if each.key in _LEADING):
        return
    for action, reason in _WITHOUT_KEYS.items():
        if action not in actions:
            continue
        if action == "PartiQLSelect" and "dynamodb:fulltablescan" in keys:
            continue
        yield f"{action} is allowed in spite of the condition on leading keys: {reason}"
    if any(_names_indexes(each.text) for each in statement.resources) or statement.but_resources:
        yield "on an index, the leading keys are the partition keys of the index, not of the table"


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
            "a read without a projection names no attributes, and returns all of them; "
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
        yield (
            "SearchVectors is allowed in spite of the condition on attributes: "
            "a search has no condition keys at all"
        )
