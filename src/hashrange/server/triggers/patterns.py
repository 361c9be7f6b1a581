"""Filter patterns of Lambda: which records of a stream a trigger passes to its function.

A pattern has the form of a record, with a list of rules at each leaf. At each leaf, one rule of the
list has to match:

    {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"kind": {"S": [{"prefix": "order"}]}}}}

Source: the developer guide of Lambda, "Control which events Lambda sends to your function".
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Matches = Callable[[Any], bool]
"""A function that tells whether a pattern matches a value. If a record lacks the value, the
function is called with ABSENT."""

ABSENT = object()
OR = "$or"
DEPTH_MAX = 40
"""The largest depth of a pattern. An item has at most 32 levels, and a record adds a few."""

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PatternError(ValueError):
    """A pattern is invalid; the message is for the user."""


def matcher(pattern: Any, depth: int = 0) -> Matches:
    """A function that tells whether a value matches the pattern. Raises PatternError."""
    if not isinstance(pattern, dict) or not pattern:
        raise PatternError(f"{pattern!r} is not an object with rules")
    if depth > DEPTH_MAX:
        raise PatternError(f"a pattern may have at most {DEPTH_MAX} levels")
    members = [
        _any_of_objects(rules, depth) if name == OR else _member(name, rules, depth)
        for name, rules in pattern.items()
    ]
    return lambda value: all(matches(value) for matches in members)


def _any_of_objects(patterns: Any, depth: int) -> Matches:
    if not isinstance(patterns, list) or not patterns:
        raise PatternError(f"{OR} must have a list of patterns")
    choices = [matcher(pattern, depth + 1) for pattern in patterns]
    return lambda value: any(matches(value) for matches in choices)


def _member(name: str, rules: Any, depth: int) -> Matches:
    inner = _leaf(rules) if isinstance(rules, list) else matcher(rules, depth + 1)

    def matches(value: Any) -> bool:
        return inner(value.get(name, ABSENT) if isinstance(value, Mapping) else ABSENT)

    return matches


def _leaf(rules: Sequence[Any]) -> Matches:
    """Matches a value if one of the rules matches it. In a list, one element has to match."""
    if not rules:
        raise PatternError("a list of rules is empty, so nothing would match")
    choices = [_rule(rule) for rule in rules]

    def matches(value: Any) -> bool:
        if isinstance(value, list):
            return any(choice(element) for choice in choices for element in value)
        return any(choice(value) for choice in choices)

    return matches


def _rule(rule: Any) -> Matches:
    if not isinstance(rule, dict):
        if isinstance(rule, list):
            raise PatternError(f"{rule!r}: a rule must be a value or an operator, not a list")
        return lambda value: _equal(value, rule)
    if len(rule) != 1:
        raise PatternError(f"{rule!r}: a rule must have exactly one operator")
    [(name, operand)] = rule.items()
    if name not in _OPERATORS:
        raise PatternError(
            f"{name!r} is not an operator; the operators are {', '.join(_OPERATORS)}"
        )
    return _OPERATORS[name](operand)


def _equal(value: Any, wanted: Any) -> bool:
    """Equality as in JSON, where true is not 1, but 1 is 1.0."""
    if _is_number(wanted):
        return _is_number(value) and bool(value == wanted)
    return type(value) is type(wanted) and bool(value == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(name: str, operand: Any) -> str:
    if not isinstance(operand, str):
        raise PatternError(f"{name} needs a string, not {operand!r}")
    return operand


def _prefix(operand: Any) -> Matches:
    text = _text("prefix", operand)
    return lambda value: isinstance(value, str) and value.startswith(text)


def _suffix(operand: Any) -> Matches:
    text = _text("suffix", operand)
    return lambda value: isinstance(value, str) and value.endswith(text)


def _equals_ignore_case(operand: Any) -> Matches:
    text = _text("equals-ignore-case", operand).casefold()
    return lambda value: isinstance(value, str) and value.casefold() == text


def _anything_but(operand: Any) -> Matches:
    """Matches an existing value, unless a rule of the operand matches it. The operand is a rule or
    a list of rules: values, or operators such as a prefix."""
    rules = operand if isinstance(operand, list) else [operand]
    excluded = [_rule(rule) for rule in rules]
    if not excluded:
        raise PatternError("anything-but needs at least one value")
    return lambda value: value is not ABSENT and not any(matches(value) for matches in excluded)


def _exists(operand: Any) -> Matches:
    """Matches an existing leaf or, if the operand is false, a missing leaf. A value with members is
    not a leaf."""
    if not isinstance(operand, bool):
        raise PatternError(f"exists needs true or false, not {operand!r}")
    return lambda value: (value is not ABSENT and not isinstance(value, Mapping)) is operand


def _numeric(operand: Any) -> Matches:
    """Matches JSON numbers. DynamoDB's numbers never match, because a record has them as
    strings."""
    pairs = [*zip(operand[::2], operand[1::2], strict=False)] if isinstance(operand, list) else []
    if not 1 <= len(pairs) <= 2 or 2 * len(pairs) != len(operand):
        raise PatternError('numeric needs one or two comparisons, such as [">", 0, "<=", 5]')
    for sign, number in pairs:
        if sign not in _COMPARISONS or not _is_number(number):
            raise PatternError(f"numeric needs one of {', '.join(_COMPARISONS)} and a number")
    return lambda value: (
        _is_number(value) and all(_COMPARISONS[sign](value, number) for sign, number in pairs)
    )


_OPERATORS: dict[str, Callable[[Any], Matches]] = {
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _equals_ignore_case,
    "anything-but": _anything_but,
    "exists": _exists,
    "numeric": _numeric,
}
