"""None and empty sets are not stored: an absent attribute stands for the field's empty value.

The empty value of an optional field is None. That of a set that is not optional is the empty set. A
field with another default is refused: an absent attribute would be read as the default.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from hashrange.design.declare.item import Copy, Item
from hashrange.design.declare.types import FieldType
from hashrange.design.errors import DeclarationError
from hashrange.model.values import AttributeValue

STORED = object()
"""The answer of `absent_value` for a field whose values are all stored."""


def absent_value(kind: FieldType) -> Any:
    """The one value of a field of this type that is not stored: None or an empty set. An absent
    attribute stands for this value. STORED if there is no such value."""
    if kind.optional or kind.python is Any:
        return None
    for core in (kind.python, *get_args(kind.python)):
        origin = get_origin(core) or core
        if origin in (set, frozenset):
            return origin()
    return STORED


def is_absent(value: Any) -> bool:
    """Whether no attribute is stored for the value: None or an empty set."""
    return value is None or (isinstance(value, (set, frozenset)) and not value)


def encoder(kind: FieldType) -> Callable[[Any], AttributeValue | None]:
    """The field's encoder, which returns None for a value that is not stored."""
    if kind.tag in ("SS", "NS", "BS", ""):
        return lambda value: None if is_absent(value) else kind.encode(value)
    return kind.encode


def filled_in(model: type[Item], fields: Mapping[str, FieldType]) -> tuple[tuple[str, Any], ...]:
    """(field, value) of each field without a default. The value stands for an absent attribute.

    Fields whose attribute is never absent are left out.
    """
    filled = []
    for name, info in model.model_fields.items():
        value = absent_value(fields[name])
        if value is not STORED and (info.is_required() or isinstance(info.default, Copy)):
            filled.append((name, value))
    return tuple(filled)


def expect_readable_defaults(model: type[Item], fields: Mapping[str, FieldType]) -> None:
    """Raise DeclarationError for a field whose default is not its empty value.

    None and empty sets are not stored, so the default would be read in their place.
    """
    for name, info in model.model_fields.items():
        kind = fields[name]
        value = absent_value(kind)
        if value is STORED or info.is_required() or isinstance(info.default, Copy):
            continue
        default = _default(info, value)
        if default != value:
            what = "None" if value is None else "an empty set"
            raise DeclarationError(
                f"{name}: {what} is not stored, so it would be read as {_described(info)}. Make "
                f"{what} the default. To give another value to items that were stored before the "
                "field was declared, use @st.upgrade",
                at=model,
            )


def _default(info: FieldInfo, value: Any) -> Any:
    """The default of a field, to compare with the field's empty value `value`.

    A default factory is called only if the field is a set; otherwise the result is STORED.
    """
    if info.default_factory is None:
        return info.default
    return STORED if value is None else info.get_default(call_default_factory=True)


def _described(info: FieldInfo) -> str:
    return repr(info.default) if info.default_factory is None else "a new default"
