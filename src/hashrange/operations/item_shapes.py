"""The properties of a request for one item that policies may depend on. Requests with the same
properties share one decision.

The properties are the leading key, which is the value of the partition key, and the shape of the
request. The shape determines all other condition keys.
"""

from collections.abc import Hashable
from typing import Any

from hashrange.model.tables import Table
from hashrange.model.values import AttributeValue

OPERATIONS = {"GetItem": "key", "DeleteItem": "key", "UpdateItem": "key", "PutItem": "item"}
"""The operations on one item, each with the parameter that has its key."""


def leading(name: str, request: Any, table: Table) -> str | None:
    """The leading key of a request for one item: its partition key value, as policies write it.
    None for any other request, or if the item lacks the partition key."""
    if name not in OPERATIONS:
        return None
    return key_text(getattr(request.body, OPERATIONS[name]).get(table.hash[0]))


def key_text(value: AttributeValue | None) -> str | None:
    """A partition key value as policies write it: text, a number's digits, or base64."""
    [(kind, content)] = value.items() if value else [("", None)]
    return content if kind in ("S", "N", "B") and isinstance(content, str) else None


def shape(name: str, request: Any) -> Hashable:
    """A value that is equal for two requests about an item if at most their leading keys differ."""
    body = request.body
    shared = tuple(getattr(body, OPERATIONS[name])), body.return_consumed_capacity
    if name == "GetItem":
        return (*shared, request.projection and request.projection.attributes)
    update = getattr(request, "update", None)
    return (*shared, body.return_values, named(request.condition), named(update))


def named(part: Any) -> frozenset[str]:
    """The attributes that a condition, projection or update names; none if it is absent."""
    return frozenset() if part is None else getattr(part, "named", None) or part.attributes
