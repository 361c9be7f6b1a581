"""The copied fields of an item to write: fills them in, and checks them against their owners."""

from collections.abc import Iterable, Mapping
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import AS_READ, Copy, Item, as_read
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.types import single_line
from hashrange.design.errors import Conflict, NotFound
from hashrange.design.execute.batches import get_one
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.model.values import Item as WireItem


class CopiedFields:
    """Reads the owners from which an item copies fields, and checks the copies against them."""

    def __init__(self, model: TableModel) -> None:
        self.model = model

    def read(self, key: WireItem) -> Steps[WireItem | None]:
        return get_one(self.model.name, key)

    def filled(
        self,
        entity: Entity,
        item: Item,
        pending: Mapping[str, WireItem],
        old: WireItem | None = None,
    ) -> Steps[tuple[Item, list[WriteAction]]]:
        """(item, checks): the item with missing copies filled in, and checks of the copies' owners.

        A check fails if the owner has changed since it was read. `pending` has the owners that the
        same transaction writes, by key. `old` is the item before the write. If the item now refers
        to another owner, copies that the caller did not change are taken from this owner.
        """
        if not entity.copies:
            return item, []
        checks: dict[str, tuple[Entity, WireItem, set[str]]] = {}
        values: dict[str, Any] = {}
        for reference, names in self.model.references.owners(entity):
            owner, key = reference.parent, reference.parent_key(entity.complete(vars(item)))
            raw = pending.get(repr(key))
            is_pending = raw is not None
            if raw is None:
                raw = yield from self.read(key)
            if raw is None:
                raise NotFound(f"{entity}: there is no {owner} ({single_line(key)})")
            source = owner.load(raw)
            awaited = [name for name in names if entity.copies[name].sync != "stream"]
            moved = old is not None and _differ(entity, old, item, reference.fields)
            for name in names:
                kept = moved and old is not None and not _differ(entity, old, item, [name])
                if name not in awaited or kept or isinstance(getattr(item, name), Copy):
                    values[name] = getattr(source, entity.copies[name].field)
                elif getattr(item, name) != getattr(source, entity.copies[name].field):
                    raise Conflict(
                        f"{entity}: {name} differs from the field that it copies from {owner}", item
                    )
            if awaited and not is_pending:
                copied = {entity.copies[name].field for name in awaited}
                checks.setdefault(repr(key), (owner, raw, set()))[2].update(copied)
        if values:
            filled = type(item).model_validate({**_given(item), **values})
            if AS_READ in vars(item):
                vars(filled)[AS_READ] = as_read(item)
            item = filled
        return item, [self.owner_check(*check) for check in checks.values()]

    def owner_check(self, owner: Entity, raw: WireItem, fields: set[str]) -> WriteAction:
        """A check that the owner's fields are as they were read."""
        expression = Expression()
        attributes = sorted(owner.attributes[name] for name in fields)
        conditions = [expression.as_read(name, raw.get(name)) for name in attributes]
        conditions.append(
            f"attribute_exists({expression.name(self.model.table.hash[0].attribute)})"
        )
        key = owner.key_of(raw)
        parameters = {
            "TableName": self.model.name,
            "Key": key,
            "ConditionExpression": " AND ".join(conditions),
            **expression.parameters(),
        }
        return WriteAction("ConditionCheck", parameters, key)

    def changed(self, entity: Entity, old: WireItem, item: Item) -> bool:
        """Whether a copy, or a field that refers to an owner, differs between `old` and `item`."""
        if any(isinstance(getattr(item, name), Copy) for name in entity.copies):
            return True
        owners = self.model.references.owners(entity)
        return any(_differ(entity, old, item, {*names, *one.fields}) for one, names in owners)


def _differ(entity: Entity, old: WireItem, item: Item, names: Iterable[str]) -> bool:
    for name in names:
        value = getattr(item, name)
        stored = None if value is None else entity.fields[name].encode(value)
        if stored != old.get(entity.attributes[name]):
            return True
    return False


def _given(item: Item) -> dict[str, Any]:
    return {n: v for n, v in vars(item).items() if n != AS_READ and not isinstance(v, Copy)}
