"""Faults of attribute values and names that the service finds while it reads a request.

The service reports them before all other faults. So a request that was refused for another reason
is searched for these faults.
"""

from typing import Any

from hashrange.model.errors import ValidationException
from hashrange.model.validation import parts, shapes
from hashrange.model.values import INVALID, NESTED_TOO_DEEP, SUPPLIED, normalize

BAD_START = "The provided starting key is invalid"
_FAULTS_OF_START_KEYS = (
    SUPPLIED,
    NESTED_TOO_DEEP,
    f"{INVALID}Null attribute value",
    f"{INVALID}An string set",
    f"{INVALID}Binary sets",
)
"""The beginnings of faults that legacy validation reports as faults of the starting key."""
_MAPS_BY_CONDITION = ("FilterConditionMap", "KeyConditions")


def check_as_of_old(request: dict[str, Any], name: str) -> None:
    """Raise ValidationException for the first value in which legacy validation finds a fault."""
    for member, shape in shapes.of(name).members.items():
        for key, value in _values(request.get(member), shape):
            try:
                normalize(value)
            except ValidationException as refusal:
                raise ValidationException(_told(member, key, refusal.legacy)) from None


def _values(content: Any, shape: str) -> list[tuple[str, Any]]:
    """The outermost attribute values in a member of a request, each with its name. The name is ""
    if the member is not a map of attribute values."""
    if shapes.of(shape).value == parts.ATTRIBUTE_VALUE:
        return list((content or {}).items())
    values = (part for part in parts.of(content, shape) if part.name == parts.ATTRIBUTE_VALUE)
    return [("", part.content) for part in values if part.level == 1]


def _told(member: str, key: str, fault: str) -> str:
    if member == "ExpressionAttributeValues":
        return f"{member} contains invalid value: {fault} for key {key}"
    if member == "ExclusiveStartKey" and fault.startswith(_FAULTS_OF_START_KEYS):
        return f"{BAD_START}: {fault}"
    return fault


def has_empty_name(request: dict[str, Any], name: str) -> bool:
    """Whether an attribute has an empty name: in an item, a map, a key, or a list of names.

    Empty names in QueryFilter, ScanFilter and KeyConditions are allowed.
    """
    return any("" in part.content for part in parts.of(request, name) if _holds_names(part))


def _holds_names(part: parts.Part) -> bool:
    _, name, shape, _ = part
    return "AttributeName" in (shape.key, shape.member) and name not in _MAPS_BY_CONDITION
