"""Checks that several operations share. They are made before any table is looked up."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, wraps
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

import msgspec

from hashrange.engine.keys import check_not_empty
from hashrange.engine.writes import PUT_TOO_LARGE
from hashrange.expressions import Condition, Expressions, Projection, legacy
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import ITEM_BYTES_MAX
from hashrange.model.validation.wording import NO_RETURN_VALUES
from hashrange.model.values import Item, normalize_item

P = ParamSpec("P")
T = TypeVar("T")

FIELDS = {
    "AttributesToGet": "attributes_to_get",
    "AttributeUpdates": "attribute_updates",
    "ConditionalOperator": "conditional_operator",
    "ConditionExpression": "condition_expression",
    "Expected": "expected",
    "FilterExpression": "filter_expression",
    "KeyConditionExpression": "key_condition_expression",
    "KeyConditions": "key_conditions",
    "ProjectionExpression": "projection_expression",
    "QueryFilter": "query_filter",
    "ScanFilter": "scan_filter",
    "UpdateExpression": "update_expression",
}
_EXPRESSION_FIELDS = {
    *FIELDS.values(),
    "expression_attribute_names",
    "expression_attribute_values",
}
_WRITES = (requests.Put, requests.Update, requests.Delete, requests.ConditionCheck)
_ACTIONS = (*_WRITES, requests.Get)
_in_one_order = msgspec.json.Encoder(order="sorted").encode
_EMPTY_STRING, _EMPTY_BINARY = {"S": ""}, {"B": ""}
ENVELOPE = "1 validation error detected: "
DUPLICATES = "Provided list of item keys contains duplicates"
OLD_CONDITION = ("Expected", "ConditionalOperator")


def expressions(
    request: Any, new: tuple[str, ...], old: tuple[str, ...] = ()
) -> Expressions | None:
    """The placeholders of a request, None if it uses no expression parameters.

    Raises the errors of `uses_expressions`.
    """
    return placeholders(request) if uses_expressions(request, new, old) else None


def placeholders(request: Any) -> Expressions:
    """The checked ExpressionAttributeNames and ExpressionAttributeValues of a request."""
    values = getattr(request, "expression_attribute_values", None)
    legacy = request.legacy or isinstance(request, _ACTIONS)
    return Expressions(request.expression_attribute_names, values, legacy)


def uses_expressions(request: Any, new: tuple[str, ...], old: tuple[str, ...]) -> bool:
    """Whether a request uses expression parameters.

    `new` has the names of the operation's expression parameters, and `old` those of its legacy
    parameters. Raises ValidationException if the request uses both kinds, or if it has placeholders
    but no expression.
    """
    kind = request.__class__
    members = _expression_fields(kind).values(request)
    if members.count(None) == len(members):
        return False  # like most requests, which need no closer look
    return _uses(kind, tuple(map(type, members)), new, old)


class _ExpressionFields(NamedTuple):
    """The fields of a request type that hold expression or legacy parameters: names, and a getter
    of the values."""

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]


@cache
def _expression_fields(kind: Any) -> _ExpressionFields:
    names = tuple(name for name in kind.__struct_fields__ if name in _EXPRESSION_FIELDS)
    return _ExpressionFields(names, attrgetter(*names))


@lru_cache(maxsize=500)
def _uses(kind: Any, types: tuple[type, ...], new: tuple[str, ...], old: tuple[str, ...]) -> bool:
    """The result of `uses_expressions`, cached by the members that are present. `types` has
    NoneType for each absent member."""
    fields = {
        name
        for name, type_ in zip(_expression_fields(kind).names, types, strict=True)
        if type_ is not NoneType
    }
    used = [name for name in new if FIELDS[name] in fields]
    legacy_used = [name for name in old if FIELDS[name] in fields]
    if used and legacy_used:
        _refuse_both(used, legacy_used)
    if not used and issubclass(kind, _ACTIONS):
        return False  # here placeholders without an expression are allowed
    if "expression_attribute_names" in fields and not used:
        raise ValidationException(
            "ExpressionAttributeNames can only be specified when using expressions"
        )
    with_values = [name for name in new if name != "ProjectionExpression"]
    if "expression_attribute_values" in fields and not any(name in used for name in with_values):
        raise ValidationException(
            "ExpressionAttributeValues can only be specified when using expressions"
            + (f": {' and '.join(with_values)} is null" if kind.legacy else "")
        )
    return bool(used)


def _refuse_both(used: Sequence[str], legacy_used: Sequence[str]) -> NoReturn:
    raise ValidationException(
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{', '.join(legacy_used)}}} "
        f"Expression parameters: {{{', '.join(used)}}}"
    )


def check_one_kind(groups: Iterable[Any], new: Sequence[str], old: Sequence[str]) -> None:
    """Raises ValidationException if a request uses both expression parameters (`new`) and legacy
    parameters (`old`).

    `groups` are the parts of the request, one for each table. The two kinds may be in different
    parts.
    """
    groups = list(groups)

    def used(names: Sequence[str]) -> list[str]:
        return [n for n in names if any(getattr(g, FIELDS[n]) is not None for g in groups)]

    if used(new) and used(old):
        _refuse_both(used(new), used(old))


def check_distinct(keys: Sequence[Item]) -> None:
    """Raises ValidationException if a list of keys contains the same key twice."""
    if len({_in_one_order(key) for key in keys}) < len(keys):
        raise ValidationException(DUPLICATES)


def key(item_key: Item) -> int:
    """Check a Key parameter, make its values canonical in place, and return its size in bytes."""
    size = normalize_item(item_key)
    check_key_not_empty(item_key)
    return size


def check_key_not_empty(item_key: Item) -> None:
    values = item_key.values()
    if _EMPTY_STRING in values or _EMPTY_BINARY in values:
        for name, value in item_key.items():
            check_not_empty(name, value)


def in_envelope(request: requests.Structure, refusal: ValidationException) -> ValidationException:
    """The error for a fault that PutItem, UpdateItem, DeleteItem or Query finds early.

    Its message begins with `ENVELOPE`, except under legacy validation.
    """
    return ValidationException(refusal.legacy if request.legacy else ENVELOPE + refusal.message)


def legacy_validation(check: Callable[P, T]) -> Callable[P, T]:
    """Decorates a check for which the service uses its legacy validation: errors get the legacy
    wording."""

    @wraps(check)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return check(*args, **kwargs)
        except ValidationException as refusal:
            raise ValidationException(refusal.legacy) from None

    return checked


def item(attributes: Item) -> int:
    """Check an item to be put, make its values canonical in place, and return its size in bytes."""
    size = normalize_item(attributes)
    check_size(size)
    return size


def check_size(size: int) -> None:
    """Raises ValidationException if an item to be put is too large."""
    if size > ITEM_BYTES_MAX:
        raise ValidationException(PUT_TOO_LARGE)


def condition(request: Any, placeholders: Expressions | None) -> Condition | None:
    """The condition of a write, from ConditionExpression or Expected.

    Call this after parsing all other expressions of the request. Raises ValidationException if a
    placeholder is used in none of the expressions.
    """
    parsed: Condition | None = None
    if placeholders is None:
        if request.expected is not None or request.conditional_operator is not None:
            parsed = legacy.condition(request.expected, request.conditional_operator)
    else:
        if request.condition_expression is not None:
            parsed = placeholders.condition(request.condition_expression)
        placeholders.finish()
    return parsed


def projection(request: Any, placeholders: Expressions | None) -> Projection | None:
    if request.projection_expression is not None:
        assert placeholders
        return placeholders.projection(request.projection_expression)
    names = getattr(request, "attributes_to_get", None)
    return None if names is None else legacy.projection(names)


def returned(request: Any, *allowed: str) -> str:
    """The value of ReturnValues, by default NONE. Raises ValidationException unless it is one of
    `allowed`."""
    wanted: str = request.return_values or "NONE"
    if wanted not in allowed:
        raise ValidationException(NO_RETURN_VALUES)
    return wanted
