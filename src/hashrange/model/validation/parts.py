"""Splits a request's JSON into parts with their shapes, to search for parts of one kind."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

from hashrange.model.validation import shapes
from hashrange.model.validation.shapes import Shape

ATTRIBUTE_VALUE = "AttributeValue"
_NOT_LOOKED_AT = ("string", "blob", "long", "double", "timestamp")


class Part(NamedTuple):
    """A JSON value. `level` is the number of nested attribute values, counting the value itself."""

    content: Any
    name: str
    shape: Shape
    level: int


def of(content: Any, name: str) -> Iterator[Part]:
    """All parts of JSON content of this shape, starting with the content itself.

    Null and unknown members are left out, but a null attribute value is treated as an empty one.
    Texts, binaries and numbers other than integers are left out too, because no search needs them.
    """
    waiting = [(content, name, 0)]
    while waiting:
        content, name, level = waiting.pop()
        if name == ATTRIBUTE_VALUE:
            content = {} if content is None else content
            level += 1
        if content is None:
            continue
        shape = shapes.of(name)
        yield Part(content, name, shape, level)
        waiting += reversed([(part, of_part, level) for part, of_part in _inside(content, shape)])


def _inside(content: Any, shape: Shape) -> Iterable[tuple[Any, str]]:
    match shape.kind:
        case "structure":
            return (
                (value, shape.members[member])
                for member, value in content.items()
                if _is_looked_at(shape.members.get(member))
            )
        case "list" if _is_looked_at(shape.member):
            return zip(content, repeat(shape.member))
        case "map" if _is_looked_at(shape.value):
            return zip(content.values(), repeat(shape.value))
    return ()


def _is_looked_at(name: str | None) -> bool:
    return name is not None and shapes.of(name).kind not in _NOT_LOOKED_AT
