"""Conditions that callers give for the stored item of a write: `where="stock >= :n", n=5`."""

from collections.abc import Mapping
from typing import Any

from hashrange.design.declare import conditions
from hashrange.design.declare.entity import Entity
from hashrange.design.errors import ConditionFailed
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.model.values import Item as WireItem


def condition_check(
    table: str, entity: Entity, key: WireItem, item: object, text: str, values: Mapping[str, Any]
) -> WriteAction:
    """A check of the stored item with this key. Raises DeclarationError for a wrong condition."""
    parsed = conditions.parse(text, entity.fields, entity.attributes, f"condition({entity})", "#c")
    found = conditions.bound(text, parsed, values, f"condition({entity})")
    parameters: dict[str, Any] = {
        "TableName": table,
        "Key": key,
        "ConditionExpression": parsed.text,
        "ExpressionAttributeNames": parsed.names,
    }
    if found.values:
        parameters["ExpressionAttributeValues"] = found.values
    error = ConditionFailed(f"{entity}: {text!r} does not hold", item)
    return WriteAction("ConditionCheck", parameters, key, lambda stored: error, holds=found.matches)


def split_values(
    entity: Entity, where: str | None, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(values of the condition's parameters, the rest) of keyword arguments."""
    if where is None:
        return {}, dict(given)
    parsed = conditions.parse(where, entity.fields, entity.attributes, f"condition({entity})", "#c")
    values = {n: v for n, v in given.items() if n in parsed.parameters}
    return values, {n: v for n, v in given.items() if n not in parsed.parameters}


def expect_where(where: str | None, values: Mapping[str, Any]) -> None:
    if where is None and values:
        raise TypeError(f"{', '.join(values)}: values of a condition without where")
