"""Turns violations into one message, as the service does.

In legacy validation, the older of the service's two layers, one message lists up to ten violations,
with some exceptions. The newer layer (see `layers`) checks the members in stages, and reports all
violations of a stage together. If it checks the length or size of a member, it spells the member's
name as the model does. It leaves the check of some enums to the operations.
"""

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any

from hashrange.model.errors import ValidationException
from hashrange.model.validation import layers, transactions
from hashrange.model.validation.constraints import NOT_NULL, Violation
from hashrange.model.validation.layers import SINGLE_WRITES

_VIOLATIONS_MAX = 10
_NOT_EMPTY = "Member must have length greater than or equal to 1"
_FIRST_STAGE = ("limit", "segment", "totalSegments", "tableName")
"""The members that the newer layer checks first: limits, and the length of the table's name."""
_SECOND_STAGE = {
    "PutItem": "tableName item returnConsumedCapacity returnValues returnItemCollectionMetrics",
    "DeleteItem": "tableName key returnConsumedCapacity returnValues returnItemCollectionMetrics",
    "GetItem": "key tableName returnConsumedCapacity",
    "Query": "tableName returnConsumedCapacity",
    "Scan": "tableName returnConsumedCapacity",
    "UpdateItem": "",
}
"""The order in which the newer layer reports other members of each operation. Members that are not
named here are reported last."""
_STATEMENTS = {
    "ExecuteStatement": (
        *("returnValuesOnConditionCheckFailure", "limit", "statement", "returnConsumedCapacity"),
        "parameters",
    ),
    "BatchExecuteStatement": ("returnConsumedCapacity", "statements"),
    "ExecuteTransaction": ("clientRequestToken", "transactStatements", "returnConsumedCapacity"),
}
_STATEMENT = ("returnValuesOnConditionCheckFailure", "statement", "parameters")
"""The order in which violations in members of one statement are reported."""
_UPDATE_ENUMS = {
    "returnValues": True,
    "returnValuesOnConditionCheckFailure": False,
    "returnItemCollectionMetrics": True,
    "returnConsumedCapacity": False,
}
"""The members that UpdateItem checks in this order, up to the first violation. If True, the message
begins with "1 validation error detected". If False, the message is the violation alone."""
_CHECKED_LATER = {"select", "conditionalOperator", "comparisonOperator", "action"}
"""The members with enums that the newer layer leaves to later checks by the operations."""
_BATCH_GET = {
    ("requestItems", _NOT_EMPTY),
    ("keys", _NOT_EMPTY),
    ("keys", "Member must have length less than or equal to 100"),
}
_OWN_BOUNDS = "{} must be at least 3 characters long and at most 255 characters long"
_OWN_MESSAGES = {
    ("BatchWriteItem", "requestItems", _NOT_EMPTY): (
        "The requestItems parameter is required for BatchWriteItem"
    ),
    ("ExportTableToPointInTime", "tableArn", _NOT_EMPTY): "Invalid TableArn: Invalid Table ARN",
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
            ("RestoreTableFromBackup", "targetTableName", "TableName"),
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
"""The service's message for `returnValues`. It says UPDATE_NEW (sic)."""
NO_RETURN_VALUES = "ReturnValues can only be ALL_OLD or NONE"
_INVALID = "One or more parameter values were invalid: "
_NULL_IN_SET = {
    "sS": "An string set may not have a null string as a member",
    "nS": "An number set may not have a null string as a member",
    "bS": "Binary sets may not contain null values",
}


def refusal(
    operation: str, request: dict[str, Any], violations: Iterable[Violation], legacy: bool
) -> str | None:
    """The message for a request with these violations; None if there are none.

    `legacy` tells whether legacy validation reads the request.
    """
    if operation in transactions.OPERATIONS:
        violations = transactions.in_order(violations)
    if not legacy:
        violations = (each for each in violations if not _is_checked_later(each))
    if operation in _STATEMENTS:
        violations = sorted(violations, key=partial(_place_of_statements, operation))
    listed = list(islice(violations, _VIOLATIONS_MAX))
    if not listed:
        return None
    if transactions.is_of_name(listed[0]) and transactions.lacks_action(request):
        return transactions.NO_ACTION
    others = [each for each in listed if not _set_with_null(each)]
    if not others:  # only nulls in sets: they are reported as faults of values
        fault = _INVALID + _NULL_IN_SET[_set_with_null(listed[0])]
        return fault if legacy else of_value(operation, fault)
    if legacy:
        return _told_by_legacy(operation, others)
    if operation == "BatchGetItem":
        return _told_of_batch(others)
    if operation == "UpdateItem":
        return _told_of_update(others)
    return _told_in_stages(operation, request, others)


def of_first_stage(operation: str, violations: Iterable[Violation]) -> str | None:
    """The message for violations of the sizes and limits that the newer layer checks first, or
    None."""
    if operation not in _SECOND_STAGE:
        return None
    first = [each for each in violations if _is_first(each)]
    first.sort(key=lambda each: _FIRST_STAGE.index(each.path))
    return _listed(list(map(_without_value, first))) if first else None


def of_value(operation: str, fault: str) -> str:
    """The message of the newer layer for a fault of a value or a name."""
    return _listed([fault]) if operation in SINGLE_WRITES else fault


def check_return_values(operation: str, request: dict[str, Any]) -> None:
    """Raise ValidationException for ReturnValues that DeleteItem does not accept."""
    if _wants_too_much(operation, request):
        raise ValidationException(NO_RETURN_VALUES)


def _wants_too_much(operation: str, request: dict[str, Any]) -> bool:
    wanted = request.get("ReturnValues")
    return operation == "DeleteItem" and wanted in ("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")


def _is_checked_later(violation: Violation) -> bool:
    member = violation.path.rpartition(".")[2]
    return member in _CHECKED_LATER and violation.constraint != NOT_NULL


def _set_with_null(violation: Violation) -> str:
    """The type of the set if the violation is a null member of a set, otherwise an empty text."""
    *_, set_type, _, last = ("", "", *violation.path.split("."))
    return set_type if last == "member" and set_type in _NULL_IN_SET else ""


# ---- legacy validation ----


def _told_by_legacy(operation: str, violations: list[Violation]) -> str:
    if operation in layers.WITH_VALUES and len(violations) > 1:
        # A fault of the table's name is reported only if nothing else is wrong.
        violations = [each for each in violations if not _is_fault_of_name(each)] or violations
    for violation in violations:
        known = (operation, violation.path.rpartition(".")[2], violation.constraint)
        if known in _OWN_MESSAGES:
            return _OWN_MESSAGES[known]
    return _listed(list(map(str, violations)))


def _is_fault_of_name(violation: Violation) -> bool:
    if violation.constraint.startswith("Map keys"):
        return True
    is_name = violation.path.rpartition(".")[2] == "tableName"
    return is_name and violation.constraint not in (NOT_NULL, _NOT_EMPTY)


def _place_of_statements(operation: str, violation: Violation) -> tuple[int, ...]:
    """The place of a violation in the order in which a PartiQL request reports its violations."""
    member, *of_list = violation.path.split(".")
    order = _STATEMENTS[operation]
    place = order.index(member) if member in order else len(order)
    if len(of_list) < 3:  # not a member of a statement, such as statements.1.member.statement
        return (place,)
    number, _, inner, *_ = of_list
    return place, int(number), _STATEMENT.index(inner) if inner in _STATEMENT else len(_STATEMENT)


# ---- the newer layer ----


def _told_of_batch(violations: list[Violation]) -> str:
    for violation in violations:
        if (violation.path.rpartition(".")[2], violation.constraint) in _BATCH_GET:
            return _listed([_without_value(violation)])
    return _listed(list(map(str, violations)))


def _told_of_update(violations: list[Violation]) -> str:
    names = [each for each in violations if each.path == "tableName"]
    if names:
        return _listed([_without_value(each) if _is_first(each) else str(each) for each in names])
    for path, enveloped in _UPDATE_ENUMS.items():
        for violation in violations:
            if violation.path == path:
                return _listed([_text(violation)]) if enveloped else _text(violation)
    return _listed(list(map(str, violations)))


def _told_in_stages(operation: str, request: dict[str, Any], violations: list[Violation]) -> str:
    first = of_first_stage(operation, violations)
    if first is not None:
        return first
    order = _SECOND_STAGE[operation].split()
    violations.sort(key=lambda each: order.index(each.path) if each.path in order else len(order))
    texts = [_text(each) for each in _with_one_fault_of_name(violations)]
    if "Key" in request and _wants_too_much(operation, request):
        texts.append(NO_RETURN_VALUES)
    return _listed(texts)


def _is_first(violation: Violation) -> bool:
    if violation.path == "tableName":
        return violation.constraint == _NOT_EMPTY
    return violation.path in _FIRST_STAGE


def _with_one_fault_of_name(violations: list[Violation]) -> list[Violation]:
    """The violations, with at most one of TableName: of several, the violation of its length."""
    names = [each for each in violations if each.path == "tableName"]
    if len(names) < 2:
        return violations
    told = next((each for each in names if "length" in each.constraint), names[0])
    return [each for each in violations if each.path != "tableName" or each is told]


def _without_value(violation: Violation) -> str:
    parent, dot, member = violation.path.rpartition(".")
    path = _in_model_case(parent) + dot + _in_model_case(member)
    return f"Value at '{path}' failed to satisfy constraint: {violation.constraint}"


def _text(violation: Violation) -> str:
    return _RETURN_VALUES if violation.path == "returnValues" else str(violation)


def _listed(texts: list[str]) -> str:
    errors = "error" if len(texts) == 1 else "errors"
    return f"{len(texts)} validation {errors} detected: {'; '.join(texts)}"


def _in_model_case(name: str) -> str:
    return name[:1].upper() + name[1:]
