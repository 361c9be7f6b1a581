"""Unique texts: a marker item for each text, written and deleted together with its item.

A marker's key is `unique#Entity#declaration#text`. Its attribute `owner` is the key of its item,
and only writes of that item may delete it.
"""

from collections.abc import Iterator

from hashrange.design.declare.entity import Entity, UniqueTemplate
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import ConditionFailed, NotUnique
from hashrange.design.execute.write_actions import Expression, WriteAction
from hashrange.model.values import Item

OWNER_ATTRIBUTE = "owner"
MARKER_TYPE = "unique"


def markers(
    model: TableModel, entity: Entity, old: Item | None, new: Item | None
) -> Iterator[WriteAction]:
    """Deletes and puts of markers for a change of the stored item from `old` to `new`."""
    for unique in entity.unique:
        was, now = _key(model, entity, unique, old), _key(model, entity, unique, new)
        if was is not None and was != now:
            assert old is not None
            parameters = _condition(model, [entity.key_of(old)])
            yield WriteAction("Delete", {**parameters, "Key": was}, was)
        if now is not None and new is not None and not (was == now and _same_key(entity, old, new)):
            holders = [entity.key_of(image) for image in (new, old) if image is not None]
            yield _marker(model, entity, unique, now, holders)


def _key(
    model: TableModel, entity: Entity, unique: UniqueTemplate, image: Item | None
) -> Item | None:
    text = None if image is None else unique.template.render(vars(entity.load(image)))
    if text is None:
        return None
    texts = (f"unique#{entity.name}#{unique.name}#{text}", MARKER_TYPE)
    return {c.attribute: {"S": t} for c, t in zip(model.table.columns, texts, strict=False)}


def _marker(
    model: TableModel, entity: Entity, unique: UniqueTemplate, key: Item, holders: list[Item]
) -> WriteAction:
    marker = {**key, OWNER_ATTRIBUTE: {"M": holders[0]}}
    if model.type_attribute is not None:
        marker[model.type_attribute] = {"S": MARKER_TYPE}

    def error_of(item: Item | None) -> ConditionFailed:
        return NotUnique(f"{entity}.{unique.name}: another item has this text", item, unique.name)

    return WriteAction("Put", {**_condition(model, holders), "Item": marker}, key, error_of)


def _condition(model: TableModel, holders: list[Item]) -> dict[str, object]:
    """A condition that the marker does not exist or that one of these items owns it."""
    expression = Expression()
    allowed = [expression.as_read(model.table.hash[0].attribute, None)]
    allowed += [expression.as_read(OWNER_ATTRIBUTE, {"M": holder}) for holder in holders]
    return {
        "TableName": model.name,
        "ConditionExpression": " OR ".join(allowed),
        **expression.parameters(),
    }


def _same_key(entity: Entity, old: Item | None, new: Item) -> bool:
    return old is not None and entity.key_of(old) == entity.key_of(new)
