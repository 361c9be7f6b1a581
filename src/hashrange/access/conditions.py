"""The conditions of a statement, all of which must hold.

A key with one value is compared as it is. A key that has a set of values, such as
`dynamodb:LeadingKeys`, needs ForAllValues or ForAnyValue: without them a positive operator never
matches a set of several. Source: IAM user guide, "Set operators for multi-valued context keys".
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from hashrange.access import patterns
from hashrange.access.operators import NULL, OPERATORS, Operator
from hashrange.access.patterns import (
    Context,
    Known,
    MissingVariable,
    Pattern,
    PatternError,
    all_of,
    any_of,
    negated,
)

ALL, ANY = "ForAllValues", "ForAnyValue"
_IF_EXISTS = "IfExists"

SET_KEYS = frozenset(
    {
        *("dynamodb:attributes", "dynamodb:leadingkeys", "dynamodb:firstpartitionkeyvalues"),
        *("dynamodb:secondpartitionkeyvalues", "dynamodb:thirdpartitionkeyvalues"),
        *("dynamodb:fourthpartitionkeyvalues", "aws:tagkeys"),
    }
)
"""Keys whose values are sets, also when there is just one."""


class ConditionError(Exception):
    """`place` is where in the Condition element it is."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


class Condition(Struct, frozen=True):
    """One line of a Condition element: `operator` between a key and values, any of which suffices.

    `quantifier` is ForAllValues, ForAnyValue, or empty.
    """

    name: str
    key: str
    values: tuple[Pattern, ...]
    quantifier: str = ""
    if_exists: bool = False

    @property
    def operator(self) -> Operator:
        return OPERATORS[self.name]

    def holds(self, context: Context, lenient: bool) -> bool:
        """Whether the request meets it.

        If a variable of the policy has no value, a condition of a Deny is taken to hold
        (`lenient`), and that of an Allow is not.
        """
        found = context.values(self.key)
        if self.name == NULL:
            known = self._matches("false" if found else "true", context)
        else:
            known = self._compare(found, context)
        return lenient if known is None else known

    def _compare(self, found: tuple[str, ...], context: Context) -> Known:
        operator = self.operator
        if not found:
            return (
                self.if_exists
                or self.quantifier == ALL
                or (operator.negated and self.quantifier != ANY)
            )
        matches = [self._matches(each, context) for each in found]
        if operator.negated:
            matches = [negated(each) for each in matches]
        if self.quantifier == ANY:
            return any_of(matches)
        single = len(found) == 1 and self.key not in SET_KEYS
        if self.quantifier == ALL or operator.negated or single:
            return all_of(matches)
        return False

    def _matches(self, value: str, context: Context) -> Known:
        """Whether one of the policy's values fits."""
        return any_of(self._test(value, each, context) for each in self.values)

    def _test(self, value: str, wanted: Pattern, context: Context) -> Known:
        try:
            return self.operator.test(value, wanted, context)
        except MissingVariable:
            return None


def parse(element: Any, check_key: Callable[[str], None], variables: bool) -> tuple[Condition, ...]:
    """The conditions of a Condition element. `check_key` refuses an unknown key by ValueError.

    Raises ConditionError.
    """
    if not isinstance(element, dict):
        raise ConditionError("", "must be an object: operators, each with keys and values")
    return tuple(_each(element, check_key, variables))


def _each(
    element: dict[str, Any], check_key: Callable[[str], None], variables: bool
) -> Iterator[Condition]:
    for written, keys in element.items():
        name, quantifier, if_exists = _operator(written)
        if not isinstance(keys, dict):
            raise ConditionError(written, "must be an object: condition keys with their values")
        for key, given in keys.items():
            place = f"{written}.{key}"
            try:
                check_key(key)
                values = tuple(_value(each, name, variables) for each in _listed(given))
            except (ValueError, PatternError) as fault:
                raise ConditionError(place, str(fault)) from None
            yield Condition(name, key.lower(), values, quantifier, if_exists)


def _operator(written: str) -> tuple[str, str, bool]:
    quantifier, colon, rest = written.partition(":")
    if not colon:
        quantifier, rest = "", written
    name = rest.removesuffix(_IF_EXISTS)
    if name not in OPERATORS or quantifier not in ("", ALL, ANY):
        raise ConditionError(written, f"there is no condition operator {written!r}")
    if name == NULL and name != rest:
        raise ConditionError(written, "Null has no IfExists")
    return name, quantifier, name != rest


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _value(given: Any, name: str, variables: bool) -> Pattern:
    if isinstance(given, bool):
        given = "true" if given else "false"
    elif isinstance(given, int | float):
        given = str(given)
    if not isinstance(given, str):
        raise ValueError("a value must be a text, a number or a boolean")
    operator = OPERATORS[name]
    pattern = patterns.parse(given, variables, arn=name.startswith("Arn"))
    if not pattern.varies:
        operator.check(given)
    return pattern
