"""How long a key can be: it must have at least one byte, and no more than DynamoDB allows."""

import base64
from collections.abc import Mapping
from typing import Any

from hashrange.design.declare.keys.templates import Template
from hashrange.design.declare.schema import EntityKey, KeyColumn
from hashrange.design.errors import BadValue
from hashrange.model import limits
from hashrange.model.values import AttributeValue


def key_limits(key: EntityKey) -> tuple[tuple[KeyColumn, int], ...]:
    """(column, most bytes that DynamoDB allows) for each column of the key."""
    hashes = [(column, limits.PARTITION_KEY_BYTES_MAX) for column in key.hash]
    return (*hashes, *((column, limits.SORT_KEY_BYTES_MAX) for column in key.range))


def check_key_value(
    entity: object, column: KeyColumn, stored: AttributeValue, values: Mapping[str, Any], most: int
) -> None:
    """Raise BadValue for a key attribute that is empty or has more than `most` bytes."""
    if column.tag == "S":
        check_length(entity, column.template, stored["S"], values, most)
    elif column.tag == "B":
        check_length(entity, column.template, base64.b64decode(stored["B"]), values, most)


def check_length(
    entity: object, template: Template, key: str | bytes, values: Mapping[str, Any], most: int
) -> None:
    """Raise BadValue for a key that is empty or has more than `most` bytes.

    The error names the field with the longest text in the key.
    """
    if 0 < len(key) <= most // 4:  # a character has at most four bytes
        return
    size = len(key.encode() if isinstance(key, str) else key)
    if 0 < size <= most:
        return
    name = max(template.fields, key=lambda name: len(str(values.get(name) or "")), default="")
    reason = (
        f"a key has {size:,} bytes, but may have at most {most:,}" if size else "a key is empty"
    )
    raise BadValue(reason, entity=entity, field=name, value=values.get(name))
