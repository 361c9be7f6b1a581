"""Requests drawn from botocore's copy of the service model: the simplest of each operation, and
the simplest that has a given member, however deep inside."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import botocore.session
from botocore.model import Shape

PREFIXES = {"dynamodb": "DynamoDB_20120810.", "dynamodbstreams": "DynamoDBStreams_20120810."}
"""Of the X-Amz-Target header, by the service's name in botocore."""

KEY = "abc"
"""Of the single entry that a map has in an example: a name of a table, too."""

EXAMPLES = {
    "S3BucketOwner": "0" * 12,
    "CsvDelimiter": ",",
    "BulkOperationNextToken": "0" * 16,
    "ImportNextToken": "0" * 112,
}
"""Of strings that are no row of letters."""


class Place(NamedTuple):
    """A shape somewhere in a request: inside `parent`, at this `step`.

    A step is the name of a member; of lists and maps it says nothing. The request itself is
    inside of nothing.
    """

    shape: Shape
    parent: "Place | None" = None
    step: str = ""

    @property
    def path(self) -> str:
        """The path as messages show it."""
        if self.parent is None:
            return ""
        match self.parent.shape.type_name:
            case "structure":
                return f"{self.parent.path}.{self.step[0].lower()}{self.step[1:]}".lstrip(".")
            case "list":
                return f"{self.parent.path}.1.member"
            case _:
                return f"{self.parent.path}.{KEY}.member"

    @property
    def is_member(self) -> bool:
        return self.parent is not None and self.parent.shape.type_name == "structure"

    @property
    def required(self) -> bool:
        return self.parent is not None and self.step in required(self.parent.shape)


@cache
def input_shapes() -> dict[str, Shape]:
    """By the X-Amz-Target of each operation."""
    session = botocore.session.get_session()
    models = {service: session.get_service_model(service) for service in PREFIXES}
    return {
        PREFIXES[service] + name: model.operation_model(name).input_shape
        for service, model in models.items()
        for name in model.operation_names
    }


@cache
def places(target: str) -> list[Place]:
    """Every place in a request, starting with the request itself.

    Of what may be inside itself, as attribute values may, the first level.
    """

    def visit(place: Place, outer: frozenset[str]) -> Iterator[Place]:
        yield place
        if place.shape.name not in outer:
            for step, shape in _parts(place.shape).items():
                yield from visit(Place(shape, place, step), outer | {place.shape.name})

    return list(visit(Place(input_shapes()[target]), frozenset()))


def _parts(shape: Shape) -> dict[str, Shape]:
    match shape.type_name:
        case "structure":
            return dict(shape.members)
        case "list":
            return {"": shape.member}
        case "map":
            return {"": shape.value}
        case _:
            return {}


def required(shape: Shape) -> list[str]:
    """The members that a structure must have: CreateTable needs two more than the model says."""
    beyond = ["AttributeDefinitions", "KeySchema"] if shape.name == "CreateTableInput" else []
    return [*shape.required_members, *beyond]


# ---- JSON of a shape ----


def example(shape: Shape) -> Any:
    """The simplest JSON that satisfies a shape."""
    match shape.type_name:
        case "structure":
            if shape.name == "AttributeValue":
                return {"S": "a"}
            return {name: example(shape.members[name]) for name in required(shape)}
        case "list" | "map":
            return repeated(shape, shape.metadata.get("min", 0))
        case "string":
            return string(shape)
        case "blob":
            return "YQ=="
        case "boolean":
            return True
        case _:
            return shape.metadata.get("min", 1)


def string(shape: Shape) -> str:
    if shape.enum:
        return str(shape.enum[0])
    least: int = max(shape.metadata.get("min", 0), 3)
    return EXAMPLES.get(shape.name, "a" * least)


def repeated(shape: Shape, count: int) -> Any:
    """A list or map of this many examples."""
    if shape.type_name == "list":
        return [example(shape.member)] * count
    return {KEY + str(n or ""): example(shape.value) for n in range(count)}


ABSENT = object()
"""In place of a member: it is left out."""


def request(place: Place, content: Any) -> Any:
    """The simplest request that has this content, or nothing, at this place."""
    while place.parent is not None:
        content, place = _around(place.parent.shape, place.step, content), place.parent
    return content


def _around(shape: Shape, step: str, content: Any) -> Any:
    match shape.type_name:
        case "structure":
            others = {} if shape.name == "AttributeValue" else example(shape)
            members = {**others, step: content}
            return {name: it for name, it in members.items() if it is not ABSENT}
        case "list":
            return [content]
        case _:
            return {KEY: content}
