"""Adds to an item that may not exist: one update adds to it or creates it."""

from collections.abc import Iterator, Mapping
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.declare.shapes import SHAPE_ATTRIBUTE
from hashrange.design.errors import BadValue
from hashrange.design.execute.batches import get_one
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.update_parts import UpdateParts
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.design.execute.writes.writer import Writer
from hashrange.model.values import Item as WireItem


def add_or_create(writer: Writer, item: Item, amounts: Mapping[str, Any]) -> WriteAction:
    """Add to the stored item, or to `item` if there is no stored item.

    The update must not create attributes that a stored item lacks because its fields are None. So
    its condition is that there is no item, or that the item has all of these attributes. If the
    condition fails, `add` is sent instead. Raises BadValue.
    """
    entity = writer.entity(item)
    _expect_alone(writer, entity)
    key = entity.primary_key(vars(item))
    addition = writer.atomic("add", entity, key, amounts)
    assert addition.parts is not None
    image = entity.dump(item)
    _expect_empty_sets(entity, image, amounts)
    outside = addition.parts.outside(image)
    if outside is not None:  # the new item would be out of bounds: only update a stored one
        error_of = addition.error_of
        addition.error_of = lambda stored: outside if stored is None else error_of(stored)
        return addition

    def add_only() -> Steps[list[WriteAction] | None]:
        yield from ()
        action = writer.atomic("add", entity, key, amounts)
        action.remedy = create_after_all
        return [action]

    def create_after_all() -> Steps[list[WriteAction] | None]:
        stored = yield from get_one(writer.table, key)
        return [add_or_create(writer, item, amounts)] if stored is None else None

    parameters = _parameters(writer, entity, key, image, addition.parts)
    return WriteAction("Update", parameters, key, addition.error_of, add_only)


def _expect_alone(writer: Writer, entity: Entity) -> None:
    reason = None
    if entity.unique:
        reason = "has unique texts"
    elif entity.copies:
        reason = "has copies"
    elif entity.name in writer.copied:
        reason = "is copied by other items"
    if reason is not None:
        advice = "use `create`, and `add` if that raises AlreadyExists"
        raise BadValue(f"{entity} {reason}, so `add_or_create` refuses it: {advice}")


def _expect_empty_sets(entity: Entity, image: WireItem, amounts: Mapping[str, Any]) -> None:
    for name, amount in amounts.items():
        if "N" not in image.get(entity.attributes[name], {"N": "0"}):
            reason = (
                "leave this set empty in the item that you pass: otherwise a new item would get "
                "these members as well as the added ones"
            )
            raise BadValue(reason, entity=entity, field=name, value=amount)


def _parameters(
    writer: Writer, entity: Entity, key: WireItem, image: WireItem, parts: UpdateParts
) -> dict[str, Any]:
    """The request's parameters. `image` is a new item's stored form before `parts` are added."""
    expression = Expression()
    begun = {n: v for n, v in image.items() if n not in key and n not in parts.sets}
    conditions = [
        *(f"attribute_exists({expression.name(name)})" for name in begun),
        expression.as_read(SHAPE_ATTRIBUTE, entity.shapes.constants.get(SHAPE_ATTRIBUTE)),
        *parts.bound_conditions(expression),
    ]
    absent = f"attribute_not_exists({expression.name(writer.hash_name)})"
    settings = [*_settings(expression, begun, parts)]
    others = [n for n in parts.adds if n not in begun]
    additions = [f"{expression.name(n)} {expression.value(parts.adds[n])}" for n in others]
    clauses = {"SET": settings, "ADD": additions}
    return {
        "TableName": writer.table,
        "Key": key,
        "UpdateExpression": " ".join(f"{w} {', '.join(c)}" for w, c in clauses.items() if c),
        "ConditionExpression": f"{absent} OR ({' AND '.join(conditions)})",
        "ReturnValues": "ALL_NEW",
        **expression.parameters(),
    }


def _settings(expression: Expression, begun: WireItem, parts: UpdateParts) -> Iterator[str]:
    for name, value in begun.items():
        place = expression.name(name)
        start = f"{place} = if_not_exists({place}, {expression.value(value)})"
        amount = parts.adds.get(name)
        yield start if amount is None else f"{start} + {expression.value(amount)}"
    for name, value in parts.sets.items():
        yield f"{expression.name(name)} = {expression.value(value)}"
