"""Unique texts: a marker item for each text, written and deleted together with its item.

A marker's key is `unique#namespace#text`. Its attribute `owner` holds the key of its item, and its
expiry is that of its item. Only writes of this item delete the marker. But if the item does not
exist or has expired, another item may take over the marker.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.key_length import check_length
from hashrange.design.declare.schema import UniqueTemplate
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import ConditionFailed, NotUnique
from hashrange.design.execute.batches import get_one
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.model import limits
from hashrange.model.values import AttributeValue, Item

OWNER_ATTRIBUTE = "owner"
MARKER_TYPE = "unique"


class Marker(NamedTuple):
    """A marker that an item needs. `expiry` is the item's value of the table's TTL attribute."""

    entity: Entity
    unique: UniqueTemplate
    text: str
    key: Item
    owner: Item
    expiry: AttributeValue | None

    def error(self, stored: Item | None) -> ConditionFailed:
        name, fields = self.unique.name, ", ".join(self.unique.template.fields)
        message = f"{self.entity}.{name} ({fields}): another item has {self.text!r}"
        return NotUnique(message, stored, name, self.text)


def markers(
    model: TableModel, entity: Entity, old: Item | None, new: Item | None
) -> Iterator[WriteAction]:
    """Deletes and puts of markers for a change of a stored item from `old` to `new`."""
    was, now = markers_of(model, entity, old), markers_of(model, entity, new)
    for name, marker in was.items():
        if name not in now:
            yield _delete(model, marker)
    for name, marker in now.items():
        before = was.get(name)
        if before is None or (before.owner, before.expiry) != (marker.owner, marker.expiry):
            owners = [marker.owner] if old is None else [marker.owner, entity.key_of(old)]
            yield _put(model, marker, owners)


def markers_of(model: TableModel, entity: Entity, image: Item | None) -> dict[str, Marker]:
    """The markers that a stored item needs, by the partition key of the marker."""
    needed: dict[str, Marker] = {}
    if image is None or not entity.unique:
        return needed
    values, owner = entity.complete(vars(entity.load(image))), entity.key_of(image)
    expiry = image.get(model.ttl_attribute) if model.ttl_attribute is not None else None
    for unique in entity.unique:
        text = unique.template.render(values)
        if text is not None:
            name = f"unique#{unique.namespace}#{text}"
            check_length(entity, unique.template, name, values, limits.PARTITION_KEY_BYTES_MAX)
            key = {
                column.attribute: {"S": part}
                for column, part in zip(model.table.columns, (name, MARKER_TYPE), strict=False)
            }
            needed[name] = Marker(entity, unique, text, key, owner, expiry)
    return needed


def _put(model: TableModel, marker: Marker, owners: list[Item]) -> WriteAction:
    item = {**marker.key, OWNER_ATTRIBUTE: {"M": marker.owner}}
    if model.type_attribute is not None:
        item[model.type_attribute] = {"S": MARKER_TYPE}
    if model.ttl_attribute is not None and marker.expiry is not None:
        item[model.ttl_attribute] = marker.expiry

    def take_over() -> Steps[list[WriteAction] | None]:
        """Actions that take the marker from an owner that is gone or has expired; otherwise None.

        They check again that the owner is gone or has expired.
        """
        stored = yield from get_one(model.name, marker.key)
        if stored is None:
            return [_put(model, marker, owners)]
        owner = stored[OWNER_ATTRIBUTE]["M"]
        holder = yield from get_one(model.name, owner)
        if holder is not None and not model.expired(holder, int(time.time())):
            return None
        parameters = _owned_by(model, [*owners, owner])
        put = WriteAction(
            "Put", {**parameters, "Item": item}, marker.key, marker.error, marker=True
        )
        return [put, _check_left_behind(model, owner, marker)]

    parameters = _owned_by(model, owners)
    action = WriteAction("Put", {**parameters, "Item": item}, marker.key, marker.error, take_over)
    action.marker = True
    return action


def _delete(model: TableModel, marker: Marker) -> WriteAction:
    def leave() -> Steps[list[WriteAction] | None]:
        """No actions if another item has taken over the marker; else None, and the write fails."""
        stored = yield from get_one(model.name, marker.key)
        taken = stored is not None and stored[OWNER_ATTRIBUTE] != {"M": marker.owner}
        return [] if taken else None

    parameters = {**_owned_by(model, [marker.owner]), "Key": marker.key}
    return WriteAction("Delete", parameters, marker.key, remedy=leave, marker=True)


def _check_left_behind(model: TableModel, owner: Item, marker: Marker) -> WriteAction:
    """A check that the previous owner of the marker does not exist or has expired."""
    expression = Expression()
    condition = expression.as_read(model.table.hash[0].attribute, None)
    if model.ttl_attribute is not None:
        expiry, now = expression.name(model.ttl_attribute), expression.value(_now())
        condition += f" OR {expiry} <= {now}"
    parameters = {
        "TableName": model.name,
        "Key": owner,
        "ConditionExpression": condition,
        **expression.parameters(),
    }
    return WriteAction("ConditionCheck", parameters, owner, marker.error)


def _now() -> AttributeValue:
    return {"N": str(int(time.time()))}


def _owned_by(model: TableModel, owners: list[Item]) -> dict[str, object]:
    """A condition that the marker does not exist, or belongs to one of these items."""
    expression = Expression()
    allowed = [expression.as_read(model.table.hash[0].attribute, None)]
    allowed += [expression.as_read(OWNER_ATTRIBUTE, {"M": owner}) for owner in owners]
    return {
        "TableName": model.name,
        "ConditionExpression": " OR ".join(allowed),
        **expression.parameters(),
    }
