"""How None and empty sets are stored: as an absent attribute.

An absent attribute is read as None if its field is optional, else as the empty set. A field that
can be absent must not have another default, because the absent attribute would be read as that
default.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from hashrange.design.declare.item import Copy, Item
from hashrange.design.declare.types import FieldType
from hashrange.design.errors import DeclarationError
from hashrange.model.values import AttributeValue

STORED = object()
"""The result of `absent_value` for a field whose values are all stored."""


def absent_value(kind: FieldType) -> Any:
    """The value that an absent attribute stands for: None or an empty set.

    STORED if the attribute of a field of this type is never absent.
    """
    if kind.optional or kind.python is Any:
        return None
    for core in (kind.python, *get_args(kind.python)):
        origin = get_origin(core) or core
        if origin in (set, frozenset):
            return origin()
    return STORED


def is_absent(value: Any) -> bool:
    """Whether the value is None or an empty set, for which no attribute is stored."""
    return value is None or (isinstance(value, (set, frozenset)) and not value)


def encoder(kind: FieldType) -> Callable[[Any], AttributeValue | None]:
    """The field's encoder, which returns None for a value that is not stored."""
    if kind.tag in ("SS", "NS", "BS", ""):
        return lambda value: None if is_absent(value) else kind.encode(value)
    return kind.encode


def filled_in(model: type[Item], fields: Mapping[str, FieldType]) -> tuple[tuple[str, Any], ...]:
    """(field, value if absent) of each field that can be absent and has no default."""
    filled = []
    for name, info in model.model_fields.items():
        value = absent_value(fields[name])
        if value is not STORED and (info.is_required() or isinstance(info.default, Copy)):
            filled.append((name, value))
    return tuple(filled)


def expect_readable_defaults(model: type[Item], fields: Mapping[str, FieldType]) -> None:
    """Raise DeclarationError if a field's default is not the value of an absent attribute.

    None or an empty set would be read as the default, because no attribute is stored for it.
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
                f"{name}: {what} is stored as an absent attribute, so it would be read as "
                f"{_described(info)}. Make {what} the default. If items that were stored before "
                "the field was declared need another value, use @st.upgrade",
                at=model,
            )


def _default(info: FieldInfo, value: Any) -> Any:
    """The default of a field that can be absent. `value` is the value of an absent attribute.

    A default factory is called only if the field is a set. For an optional field, the result is
    STORED.
    """
    if info.default_factory is None:
        return info.default
    return STORED if value is None else info.get_default(call_default_factory=True)


def _described(info: FieldInfo) -> str:
    return repr(info.default) if info.default_factory is None else "a new default"
