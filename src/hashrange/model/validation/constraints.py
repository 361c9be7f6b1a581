"""Finds the members of a request that break constraints of the service model, in order.

Source: the service model; the wording and the order of constraints were observed on the service. If
an element, key or value of a collection breaks its own constraints, the collection is reported
once, with all constraints that the element, key or value should satisfy.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from hashrange.model.validation import arns, java, shapes
from hashrange.model.validation.faultless import is_faultless
from hashrange.model.validation.shapes import Shape

NOT_NULL = "Member must not be null"
_OF_ITEMS = frozenset(
    f"{operation}Input"
    for operation in ("PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan")
)
"""The request shapes for which an empty TableName is reported only as too short."""


_NESTED = ("MapAttributeValue", "ListAttributeValue")


class Violation(NamedTuple):
    """One member that breaks one constraint. `value` is the member's value as messages print it.

    If `value` is None, the message is the constraint alone.
    """

    path: str
    value: str | None
    constraint: str

    def __str__(self) -> str:
        if self.value is None:
            return self.constraint
        return (
            f"Value {self.value} at '{self.path}' failed to satisfy constraint: {self.constraint}"
        )


def violations(request: dict[str, Any], name: str) -> Iterator[Violation]:
    """All violations in a request of this shape. Its JSON types must have been checked before."""
    violations_of_members = _in_members(request, shapes.of(name), "")
    return violations_of_members if name in _OF_ITEMS else _of_definitions(violations_of_members)


def _of_definitions(violations: Iterable[Violation]) -> Iterator[Violation]:
    """The violations in the order in which requests about tables report them.

    In such requests, an empty TableName breaks two constraints: on the length and on the
    characters. If both the length and the characters of a table's or an index's name are wrong, the
    length is first.
    """
    for path, group in groupby(violations, attrgetter("path")):
        faults = list(group)
        if path == "tableName" and faults[0].value == "''":
            told = _broken("", shapes.of("TableName"))
            faults = [Violation(path, "''", constraint) for constraint in told]
        if path == "tableName" or path.endswith(".indexName"):
            faults.sort(key=lambda each: "pattern" in each.constraint)
        yield from faults


# ---- where to look ----


def _in_members(content: dict[str, Any], shape: Shape, prefix: str) -> Iterator[Violation]:
    for member, name in shape.members.items():
        path = prefix + java.member_name(member)
        if member in content:
            yield from _in_member(content[member], name, path)
        elif member in shape.required:
            yield Violation(path, "null", NOT_NULL)


def _in_member(content: Any, name: str, path: str) -> Iterator[Violation]:
    for constraint in _broken(content, _ruling_shape(content, name)):
        yield Violation(path, f"'{java.printed(content, name)}'", constraint)
    if name == "TableArn" and (fault := _arn_fault(content, path)):
        yield Violation(path, None, fault)
    yield from _inside(content, name, path)


def _inside(content: Any, name: str, path: str) -> Iterator[Violation]:
    shape = shapes.of(name)
    match shape.kind:
        case "structure":
            yield from _in_members(content, shape, f"{path}.")
        case "list":
            yield from _in_parts("Member", content, shape.member, content, name, path)
            yield from _in_elements(enumerate(content, 1), shape.member, name, path)
        case "map":
            yield from _in_parts("Map keys", content, shape.key, content, name, path)
            yield from _in_parts("Map value", content.values(), shape.value, content, name, path)
            yield from _in_elements(content.items(), shape.value, name, path)


def _in_elements(
    elements: Iterable[tuple[str | int, Any]], name: str, whole: str, path: str
) -> Iterator[Violation]:
    """The violations in the elements of a collection. `is_faultless` first checks each element as a
    whole, except inside an attribute value, which may have hundreds of levels."""
    is_nested = whole in _NESTED
    for place, element in elements:
        if element is None:
            yield Violation(f"{path}.{place}.member", "null", NOT_NULL)
        elif is_nested or not is_faultless(element, name):
            yield from _inside(element, name, f"{path}.{place}.member")


def _in_parts(
    part: str, values: Iterable[Any], name: str, collection: Any, whole: str, path: str
) -> Iterator[Violation]:
    if not shapes.of(name).is_bounded:
        return
    for value in values:
        shape = _ruling_shape(value, name)
        if value is not None and any(_broken(value, shape)):
            constraint = f"{part} must satisfy constraint: [{', '.join(_all(shape))}]"
            yield Violation(path, f"'{java.printed(collection, whole)}'", constraint)
            return
        if name == "TableArn" and (fault := _arn_fault(value, path)):
            yield Violation(path, None, fault)
            return


# ---- the constraints of one value ----


def _ruling_shape(content: Any, name: str) -> Shape:
    """The shape that a value must fit. A text that names a table must be an ARN or fit the shape of
    names."""
    if name == "TableArn" and content and not content.startswith("arn:"):
        name = "TableName"
    return shapes.of(name)


def _arn_fault(content: str, path: str) -> str | None:
    """The fault of a table's ARN that no constraint of the service model covers, or None."""
    if not content.startswith("arn:") or any(_broken(content, shapes.of("TableArn"))):
        return None
    return arns.fault(content, path)


def _broken(content: Any, shape: Shape) -> Iterator[str]:
    if shape.enum and content not in shape.enum:
        yield _enum(shape)
    if shape.matcher and not shape.matcher.fullmatch(content):
        yield _pattern(shape)
    size = content if shape.kind in ("integer", "long") else None
    if shape.min is not None and (len(content) if size is None else size) < shape.min:
        yield _least(shape)
    if shape.max is not None and (len(content) if size is None else size) > shape.max:
        yield _most(shape)


def _all(shape: Shape) -> Iterator[str]:
    if shape.enum:
        yield _enum(shape)
    if shape.max is not None:
        yield _most(shape)
    if shape.min is not None:
        yield _least(shape)
    if shape.pattern:
        yield _pattern(shape)


def _enum(shape: Shape) -> str:
    return f"Member must satisfy enum value set: [{', '.join(shape.enum)}]"


def _pattern(shape: Shape) -> str:
    return f"Member must satisfy regular expression pattern: {shape.pattern}"


def _least(shape: Shape) -> str:
    return f"Member must have {_measure(shape)} greater than or equal to {shape.min}"


def _most(shape: Shape) -> str:
    return f"Member must have {_measure(shape)} less than or equal to {shape.max}"


def _measure(shape: Shape) -> str:
    return "value" if shape.kind in ("integer", "long") else "length"
