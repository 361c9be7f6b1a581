"""Properties of a request for one item that policies may depend on: its leading key and its shape.

The leading key is the partition key value. The shape determines all other condition keys. Requests
with the same leading key and shape share one decision of the policies.
"""

from collections.abc import Hashable
from typing import Any

from hashrange.model.tables import Table
from hashrange.model.values import AttributeValue

OPERATIONS = {"GetItem": "key", "DeleteItem": "key", "UpdateItem": "key", "PutItem": "item"}
"""Maps each operation on one item to the parameter that contains the key of the item."""


def leading(name: str, request: Any, table: Table) -> str | None:
    """The leading key of a request for one item: its partition key value, as policies write it.
    None if the operation `name` is not on one item, or if the item lacks the partition key."""
    if name not in OPERATIONS:
        return None
    return key_text(getattr(request.body, OPERATIONS[name]).get(table.hash[0]))


def key_text(value: AttributeValue | None) -> str | None:
    """A partition key value as policies write it: a string as it is, the digits of a number, or
    base64."""
    [(kind, content)] = value.items() if value else [("", None)]
    return content if kind in ("S", "N", "B") and isinstance(content, str) else None


def shape(name: str, request: Any) -> Hashable:
    """The shape of a request for one item. Requests of one operation with equal shapes have equal
    condition keys, except the leading key."""
    body = request.body
    shared = tuple(getattr(body, OPERATIONS[name])), body.return_consumed_capacity
    if name == "GetItem":
        return (*shared, request.projection and request.projection.attributes)
    update = getattr(request, "update", None)
    return (*shared, body.return_values, named(request.condition), named(update))


def named(part: Any) -> frozenset[str]:
    """The attributes that a condition, projection or update names. Empty if `part` is None."""
    return frozenset() if part is None else getattr(part, "named", None) or part.attributes
