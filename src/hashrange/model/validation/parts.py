"""The parts of a request's JSON with their shapes, for a search for parts of one kind."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hashrange.model.validation import shapes
from hashrange.model.validation.shapes import Shape

ATTRIBUTE_VALUE = "AttributeValue"


class Part(NamedTuple):
    """A value of JSON; `level` is the number of attribute values around it, itself included."""

    content: Any
    name: str
    shape: Shape
    level: int


def of(content: Any, name: str) -> Iterator[Part]:
    """All parts of JSON content of this shape, the content itself first.

    Null and unknown members are left out, but an attribute value that is null is an empty one.
    """
    waiting = [(iter([(content, name)]), 0)]
    while waiting:
        siblings, level = waiting[-1]
        content, name = next(siblings, (None, ""))
        if not name:
            waiting.pop()
            continue
        if name == ATTRIBUTE_VALUE:
            content = {} if content is None else content
            level += 1
        if content is None:
            continue
        shape = shapes.of(name)
        yield Part(content, name, shape, level)
        waiting.append((_inside(content, shape), level))


def _inside(content: Any, shape: Shape) -> Iterator[tuple[Any, str]]:
    match shape.kind:
        case "structure":
            for member, value in content.items():
                if value is not None and member in shape.members:
                    yield value, shape.members[member]
        case "list":
            for element in content:
                yield element, shape.member
        case "map":
            for value in content.values():
                yield value, shape.value
