"""Gives every member of every operation JSON of each other type, null, and unknown members.

What does not fit is a SerializationException that names both types the way Java does; null is as
good as absent, and members that the service model does not know are passed over.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.model import Shape

from .raw import Wire
from .service_model import Place, example, input_shapes, places, request, required

TARGETS = sorted(input_shapes().keys() - {"DynamoDB_20120810.SearchVectors"})
"""SearchVectors has a parser of its own."""
SERIALIZATION = "com.amazon.coral.service#SerializationException"

JAVA = {
    "string": "java.lang.String",
    "blob": "java.nio.ByteBuffer",
    "boolean": "java.lang.Boolean",
    "integer": "java.lang.Integer",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
    "timestamp": "java.util.Date",
}
TOKENS: dict[str, Any] = {
    "STRING_VALUE": "ab",
    "NUMBER_VALUE": 7,
    "DECIMAL_VALUE": 1.5,
    "TRUE_VALUE": True,
    "FALSE_VALUE": False,
}
FITTING = {
    "string": ("STRING_VALUE",),
    "blob": ("STRING_VALUE",),
    "boolean": ("TRUE_VALUE", "FALSE_VALUE"),
    **dict.fromkeys(("integer", "long", "double", "timestamp"), ("NUMBER_VALUE", "DECIMAL_VALUE")),
}
"""Whether a string is base64 is another question."""
TOO_LARGE = {"long": (2**63, -(2**63) - 1)}
"""An integer of 32 bits that is too large becomes the largest."""

NO_CLASS = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class"
    " java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and"
    " java.lang.Class are in module java.base of loader 'bootstrap')"
)


def java(shape: Shape) -> str:
    match shape.type_name:
        case "list":
            return f"java.util.List<{java(shape.member)}>"
        case "map":
            return f"java.util.Map<{java(shape.key)}, {java(shape.value)}>"
        case "structure":
            return f"com.amazonaws.dynamodb.v20120810.{shape.name}"
        case kind:
            return JAVA[kind]


def misfits(place: Place) -> Iterator[tuple[Any, str]]:
    """What does not fit, and what is said of it."""
    shape, kind = place.shape, place.shape.type_name
    if shape.name in ("BooleanAttributeValue", "NullAttributeValue"):
        yield [], ""
    elif kind != "list":
        yield [], f"Unrecognized collection type {'class ' * (kind != 'map')}{java(shape)}"
    if kind not in ("structure", "map"):
        yield {}, "Start of structure or map found where not expected"
    for token, value in TOKENS.items():
        if told := scalar_misfit(place, token):
            yield value, told
    for number in TOO_LARGE.get(kind, ()):
        yield number, f"NUMBER_VALUE cannot be converted to {java(shape).rpartition('.')[2]}"


def scalar_misfit(place: Place, token: str) -> str | None:
    kind = place.shape.type_name
    if token in FITTING.get(kind, ()):
        return None
    match kind:
        case "structure" | "list" | "map":
            if place.is_member:
                return "Unexpected field type"
            return "Unexpected value type in payload" if kind == "structure" else NO_CLASS
        case "blob":
            return "only base-64-encoded strings are convertible to bytes"
        case "boolean" if token == "STRING_VALUE":
            return "Unexpected token received from parser"
    return f"{token} cannot be converted to {JAVA[kind].rpartition('.')[2]}"


@pytest.mark.parametrize("target", TARGETS)
def test_another_type(wire: Wire, target: str) -> None:
    cases = [(place, *case) for place in places(target)[1:] for case in misfits(place)]
    answers = wire.pipeline(target, (request(place, content) for place, content, _ in cases))
    wrong = [
        f"{place.path}: {content}: {expected}\n    seen: {answer}"
        for (place, content, expected), answer in zip(cases, answers, strict=True)
        if answer != {"__type": SERIALIZATION, **({"Message": expected} if expected else {})}
    ]
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:5])


@pytest.mark.parametrize("target", TARGETS)
def test_a_request_that_is_not_an_object(wire: Wire, target: str) -> None:
    for answer in wire.pipeline(target, ([], "a", 7, None)):
        assert answer == {"__type": SERIALIZATION}


@pytest.mark.parametrize("target", TARGETS)
def test_null_and_unknown_members(wire: Wire, target: str) -> None:
    """In every structure; the answer is the same as without them."""
    for place in places(target):
        if place.shape.type_name == "structure":
            plain = example(place.shape)
            absent = set(place.shape.members) - set(required(place.shape)) - set(plain)
            more = {"Unknown": {"S": [1.5]}, "tableName": 7, **plain, **dict.fromkeys(absent)}
            first, second = wire.pipeline(target, (request(place, it) for it in (plain, more)))
            assert first == second, place.path
            assert first.get("__type") != SERIALIZATION, place.path


BAD = {"B": "not base64!"}
KEY = {"pk": {"S": "x"}}
BESIDE_BAD_BASE64 = [
    ("PutItem", {"TableName": "Absent", "Item": {"pk": {"N": "x"}, "b": BAD}}),
    ("PutItem", {"TableName": "Absent", "Item": {"pk": BAD}, "ConditionExpression": "("}),
    ("PutItem", {"TableName": "Absent", "Item": {"pk": BAD}, "ReturnValues": "ALL_NEW"}),
    ("GetItem", {"TableName": "Absent", "Key": {"": {"S": ""}, "pk": BAD}}),
    (
        "UpdateItem",
        {
            "TableName": "Absent",
            "Key": KEY,
            "UpdateExpression": "SET a = ",
            "ExpressionAttributeValues": {":v": {"M": {"m": {"BS": ["YQ==", "?"]}}}},
        },
    ),
    ("DeleteItem", {"TableName": "Absent", "Key": {"pk": {"SS": []}, "sk": BAD}}),
    ("Query", {"TableName": "Absent", "ExclusiveStartKey": {"pk": BAD}}),
    ("Scan", {"TableName": "Absent", "Segment": 3, "ExclusiveStartKey": {"pk": BAD}}),
    (
        "BatchWriteItem",
        {"RequestItems": {"Absent": [{}, {"PutRequest": {"Item": {"pk": BAD}}}]}},
    ),
    (
        "TransactWriteItems",
        {"TransactItems": [{}, {"Put": {"TableName": "Absent", "Item": {"pk": BAD}}}]},
    ),
    ("ExecuteStatement", {"Statement": "SELECT", "Parameters": [BAD]}),
]


@pytest.mark.parametrize(("operation", "members"), BESIDE_BAD_BASE64)
def test_bad_base64_is_reported_before_anything_else(
    wire: Wire, operation: str, members: Any
) -> None:
    [answer] = wire.pipeline(f"DynamoDB_20120810.{operation}", [members])
    assert answer["__type"] == SERIALIZATION
    assert "Base64" in answer["Message"]
