"""The writes of the item editor. Each is made only if the item has not changed meanwhile."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from hashrange.tools.console.console import Console
from hashrange.tools.console.outline import difference
from hashrange.tools.console.shapes import Item, TableShape

WATCHED_MAX = 100
"""The largest number of attributes that a condition compares. DynamoDB allows a condition 300
operators and 4 KB."""


@dataclass
class LostRace(Exception):
    """The item has changed since it was read. `current` is its present state, or None if it was
    deleted."""

    current: Item | None


def write(console: Console, shape: TableShape, read: Item | None, item: Item) -> None:
    """Write an item that was `read` before, or a new one. Raises `LostRace`.

    Only attributes that differ are written, so attributes that other programs have added are kept.
    """
    if read is None:
        put_new(console, shape, item)
        return
    changes = [change.name for change in difference(read, item)]
    if not changes:
        return
    made = _Names()
    condition = watch(made, shape, read, changes)
    sets = [f"{made.name(name)} = {made.value(item[name])}" for name in changes if name in item]
    removes = [made.name(name) for name in changes if name not in item]
    update = " ".join(
        f"{word} {', '.join(parts)}"
        for word, parts in (("SET", sets), ("REMOVE", removes))
        if parts
    )
    request = {"Key": shape.key_of(read), "UpdateExpression": update}
    _conditional(console, "update_item", shape, request, condition, made)


def put_new(console: Console, shape: TableShape, item: Item) -> None:
    """Put an item whose key must not exist yet. Raises `LostRace`."""
    made = _Names()
    condition = f"attribute_not_exists({made.name(shape.table.hash)})"
    _conditional(console, "put_item", shape, {"Item": item}, condition, made)


def delete(console: Console, shape: TableShape, read: Item) -> None:
    """Delete an item if it has not changed since it was read. Raises `LostRace`."""
    made = _Names()
    condition = watch(made, shape, read, ())
    _conditional(console, "delete_item", shape, {"Key": shape.key_of(read)}, condition, made)


def watch(made: "_Names", shape: TableShape, read: Item, changes: Iterable[str]) -> str:
    """The condition that attributes have not changed since they were read: all attributes or, if
    there are too many, only the keys and the attributes in `changes`. `made` makes the
    placeholders."""
    changed = set(changes)
    names = set(read) if len(read) <= WATCHED_MAX else {*shape.table.keys, *(changed & set(read))}
    kept = [f"{made.name(name)} = {made.value(read[name])}" for name in sorted(names)]
    absent = [f"attribute_not_exists({made.name(name)})" for name in sorted(changed - set(read))]
    return " AND ".join(kept + absent)


class _Names:
    """Placeholders for the names and values of one request."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, name: str) -> str:
        known = {text: placeholder for placeholder, text in self.names.items()}
        placeholder = known.get(name) or f"#n{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def value(self, value: dict[str, Any]) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder


def _conditional(
    console: Console,
    method: str,
    shape: TableShape,
    request: dict[str, Any],
    condition: str,
    made: _Names,
) -> None:
    values = {"ExpressionAttributeValues": made.values} if made.values else {}
    try:
        console.call(
            method,
            TableName=shape.name,
            **request,
            **values,
            ConditionExpression=condition,
            ExpressionAttributeNames=made.names,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        raise LostRace(error.response.get("Item")) from None
