"""Checks that each JSON value of a request has the type that its shape requires.

Source: behaviour and texts observed on the service. Members are read in the order of the request.
Unknown members are ignored, and null counts as absent. For an integer, a fraction is cut off, and a
number that does not fit in 32 bits becomes the nearest one that fits. For a boolean, some strings
are accepted.
"""

import math
from typing import Any

from hashrange.model.errors import SerializationException
from hashrange.model.validation import java, shapes
from hashrange.model.values import check_base64

_LONGS = range(-(2**63), 2**63)
_NOT_A_FIELD = "Unexpected field type"
_NOT_AN_ELEMENT = "Unexpected value type in payload"
_NOT_A_COLLECTION_ELEMENT = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to "
    "class java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)
_OBJECT_UNEXPECTED = "Start of structure or map found where not expected"
_NOT_BASE64 = "only base-64-encoded strings are convertible to bytes"
_NOT_BOOLEAN = "Unexpected token received from parser"
_BOOLEAN_VALUES = ("BooleanAttributeValue", "NullAttributeValue")
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
"""Maps the strings that are accepted as booleans, in lower case, to their values."""


def read(content: Any, name: str, *, inside_collection: bool = False) -> Any:
    """JSON content of this shape as the service reads it, without unknown and null members.

    Null elements of a list and null values of a map are kept, but a null structure becomes an empty
    structure. Raises SerializationException.
    """
    shape = shapes.of(name)
    match content:
        case dict():
            return _read_object(content, shape)
        case list():
            if name in _BOOLEAN_VALUES:
                raise SerializationException("")
            if shape.kind != "list":
                raise SerializationException(
                    f"Unrecognized collection type {'' if shape.kind == 'map' else 'class '}"
                    + java.class_name(name)
                )
            if shapes.of(shape.member).kind == "string" and set(map(type, content)) == {str}:
                return content
            return [_read_element(element, shape.member) for element in content]
    if shape.kind in ("structure", "list", "map"):
        raise SerializationException(_refusal_of_scalar(shape, inside_collection))
    return _read_scalar(content, name, shape)


def _read_object(content: dict[str, Any], shape: shapes.Shape) -> dict[str, Any]:
    if shape.kind == "structure":
        return {
            member: read(value, shape.members[member])
            for member, value in content.items()
            if value is not None and member in shape.members
        }
    if shape.kind == "map":
        return {key: _read_element(value, shape.value) for key, value in content.items()}
    raise SerializationException(_OBJECT_UNEXPECTED)


def _read_element(content: Any, name: str) -> Any:
    if content is None:
        return {} if shapes.of(name).kind == "structure" else None
    return read(content, name, inside_collection=True)


def _refusal_of_scalar(shape: shapes.Shape, inside_collection: bool) -> str:
    if not inside_collection:
        return _NOT_A_FIELD
    return _NOT_AN_ELEMENT if shape.kind == "structure" else _NOT_A_COLLECTION_ELEMENT


def _read_scalar(content: str | float | bool, name: str, shape: shapes.Shape) -> Any:
    match shape.kind, content:
        case "blob", str():
            check_base64(content)
            return content
        case ("string", str()) | ("boolean", bool()):
            return content
        case (("integer" | "long"), int() | float()) if not isinstance(content, bool):
            if math.isfinite(content):
                if shape.kind == "integer":
                    return nearest_integer(content)
                if int(content) in _LONGS:
                    return int(content)
        case (("double" | "timestamp"), int() | float()) if not isinstance(content, bool):
            return content
        case "blob", _:
            raise SerializationException(_NOT_BASE64)
        case "boolean", str():
            if content.lower() in _BOOLEANS:
                return _BOOLEANS[content.lower()]
            raise SerializationException(_NOT_BOOLEAN)
    raise SerializationException(
        f"{_token(content)} cannot be converted to {java.simple_name(name)}"
    )


def nearest_integer(number: float) -> int:
    """The nearest 32-bit integer, as the service reads a number."""
    return max(-(2**31), min(int(number), 2**31 - 1))


def _token(content: str | float | bool) -> str:
    match content:
        case bool():
            return "TRUE_VALUE" if content else "FALSE_VALUE"
        case int():
            return "NUMBER_VALUE"
        case float():
            return "DECIMAL_VALUE"
        case _:
            return "STRING_VALUE"
