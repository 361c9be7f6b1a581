"""The legacy parameters: conditions, updates and projections that are not expressions.

They are turned into bound trees and changes, with their own rules and messages. All functions raise
ValidationException and make values canonical in place. Source: developer guide,
"LegacyConditionalParameters". The messages were observed on the service.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hashrange.expressions.conditions import Condition
from hashrange.expressions.key_conditions import LEGACY_COUNT, KeyCondition, KeyTest
from hashrange.expressions.operators import TYPES
from hashrange.expressions.projections import Projection
from hashrange.expressions.tree import Node, Operation, Path, Value
from hashrange.expressions.updates import Change, Update, add, delete
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.values import EMPTY_NAME, AttributeValue, compare, normalize

_INVALID = "One or more parameter values were invalid: "
_SCALARS = frozenset("SNB")
_ADDED = frozenset(("N", "SS", "NS", "BS", "L"))
_DELETED = frozenset(("SS", "NS", "BS"))


class Comparison(NamedTuple):
    """A ComparisonOperator: the number of its values (None: one or more), their types, and the
    corresponding operator of expressions."""

    values: int | None
    types: frozenset[str]
    operator: str


_COMPARISONS = {
    "EQ": Comparison(1, TYPES, "="),
    "NE": Comparison(1, TYPES, "<>"),
    "LT": Comparison(1, _SCALARS, "<"),
    "LE": Comparison(1, _SCALARS, "<="),
    "GT": Comparison(1, _SCALARS, ">"),
    "GE": Comparison(1, _SCALARS, ">="),
    "BETWEEN": Comparison(2, _SCALARS, "BETWEEN"),
    "IN": Comparison(None, _SCALARS, "IN"),
    "BEGINS_WITH": Comparison(1, frozenset("SB"), "begins_with"),
    "CONTAINS": Comparison(1, _SCALARS | {"BOOL", "NULL"}, "contains"),
    "NOT_CONTAINS": Comparison(1, _SCALARS | {"BOOL", "NULL"}, "contains"),
    "NULL": Comparison(0, frozenset(), "attribute_not_exists"),
    "NOT_NULL": Comparison(0, frozenset(), "attribute_exists"),
}


def condition(
    expected: Mapping[str, requests.ExpectedAttributeValue] | None, operator: str | None
) -> Condition | None:
    """The tests in Expected, joined by ConditionalOperator. None if Expected is empty."""
    if expected and "" in expected:
        raise ValidationException(EMPTY_NAME)
    tests = [_expectation(name, value) for name, value in (expected or {}).items()]
    _check_operator(operator, len(tests))
    return _joined(tests, operator)


def filter(
    conditions: Mapping[str, requests.Condition] | None, operator: str | None
) -> Condition | None:
    """The tests in QueryFilter or ScanFilter, joined by ConditionalOperator. None if there are no
    tests."""
    if conditions is None and operator is None:
        return None
    _check_operator(operator, len(conditions or {}))
    tests = []
    for name, condition in (conditions or {}).items():
        values = condition.attribute_value_list or []
        _check_values(condition.comparison_operator, values)
        tests.append(_test(name, condition.comparison_operator, values))
    return _joined(tests, operator)


def key_conditions(conditions: Mapping[str, requests.Condition]) -> KeyCondition:
    """The key condition in KeyConditions."""
    tests = []
    for name, condition in conditions.items():
        values = condition.attribute_value_list or []
        _check_values(condition.comparison_operator, values)
        operator = _COMPARISONS[condition.comparison_operator].operator
        tests.append(KeyTest(name, operator, tuple(map(Value, values))))
    if not tests:
        raise ValidationException(LEGACY_COUNT)
    return KeyCondition.of(tests)


def updates(attribute_updates: Mapping[str, requests.AttributeValueUpdate]) -> Update:
    """The update in AttributeUpdates."""
    if "" in attribute_updates:
        raise ValidationException(EMPTY_NAME)
    for update in attribute_updates.values():
        if update.action is not None and update.action not in ("PUT", *_ACTIONS):
            raise ValidationException(
                "Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action"
            )
    return Update.of([_change(name, update) for name, update in attribute_updates.items()])


def projection(attributes_to_get: Sequence[str]) -> Projection:
    """The projection in AttributesToGet: top-level attributes, whose names may contain any
    character."""
    seen = set()
    for name in attributes_to_get:
        if not name:
            raise ValidationException(EMPTY_NAME)
        if name in seen:
            raise ValidationException(f"{_INVALID}Duplicate value in attribute name: {name}")
        seen.add(name)
    return Projection([Path((name,)) for name in attributes_to_get])


# ---- conditions ----


def _check_operator(operator: str | None, conditions: int) -> None:
    if operator is None:
        return
    if not conditions:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if conditions == 1:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )
    if operator not in ("AND", "OR"):
        raise ValidationException(
            "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
        )


def _joined(tests: Sequence[Node], operator: str | None) -> Condition | None:
    return Condition.of(Operation(operator or "AND", tuple(tests))) if tests else None


def _expectation(name: str, expected: requests.ExpectedAttributeValue) -> Operation:
    fault = _fault_of(expected)
    if fault:
        raise ValidationException(f"{_INVALID}{fault} for Attribute: {name}")
    if expected.exists is False:
        return _test(name, "NULL", [])
    values = expected.attribute_value_list or []
    if expected.value is not None:
        values = [expected.value]
    comparison = "EQ" if expected.comparison_operator is None else expected.comparison_operator
    _check_values(comparison, values)
    return _test(name, comparison, values)


def _fault_of(expected: requests.ExpectedAttributeValue) -> str | None:
    """The message about members of an Expected entry that do not fit together. None if they fit."""
    value, exists = expected.value is not None, expected.exists
    comparison, values = expected.comparison_operator, expected.attribute_value_list
    takes_none = comparison in ("NULL", "NOT_NULL")
    faults = {
        "Value and AttributeValueList cannot be used together": value and values is not None,
        "Exists and ComparisonOperator cannot be used together": (
            exists is not None and comparison is not None
        ),
        "AttributeValueList can only be used with a ComparisonOperator": (
            values is not None and comparison is None
        ),
        f"Value or AttributeValueList must be used with ComparisonOperator: {comparison}": (
            comparison is not None and not takes_none and not value and values is None
        ),
        "Value cannot be used when Exists is false": exists is False and value,
        f"Value must be provided when Exists is {'true' if exists else 'null'}": (
            exists is not False and comparison is None and not value
        ),
    }
    return next((fault for fault, present in faults.items() if present), None)


def _test(name: str, comparison: str, values: Sequence[AttributeValue]) -> Operation:
    path = Path((name,))
    operands: tuple[Node, ...] = (path, *map(Value, values))
    test = Operation(_COMPARISONS[comparison].operator, operands)
    if comparison != "NOT_CONTAINS":
        return test
    # Unlike NOT contains(...), it needs the attribute to exist.
    exists = Operation("attribute_exists", (path,))
    return Operation("AND", (exists, Operation("NOT", (test,))))


def _check_values(comparison: str, values: Sequence[AttributeValue]) -> None:
    for value in values:
        normalize(value)
    if comparison not in _COMPARISONS:
        raise ValidationException(f"{_INVALID}Invalid comparison operator")
    count, types, _ = _COMPARISONS[comparison]
    if len(values) != count if count is not None else not values:
        raise ValidationException(
            f"{_INVALID}Invalid number of argument(s) for the {comparison} ComparisonOperator"
        )
    kinds = [next(iter(value)) for value in values]
    mixed = len(set(kinds)) > 1
    for kind in kinds:
        if kind not in types and (comparison == "IN" or not mixed):
            raise ValidationException(
                f"{_INVALID}ComparisonOperator {comparison} is not valid for {kind} "
                "AttributeValue type"
            )
    if mixed:
        raise ValidationException(
            f"{_INVALID}AttributeValues inside AttributeValueList must be of same type"
        )
    if comparison == "BETWEEN" and (compare(*values) or 0) > 0:
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than "
            "the upper bound"
        )


# ---- updates ----


def _change(name: str, update: requests.AttributeValueUpdate) -> Change:
    path, action, value = Path((name,)), update.action or "PUT", update.value
    if value is None:
        if action != "DELETE":
            raise ValidationException(
                f"{_INVALID}Only DELETE action is allowed when no attribute value is specified"
            )
        return Change(path, lambda item, values: None)
    normalize(value)
    if action == "PUT":
        return Change(path, lambda item, values: value)
    [kind] = value
    types, phrase, change = _ACTIONS[action]
    if kind not in types:
        raise ValidationException(f"{_INVALID}{phrase} is not supported for the type {kind}")
    return Change(path, lambda item, values: change(item.get(name), value, _TYPE_MISMATCH))


_TYPE_MISMATCH = "Type mismatch for attribute to update"
_ACTIONS: dict[
    str,
    tuple[
        frozenset[str],
        str,
        Callable[[AttributeValue | None, AttributeValue, str], AttributeValue | None],
    ],
] = {
    "ADD": (_ADDED, "ADD action", add),
    "DELETE": (_DELETED, "DELETE action with value", delete),
}
