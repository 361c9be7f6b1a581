"""A fast check, in one call of msgspec, that a part of a request breaks no constraint.

It is much faster than `constraints`, but may refuse a valid part. So `constraints` checks each part
that it refuses.
"""

from functools import cache
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from hashrange.decoders import prepare
from hashrange.model.validation import shapes
from hashrange.model.validation.shapes import Shape
from hashrange.model.values import AttributeValue

_SCALARS = {"blob": str, "boolean": bool, "double": float, "timestamp": float}


def is_faultless(content: Any, name: str) -> bool:
    """Whether content of this shape certainly breaks no constraint. Its JSON types must have been
    checked before."""
    try:
        msgspec.convert(content, _prepared(name))
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


@cache
def _prepared(name: str) -> Any:
    return prepare(_type(name))


@cache
def _type(name: str) -> Any:
    if name == "AttributeValue":
        return AttributeValue
    shape = shapes.of("TableName" if name == "TableArn" else name)
    match shape.kind:
        case "structure":
            members = {
                member: _type(part) if member in shape.required else NotRequired[_type(part)]
                for member, part in shape.members.items()
            }
            return TypedDict(name, members)  # type: ignore[operator]
        case "list":
            return _bounded(list[_type(shape.member)], shape)  # type: ignore[misc]
        case "map":
            return _bounded(dict[_type(shape.key), _type(shape.value)], shape)  # type: ignore[misc]
        case "integer" | "long":
            return Annotated[int, msgspec.Meta(ge=shape.min, le=shape.max)]
        case "string":
            return Literal[shape.enum] if shape.enum else _bounded(str, shape)
    return _SCALARS[shape.kind]


def _bounded(whole: Any, shape: Shape) -> Any:
    pattern = rf"\A(?:{shape.matcher.pattern})\Z" if shape.matcher else None
    return Annotated[
        whole, msgspec.Meta(min_length=shape.min, max_length=shape.max, pattern=pattern)
    ]
