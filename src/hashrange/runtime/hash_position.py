"""The place of an item in the order in which a table's items are stored and scanned."""

from typing import Any

from hashrange.engine.keyspace.keys import partition


def hash_position(value: dict[str, Any]) -> bytes:
    """The position of the items with this partition key value, among those of their table.

    Items are stored in the order of their positions. To write them in this order needs fewer pages
    of a file at a time. Raises LookupError, TypeError, AttributeError or ValueError if it is not a
    value that a key attribute can have.
    """
    return partition([value])
