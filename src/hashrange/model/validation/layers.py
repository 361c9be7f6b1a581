"""Which of the service's two validation layers reads a request.

Since 2026 the service has moved operations to a newer layer, region by region. An operation is
listed here when most regions have moved it; docs/differences.md names the other regions. If the
newer layer cannot read a request, the older layer reads the whole request and reports faults in its
own words. Source: requests captured on the service in September and October 2026.
"""

from typing import Any

from hashrange.model.validation import fields, parts, shapes
from hashrange.model.validation.parts import Part

SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
NEWER = frozenset((*SINGLE_WRITES, "GetItem", "BatchGetItem", "Query", "Scan"))
"""The operations whose requests the newer layer reads."""
WITH_OWN_PARSER = frozenset(("SearchVectors",))
WITH_VALUES = NEWER | {"BatchWriteItem", "TransactGetItems", "TransactWriteItems"}
"""The operations whose requests contain attribute values, without those of PartiQL."""

_LEVELS_MAX = 63
"""The deepest nesting of a value that the newer layer reads, the value itself included."""


def survey(operation: str, content: dict[str, Any]) -> tuple[bool, bool]:
    """Two answers about JSON content: whether legacy validation reads the request and, if not,
    whether a value is nested too deep for the newer layer.

    The newer layer finds such a value only after it has checked sizes and limits, and then hands
    the request on to legacy validation. The content must have passed `fields.read`.
    """
    if operation not in NEWER or _lacks_members(operation, content):
        return True, False
    too_deep = False
    for part in parts.of(content, shapes.of_request(operation)):
        if _is_unreadable(part):
            return True, False
        too_deep = too_deep or (part.name == parts.ATTRIBUTE_VALUE and part.level > _LEVELS_MAX)
    return False, too_deep


def _lacks_members(operation: str, content: dict[str, Any]) -> bool:
    named = content.get("TableName")
    if operation in ("UpdateItem", "Query", "Scan") and named is None:
        return True
    if operation == "UpdateItem":
        return content.get("Key") is None and named != ""
    if operation == "Scan":
        conditions = (content.get("ScanFilter") or {}).values()
        return any((each or {}).get("ComparisonOperator") is None for each in conditions)
    return False


def _is_unreadable(part: Part) -> bool:
    """Whether the newer layer cannot read this part: a boolean written as a string, an integer that
    does not fit, or a value that has not exactly one type."""
    content, name, shape, _ = part
    if shape.kind == "boolean":
        return isinstance(content, str)
    if shape.kind == "integer":
        return bool(content != fields.nearest_integer(content))
    if name == parts.ATTRIBUTE_VALUE:
        if len(content) == 1:
            [(member, value)] = content.items()
            return value is None or member not in shape.members
        return sum(content.get(member) is not None for member in shape.members) != 1
    return False
