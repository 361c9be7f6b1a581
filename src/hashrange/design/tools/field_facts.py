"""The type and the constraints of a field as text, which is equal for equal declarations."""

import inspect
from dataclasses import fields, is_dataclass
from enum import Enum
from types import CodeType
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.markers import Ref
from hashrange.design.declare.types import core_type


def may_refuse(old: Entity, old_name: str, new: Entity, name: str) -> bool:
    """Whether the new field has a type or a constraint that may refuse values of the old field."""
    if not _constraints(new, name) <= _constraints(old, old_name):
        return True
    was, now = old.fields[old_name], new.fields[name]
    if was.choices and now.choices:
        return not set(was.choices) <= set(now.choices)
    return type_text(was.python) != type_text(now.python)


def _constraints(entity: Entity, name: str) -> set[str]:
    info = entity.info(name)
    metadata = [*info.metadata]
    core_type(info.annotation, metadata)  # adds the constraints within `... | None`
    return {type_text(fact) for fact in metadata if not isinstance(fact, Ref)}


def type_text(value: Any, inside: tuple[Any, ...] = ()) -> str:
    origin = get_origin(value)
    if origin is not None:
        return f"{type_text(origin)}[{', '.join(type_text(a, inside) for a in get_args(value))}]"
    if isinstance(value, type) and issubclass(value, Enum):
        return f"{value.__qualname__}({[member.value for member in value]})"
    if isinstance(value, type) and issubclass(value, BaseModel) and value not in inside:
        inside = (*inside, value)
        parts = [
            f"{name}: {type_text(info.annotation, inside)} "
            f"{[type_text(fact) for fact in info.metadata]}"
            for name, info in value.model_fields.items()
        ]
        return f"{value.__qualname__}({', '.join(parts)})"
    if isinstance(value, type):
        return value.__qualname__
    if inspect.isfunction(value):
        return f"{value.__qualname__} {_code(value.__code__)}"
    if is_dataclass(value):
        parts = [f"{f.name}={type_text(getattr(value, f.name))}" for f in fields(value)]
        return f"{type(value).__qualname__}({', '.join(parts)})"
    return repr(value)


def _code(code: CodeType) -> str:
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"
