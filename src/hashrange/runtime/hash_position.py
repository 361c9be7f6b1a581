"""The position of an item in the order in which a table's items are stored and scanned."""

from typing import Any

from hashrange.engine.keyspace.keys import partition


def hash_position(value: dict[str, Any]) -> bytes:
    """The position, in their table, of the items with this partition key value.

    Writing items in the order of their positions changes fewer pages of a file at a time. The
    position is empty for a value that cannot be a key; such an item will be refused.
    """
    try:
        return partition([value])
    except (ValueError, LookupError, TypeError, AttributeError):
        return b""
