"""The conditions of a statement, all of which must hold.

A key with one value is simply compared. A key whose value is a set, such as `dynamodb:LeadingKeys`,
needs ForAllValues or ForAnyValue. Without these, a positive operator never matches a set with
several members. Source: IAM user guide, "Set operators for multi-valued context keys".
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.access import patterns
from hashrange.access.operators import NULL, OPERATORS, Operator
from hashrange.access.patterns import (
    Context,
    Known,
    MissingVariable,
    Pattern,
    PatternError,
    any_of,
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
"""The condition keys whose values are sets, even if these have a single member."""


class ConditionError(Exception):
    """A Condition element is invalid. `place` is the place of the error within this element."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


class Condition(Struct, frozen=True):
    """One line of a Condition element: an operator, a condition key, and values.

    `name` is the name of the operator. It is enough if one value matches. `quantifier` is
    ForAllValues, ForAnyValue, or empty.
    """

    name: str
    key: str
    values: tuple[Pattern, ...]
    quantifier: str = ""
    if_exists: bool = False

    @property
    def operator(self) -> Operator:
        return OPERATORS[self.name]

    @property
    def asks(self) -> frozenset[str]:
        """The condition keys on which the condition depends."""
        return frozenset((self.key, *(key for each in self.values for key in each.variables)))

    @property
    def fits_at_once(self) -> bool:
        """Whether `Operator.fixed` can make one function for this condition and others on the same
        key. The function decides all of them for one value of the key."""
        operator = self.operator
        fixed = operator.fixed is not None and not operator.negated
        return fixed and bool(self.quantifier) and not any(each.varies for each in self.values)

    def bound(self, known: Context) -> "Condition":
        """The same condition, with the `known` values in place of policy variables."""
        return replace(self, values=tuple(each.bound(known) for each in self.values))

    def test(self, lenient: bool) -> Callable[[Context], bool]:
        """A fast function that tells whether a request meets the condition.

        If a policy variable has no value, the condition is assumed to hold if the test is
        `lenient`, as for a Deny, and otherwise not to hold.
        """
        key, fits = self.key, self._fits()
        if self.name == NULL:

            def test_absence(context: Context) -> bool:
                known = fits("false" if context.values(key) else "true", context)
                return lenient if known is None else known

            return test_absence
        negative, one_suffices = self.operator.negated, self.quantifier == ANY
        if_absent = self.if_exists or self.quantifier == ALL or (negative and not one_suffices)
        plain, is_set = not self.quantifier and not negative, key in SET_KEYS

        def test(context: Context) -> bool:
            values = context.values(key)
            if not values:
                return if_absent
            if plain and (is_set or len(values) > 1):
                return False
            if len(values) == 1 and (known := fits(values[0], context)) is not None:
                return known is not negative
            matches = [fits(each, context) for each in values]
            # A value in the request fails the condition if its match equals `negative`.
            if one_suffices:
                return (not negative) in matches or (lenient and None in matches)
            return negative not in matches and (lenient or None not in matches)

        return test

    def _fits(self) -> Callable[[str, Context], Known]:
        """A function that tells whether a value of a request matches one of the policy's values."""
        operator, values = self.operator, self.values
        if operator.fixed is not None and not any(each.varies for each in values):
            return operator.fixed(values)

        def test(value: str, wanted: Pattern, context: Context) -> Known:
            try:
                return operator.test(value, wanted, context)
            except MissingVariable:
                return None

        return lambda value, context: any_of(test(value, each, context) for each in values)


def parse(element: Any, check_key: Callable[[str], None], variables: bool) -> tuple[Condition, ...]:
    """The conditions of a Condition element. Raises ConditionError.

    `check_key` raises ValueError for an unknown key.
    """
    if not isinstance(element, dict):
        problem = "must be an object of operators, each with condition keys and values"
        raise ConditionError("", problem)
    return tuple(_each(element, check_key, variables))


def _each(
    element: dict[str, Any], check_key: Callable[[str], None], variables: bool
) -> Iterator[Condition]:
    for written, keys in element.items():
        name, quantifier, if_exists = _operator(written)
        if not isinstance(keys, dict):
            raise ConditionError(written, "must be an object of condition keys and their values")
        for key, value in keys.items():
            place = f"{written}.{key}"
            try:
                check_key(key)
                values = tuple(_value(each, name, variables) for each in _listed(value))
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
        raise ConditionError(written, "the operator Null cannot be combined with IfExists")
    return name, quantifier, name != rest


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _value(value: Any, name: str, variables: bool) -> Pattern:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError("a value must be a string, a number or a boolean")
    operator = OPERATORS[name]
    pattern = patterns.parse(value, variables, arn=name.startswith("Arn"))
    if not pattern.varies:
        operator.check(value)
    return pattern
