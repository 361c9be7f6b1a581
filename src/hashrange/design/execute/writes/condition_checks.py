"""Conditions that callers set for a write: `where="stock >= :n", n=5`."""

from collections.abc import Mapping
from typing import Any

from hashrange.design.declare import conditions
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.typed_conditions import Condition, Where
from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.model.values import Item as WireItem


def condition_check(
    table: str,
    entity: Entity,
    key: WireItem,
    item: object,
    where: Where,
    values: Mapping[str, Any],
) -> WriteAction:
    """A check that the stored item with this key satisfies `where`.

    `item` is the `item` of the error if the condition fails. Raises DeclarationError if the
    condition is invalid.
    """
    text = where if isinstance(where, str) else ""
    if isinstance(where, Condition):
        if where.entity is not entity.model:
            raise BadValue(
                f"{type(where).__name__} is a condition of {where.entity.__name__}, not {entity}"
            )
        text, values = where.parts()
    parsed = conditions.parse(text, entity.fields, entity.attributes, f"condition({entity})", "#c")
    fault = entity.shapes.fault(parsed.fields)
    if fault is not None:
        raise BadValue(f"{entity}: {text!r}: {fault}")
    condition = conditions.bound(text, parsed, values, f"condition({entity})")
    parameters: dict[str, Any] = {
        "TableName": table,
        "Key": key,
        "ConditionExpression": parsed.text,
        "ExpressionAttributeNames": parsed.names,
    }
    if condition.values:
        parameters["ExpressionAttributeValues"] = condition.values
    error = ConditionFailed(f"{entity}: the condition {text!r} is false", item)
    return WriteAction(
        "ConditionCheck", parameters, key, lambda stored: error, holds=condition.matches
    )


def split_values(
    entity: Entity, where: Where | None, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide keyword arguments into (values of the condition's parameters, other arguments)."""
    if not isinstance(where, str):
        return {}, dict(arguments)
    parsed = conditions.parse(where, entity.fields, entity.attributes, f"condition({entity})", "#c")
    values = {n: v for n, v in arguments.items() if n in parsed.parameters}
    return values, {n: v for n, v in arguments.items() if n not in parsed.parameters}


def expect_where(where: Where | None, values: Mapping[str, Any]) -> None:
    if not isinstance(where, str) and values:
        raise TypeError(f"{', '.join(values)}: values can be passed only if `where` is a text")
