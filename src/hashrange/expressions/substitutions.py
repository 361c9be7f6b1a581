"""ExpressionAttributeNames and ExpressionAttributeValues of one request."""

import re
from collections.abc import Collection, Mapping

from hashrange.expressions.bounded_cache import BoundedCache
from hashrange.expressions.tree import Parameter, Values, invalid
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    ATTRIBUTE_NAME_BYTES_MAX,
    PLACEHOLDER_BYTES_MAX,
    SUBSTITUTIONS_BYTES_MAX,
)
from hashrange.model.values import AttributeValue, normalize, normalize_item, text_size

_NAMES = "ExpressionAttributeNames"
_VALUES = "ExpressionAttributeValues"
_NAME_KEY = re.compile(r"#[A-Za-z0-9_]+")
_VALUE_KEY = re.compile(r":[A-Za-z0-9_]+")

_passed: BoundedCache[bool] = BoundedCache()
"""The shapes (see `Substitutions.shape`) of substitutions that have passed their checks."""


class Substitutions:
    """Checked names and values, with a record of those that expressions use.

    Raises ValidationException, and makes the values canonical in place. With `legacy`, the message
    about an invalid value names its placeholder, such as `:v`.
    """

    def __init__(
        self,
        names: dict[str, str] | None,
        values: dict[str, AttributeValue] | None,
        legacy: bool = False,
    ) -> None:
        self.legacy = legacy
        self.values: Values = values or {}
        self._names = names or {}
        self.used: set[str] = set()
        """The placeholders, such as `#n` and `:v`, that expressions have used."""
        self.shape = (
            legacy,
            None if names is None else tuple(names.items()),
            None if values is None else (tuple(values), *map(tuple, values.values())),
        )
        """The names, and the placeholders and types of the values, without the values
        themselves."""
        if not _passed.get(self.shape):
            _check_shape(names, values)
            _passed.put(self.shape, True)
        if values is not None:
            size = _legacy_size(values) if legacy else normalize_item(values)
            if size > SUBSTITUTIONS_BYTES_MAX:
                raise ValidationException(f"{_VALUES} exceeds max size")

    def name(self, parameter: Parameter, alias: str) -> str:
        """The attribute name of an alias such as `#n`. Raises ValidationException if it is not
        defined."""
        if alias not in self._names:
            raise invalid(
                parameter,
                "An expression attribute name used in the document path is not defined; "
                f"attribute name: {alias}",
            )
        return self._names[alias]

    def value(self, parameter: Parameter, placeholder: str) -> AttributeValue:
        """The value of a placeholder such as `:v`. Raises ValidationException if it is not
        defined."""
        if placeholder not in self.values:
            raise invalid(
                parameter,
                "An expression attribute value used in expression is not defined; "
                f"attribute value: {placeholder}",
            )
        return self.values[placeholder]

    def finish(self) -> None:
        """Check that every name and value has been used. Call this after binding all
        expressions."""
        if len(self.used) == len(self._names) + len(self.values):
            return  # names and values are distinct, and `used` has nothing else
        for member, keys in ((_NAMES, self._names), (_VALUES, self.values)):
            if not keys.keys() <= self.used:
                unused = keys.keys() - self.used
                raise ValidationException(
                    f"Value provided in {member} unused in expressions: "
                    f"keys: {{{', '.join(sorted(unused))}}}"
                )


def _check_shape(
    names: Mapping[str, str] | None, values: Mapping[str, AttributeValue] | None
) -> None:
    if names is not None:
        _check_keys(_NAMES, names, _NAME_KEY)
        _check_names(names)
    if values is not None:
        _check_keys(_VALUES, values, _VALUE_KEY)


def _check_names(names: Mapping[str, str]) -> None:
    for key, name in names.items():
        if not name:
            raise _invalid_value(_NAMES, "Empty attribute name", key)
        if text_size(name) > ATTRIBUTE_NAME_BYTES_MAX:
            raise _invalid_value(
                _NAMES,
                "Attribute name is too large, "
                f"must be less than {ATTRIBUTE_NAME_BYTES_MAX + 1} bytes",
                key,
            )


def _legacy_size(values: Mapping[str, AttributeValue]) -> int:
    """Check values as legacy validation does, make them canonical in place, and return their size
    in bytes.

    A message names the placeholder of the faulty value. Legacy validation is assumed to allow one
    more level of nesting here than in an item.
    """
    size = 0
    for key, value in values.items():
        try:
            size += text_size(key) + normalize(value, 0)
        except ValidationException as error:
            raise _invalid_value(_VALUES, error.legacy, key) from None
    return size


def _check_keys(member: str, keys: Collection[str], form: re.Pattern[str]) -> None:
    if not keys:
        raise ValidationException(f"{member} must not be empty")
    for key in keys:
        fault = None
        if not key:
            fault = "The expression attribute map contains an empty key;"
        elif text_size(key) > PLACEHOLDER_BYTES_MAX:
            told = f" size of key: {text_size(key)}" if member == _NAMES else ""
            fault = f"The expression attribute map contains a key that is too long;{told}"
        elif not form.fullmatch(key):
            fault = f'Syntax error; key: "{key}"'
        if fault:
            raise ValidationException(f"{member} contains invalid key: {fault}")


def _invalid_value(member: str, fault: str, key: str) -> ValidationException:
    return ValidationException(f"{member} contains invalid value: {fault} for key {key}")
