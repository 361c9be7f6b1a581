"""Updates that need no read: they turn the arguments of a call into changes of attributes."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from hashrange.design.declare.absent import is_absent
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.types import core_type, encode
from hashrange.design.errors import BadValue, suggest
from hashrange.design.execute.writes.update_parts import Bounds, Path, UpdateParts
from hashrange.model.values import AttributeValue

_PATH = re.compile(r"\w+(\.\w+|\[\d+\])*").fullmatch
_STEPS = re.compile(r"\.(\w+)|\[(\d+)\]")
_SETS = ("SS", "NS", "BS")


def add(entity: Entity, amounts: Mapping[str, Any]) -> UpdateParts:
    """The update that adds amounts to numbers, and members to sets."""
    adds, bounds = {}, {}
    for name, amount in amounts.items():
        kind = entity.fields[name]
        if kind.tag in _SETS:
            adds[entity.attributes[name]] = _members(entity, name, amount)
            continue
        if kind.tag != "N" or kind.expires:
            raise BadValue("it is not a number or a set", entity=entity, field=name, value=amount)
        adds[entity.attributes[name]] = _encoded(entity, name, amount)
        bounds[entity.attributes[name]] = Bounds(f"{entity}.{name}", kind.bounds)
    return UpdateParts(adds=adds, bounds=bounds)


def discard(entity: Entity, members: Mapping[str, Any]) -> UpdateParts:
    """The update that removes members from sets."""
    removed = {entity.attributes[n]: _members(entity, n, v) for n, v in members.items()}
    return UpdateParts(discards=removed)


def append(entity: Entity, elements: Mapping[str, Any]) -> UpdateParts:
    """The update that appends elements to lists."""
    appended: dict[str, AttributeValue] = {}
    for name, value in elements.items():
        if entity.fields[name].tag != "L" or not isinstance(value, (list, tuple)):
            raise BadValue("field and value must be lists", entity=entity, field=name, value=value)
        appended[entity.attributes[name]] = _encoded(entity, name, value)
    return UpdateParts(appends=appended)


def assign(entity: Entity, path: str, value: Any) -> UpdateParts:
    """The update that assigns a nested value, e.g. of `address.city` or `lines[0]`."""
    place, annotation = _place(entity, path)
    try:
        valid = TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        reason = "; ".join(one["msg"] for one in error.errors())
        raise BadValue(reason, entity=entity, field=path, value=value) from None
    if len(place) == 1 and is_absent(valid):
        return UpdateParts(removes=frozenset({entity.attributes[path]}))
    try:
        return UpdateParts(assigns={place: encode(valid)})
    except BadValue as error:
        raise error.of(entity, path, value) from None


ATOMIC: dict[str, Callable[[Entity, Mapping[str, Any]], UpdateParts]] = {
    "add": add,
    "discard": discard,
    "append": append,
}


def root(path: str) -> str:
    """The field at the beginning of a path. Raises BadValue for an invalid path."""
    if not _PATH(path):
        raise BadValue(f"{path!r} is not a path: write e.g. address.city or lines[0]")
    return re.split(r"[.\[]", path)[0]


def _members(entity: Entity, name: str, value: Any) -> AttributeValue:
    kind = entity.fields[name]
    if kind.tag not in _SETS or not isinstance(value, (set, frozenset)):
        raise BadValue("field and value must be sets", entity=entity, field=name, value=value)
    return _encoded(entity, name, value)


def _encoded(entity: Entity, name: str, value: Any) -> AttributeValue:
    kind = entity.fields[name]
    try:
        stored = kind.encode(value)
    except BadValue as error:
        raise error.of(entity, name, value) from None
    if kind.tag not in stored:
        reason = f"it is stored as {kind.tag}, not as {next(iter(stored))}"
        raise BadValue(reason, entity=entity, field=name, value=value)
    return stored


def _place(entity: Entity, path: str) -> tuple[Path, Any]:
    """(path in names of attributes, type of the value at its end); Any for an unknown type."""
    field = root(path)
    place: list[str | int] = [entity.attributes[field]]
    annotation = _annotation(entity.model.model_fields[field])
    for name, position in _STEPS.findall(path[len(field) :]):
        core, _ = core_type(annotation, [])
        inner = get_args(core)
        if position:
            place.append(int(position))
            annotation = inner[0] if get_origin(core) in (list, tuple) else Any
        elif isinstance(core, type) and issubclass(core, BaseModel):
            info = core.model_fields.get(name)
            if info is None:
                hint = suggest(name, core.model_fields)
                raise BadValue(f"{entity}.{path}: {name!r} is not a field{hint}")
            place.append(info.serialization_alias or info.alias or name)
            annotation = _annotation(info)
        else:
            place.append(name)
            annotation = inner[1] if get_origin(core) is dict else Any
    return tuple(place), annotation


def _annotation(info: FieldInfo) -> Any:
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
