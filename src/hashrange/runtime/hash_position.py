"""The order in which a table's items are stored and scanned."""

from typing import Any

from hashrange.engine.keyspace.keys import partition


def hash_position(value: dict[str, Any]) -> bytes:
    """Where the items with this partition key value are: positions are ordered as the items are.

    Items that are written in this order need fewer pages of a file at a time. Raises LookupError,
    TypeError, AttributeError or ValueError if it is no value of a key.
    """
    return partition([value])
