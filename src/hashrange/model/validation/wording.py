"""How violations become one message, and where the service departs from its own rule.

The rule: one message lists up to ten violations. Since 2026 the service moves, operation by
operation, to a newer validation that stops at the first violation it finds, names the member as
the model does and does not repeat the value. What is here is what most regions answer.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from hashrange.model.validation import transactions
from hashrange.model.validation.constraints import NOT_NULL, Violation

_VIOLATIONS_MAX = 10
_NOT_EMPTY = "Member must have length greater than or equal to 1"
_NEWER = {
    ("PutItem", "tableName", _NOT_EMPTY),
    ("UpdateItem", "tableName", _NOT_EMPTY),
    ("DeleteItem", "tableName", _NOT_EMPTY),
    ("BatchGetItem", "requestItems", _NOT_EMPTY),
    ("BatchGetItem", "keys", _NOT_EMPTY),
    ("BatchGetItem", "keys", "Member must have length less than or equal to 100"),
    ("Query", "limit", "Member must have value greater than or equal to 1"),
}
"""What is known to be validated anew: operation, member, constraint."""
_OWN_BOUNDS = "{} must be at least 3 characters long and at most 255 characters long"
_OWN_MESSAGES = {
    ("BatchWriteItem", "requestItems", _NOT_EMPTY): (
        "The requestItems parameter is required for BatchWriteItem"
    ),
    **{
        (operation, "tableName", NOT_NULL): (
            "The parameter 'TableName' is required but was not present in the request"
        )
        for operation in (
            *("CreateTable", "DescribeTable", "UpdateTable", "DeleteTable"),
            *("DescribeTimeToLive", "UpdateTimeToLive"),
        )
    },
    **{
        (operation, member, f"Member must have length {bound}"): _OWN_BOUNDS.format(called)
        for operation, member, called in (
            ("DescribeContributorInsights", "indexName", "IndexName"),
            ("UpdateContributorInsights", "indexName", "IndexName"),
            ("DescribeGlobalTable", "globalTableName", "TableName"),
            ("DescribeGlobalTableSettings", "globalTableName", "TableName"),
        )
        for bound in ("greater than or equal to 3", "less than or equal to 255")
    },
    **{
        (operation, member, "Member must have length greater than or equal to 37"): (
            "Invalid StreamArn"
        )
        for operation, member in (
            ("DescribeStream", "streamArn"),
            ("GetShardIterator", "streamArn"),
            ("ListStreams", "exclusiveStartStreamArn"),
        )
    },
}
_RETURN_VALUES = (
    "Failed to satisfy constraint: Member must satisfy enum value set: "
    "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
"""(sic) UPDATE_NEW. PutItem and DeleteItem list it with the others, UpdateItem stops there."""
_CONDITIONAL_OPERATOR = (
    "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
)
"""(sic) ALL. Query gives it bare and by itself."""


_NEWER_ENUMS = {"returnValues": _RETURN_VALUES, "conditionalOperator": _CONDITIONAL_OPERATOR}
_INVALID = "One or more parameter values were invalid: "
_NULL_IN_SET = {
    "sS": "An string set may not have a null string as a member",
    "nS": "An number set may not have a null string as a member",
    "bS": "Binary sets may not contain null values",
}
_SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
_JSON_LEVELS_MAX = 129
"""Requests for single writes whose JSON is deeper are validated as of old: that is where values
have more than some 62 levels (?)"""


def refusal(operation: str, request: dict[str, Any], violations: Iterable[Violation]) -> str | None:
    """The message for a request with these violations, None if there are none."""
    if operation in transactions.OPERATIONS:
        violations = transactions.in_order(violations)
    found = list(islice(violations, _VIOLATIONS_MAX))
    if not found:
        return None
    if transactions.is_of_name(found[0]) and transactions.lacks_action(request):
        return transactions.NO_ACTION
    if _is_validated_as_of_old(operation, request):
        return _listed(list(map(str, found)))
    others = [each for each in found if not _set_with_null(each)]
    if not others:  # for that is found as late as what else is wrong with values
        fault = _INVALID + _NULL_IN_SET[_set_with_null(found[0])]
        return _listed([fault]) if operation in _SINGLE_WRITES else fault
    found = others
    if operation == "BatchWriteItem" and len(found) > 1:
        # Unlike all others, the name of a table is told only where nothing else is wrong.
        found = [each for each in found if not each.constraint.startswith("Map keys")]
    for violation in found:
        if message := _alone(operation, violation):
            return message
    return _listed([_text(operation, violation) for violation in found])


def _set_with_null(violation: Violation) -> str:
    """The type of the set that has null as a member, if that is the violation."""
    *_, set_type, _, last = ("", "", *violation.path.split("."))
    return set_type if last == "member" and set_type in _NULL_IN_SET else ""


def _is_validated_as_of_old(operation: str, request: dict[str, Any]) -> bool:
    if operation == "UpdateItem" and "Key" not in request:
        return True
    return operation in _SINGLE_WRITES and _json_levels(request) > _JSON_LEVELS_MAX


def _json_levels(content: Any) -> int:
    levels, level = 0, [content]
    while level:
        levels += 1
        level = [part for whole in level for part in _parts(whole)]
    return levels


def _parts(content: Any) -> Iterable[Any]:
    if isinstance(content, dict):
        return content.values()
    return content if isinstance(content, list) else ()


def _alone(operation: str, violation: Violation) -> str | None:
    """The message of a violation that hides all others."""
    parent, dot, member = violation.path.rpartition(".")
    known = (operation, member, violation.constraint)
    if known in _OWN_MESSAGES:
        return _OWN_MESSAGES[known]
    if known in _NEWER:
        path = _in_model_case(parent) + dot + _in_model_case(member)
        return _listed([f"Value at '{path}' failed to satisfy constraint: {violation.constraint}"])
    if operation == "Query" and member == "conditionalOperator":
        return _CONDITIONAL_OPERATOR
    if operation == "UpdateItem" and violation.path in _NEWER_ENUMS:
        return _listed([_NEWER_ENUMS[violation.path]])
    return None


def _text(operation: str, violation: Violation) -> str:
    if operation in _SINGLE_WRITES and violation.path in _NEWER_ENUMS:
        return _NEWER_ENUMS[violation.path]
    return str(violation)


def _listed(texts: list[str]) -> str:
    errors = "error" if len(texts) == 1 else "errors"
    return f"{len(texts)} validation {errors} detected: {'; '.join(texts)}"


def _in_model_case(name: str) -> str:
    return name[:1].upper() + name[1:]
