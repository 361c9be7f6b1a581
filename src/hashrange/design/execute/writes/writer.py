"""Turns writes of items into actions. Only this module writes key attributes.

Every write computes the complete new stored item, so that no index key, marker or copy can be
forgotten. An update sends only the attributes that have changed since the item was read. Its
condition is that the attributes on which the changes depend still have the values that were read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hashrange.design.declare.absent import absent_value, is_absent
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import AS_READ, Item, View, as_read
from hashrange.design.declare.shapes import SHAPE_ATTRIBUTE, shape_of
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.types import single_line
from hashrange.design.errors import (
    AlreadyExists,
    BadValue,
    ConditionFailed,
    Conflict,
    NotFound,
    suggest,
)
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.atomic_updates import ATOMIC, assign, root
from hashrange.design.execute.writes.copied_fields import CopiedFields
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.unique_markers import markers
from hashrange.design.execute.writes.update_parts import UpdateParts
from hashrange.design.execute.writes.write_actions import WriteAction, update_action
from hashrange.model.values import AttributeValue, equal
from hashrange.model.values import Item as WireItem


@dataclass
class PreparedWrite:
    """The actions of one write, and the item after it: as an object, and in stored form.

    `renamed` are the changed fields that other items copy. For a new item, these are all copied
    fields. `checks` test the caller's condition.
    """

    item: Item
    image: WireItem | None
    actions: list[WriteAction]
    renamed: frozenset[str] = frozenset()
    checks: list[WriteAction] = field(default_factory=list)

    @property
    def updates(self) -> bool:
        """Whether the item is written by UpdateItem, which keeps its other attributes."""
        return bool(self.actions) and self.actions[0].kind == "Update"

    def done(self) -> Item:
        if self.image is not None:
            vars(self.item)[AS_READ] = self.image
        return self.item


Pending = Mapping[str, WireItem]
"""The items that the same transaction writes, in stored form, by key."""
NONE_PENDING: Pending = {}
_NO_FIELDS: frozenset[str] = frozenset()


class Writer:
    """Prepares writes. It reads items on which a write depends, and writes nothing itself."""

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self.table = model.name
        self.hash_name = model.table.hash[0].attribute
        self.copying = CopiedFields(model)
        self.copied: dict[str, set[str]] = {}
        for entity in model.entities:
            for copy in entity.copies.values():
                if copy.sync != "stream":  # others are updated by the stream's reader
                    owner = model.entity(copy.owner)
                    self.copied.setdefault(owner.name, set()).add(copy.field)

    def entity(self, item: Item) -> Entity:
        entity = self.model.by_model.get(type(item))
        if entity is None:
            name = item if isinstance(item, type) else type(item).__name__
            reason = ": a view is read-only" if isinstance(item, View) else ""
            raise BadValue(f"{name} is not an item of {self.table!r}{reason}")
        return entity

    def _known(self, item: Item) -> Entity:
        """The item's entity. Raises BadValue for an item that a newer program wrote."""
        entity = self.entity(item)
        raw = as_read(item)
        if raw is not None:
            entity.shapes.expect_known(raw)
        return entity

    # ---- whole items ----

    def put(self, item: Item, *, pending: Pending = NONE_PENDING) -> Steps[PreparedWrite]:
        entity = self._known(item)
        item, checks = yield from self.copying.filled(entity, item, pending)
        old, expression, conditions = None, Expression(), []
        if entity.unique or entity.name in self.copied:
            old = yield from self.copying.read(entity.primary_key(vars(item)))
            conditions = self._still(entity, old, expression)
        if entity.version is not None:
            conditions.append(self._version_as_given(entity, item, expression))
        item = self._counted(entity, item)
        image = entity.dump(item)
        action = self._put(entity, image, conditions, expression, Conflict)
        texts = markers(self.model, entity, old, image) if entity.unique else ()
        actions = [action, *checks, *texts]
        return PreparedWrite(item, image, actions, self._renamed(entity, old, image))

    def create(self, item: Item, *, pending: Pending = NONE_PENDING) -> Steps[PreparedWrite]:
        entity = self._known(item)
        item, checks = yield from self.copying.filled(entity, item, pending)
        item = self._counted(entity, item)
        image = entity.dump(item)
        expression = Expression()
        conditions = [expression.as_read(self.hash_name, None)]
        action = self._put(entity, image, conditions, expression, AlreadyExists)
        actions = [action, *checks, *markers(self.model, entity, None, image)]
        return PreparedWrite(item, image, actions, self._renamed(entity, None, image))

    def move(self, item: Item) -> Steps[PreparedWrite]:
        entity = self.entity(item)
        old = self._as_read(entity, item)
        written = yield from self.create(item)
        assert written.image is not None
        if equal({"M": entity.key_of(old)}, {"M": entity.key_of(written.image)}):
            raise BadValue(f"{entity}: the key has not changed: use save")
        foreign = {n: v for n, v in old.items() if n not in entity.owned_attributes}
        put = written.actions[0]
        image = {**foreign, **written.image}
        put.parameters["Item"] = image
        checks = [a for a in written.actions[1:] if a.kind == "ConditionCheck"]
        expression = Expression()
        conditions = self._still(entity, old, expression, everything=True)
        delete = self._delete(entity.key_of(old), conditions, expression)
        actions = [delete, put, *checks, *markers(self.model, entity, old, image)]
        return PreparedWrite(written.item, image, actions, written.renamed)

    def delete(self, entity: Entity, key: WireItem, item: Item | None) -> Steps[list[WriteAction]]:
        expression, conditions = Expression(), []
        old = None
        if entity.unique:
            old = yield from self.copying.read(key)
            if old is None:
                return []
            conditions = self._still(entity, old, expression)
        elif entity.version is not None and item is not None and as_read(item) is not None:
            old = as_read(item)
            conditions = self._still(entity, old, expression, everything=True)
            conditions = [f"{expression.as_read(self.hash_name, None)} OR {conditions[-1]}"]
        action = self._delete(key, conditions, expression)
        return [action, *markers(self.model, entity, old, None)]

    # ---- updates ----

    def save(
        self, item: Item, *, trusted: bool = False, pending: Pending = NONE_PENDING
    ) -> Steps[PreparedWrite]:
        """Update the fields that have changed. With `trusted`, copied fields are not checked."""
        entity = self._known(item)
        old = self._as_read(entity, item)
        if not equal({"M": entity.primary_key(vars(item))}, {"M": entity.key_of(old)}):
            raise BadValue(
                f"{entity}: key ({', '.join(sorted(entity.key_fields))}) cannot change: use move"
            )
        if _same(entity, old, entity.dump(item)):
            return PreparedWrite(item, old, [])
        checks: list[WriteAction] = []
        if not trusted and self.copying.changed(entity, old, item):
            item, checks = yield from self.copying.filled(entity, item, pending, old)
        item = self._counted(entity, item)
        image = entity.dump(item)
        update = self._update(entity, old, image)
        new = {n: v for n, v in old.items() if n not in entity.owned_attributes} | image
        actions = [update, *checks, *markers(self.model, entity, old, image)]
        return PreparedWrite(item, new, actions, self._renamed(entity, old, image))

    def _update(self, entity: Entity, old: WireItem, image: WireItem) -> WriteAction:
        sets = {n: v for n, v in image.items() if n not in old or not equal(old[n], v)}
        removes = [n for n in old if n in entity.owned_attributes and n not in image]
        expression = Expression()
        conditions = self._unchanged(entity, old, {*sets, *removes}, expression)
        key, parts = entity.key_of(old), UpdateParts(sets, frozenset(removes))
        error = _conflict_with(entity, old)
        return update_action(self.table, key, parts, conditions, expression, error)

    def _unchanged(
        self, entity: Entity, old: WireItem, touched: set[str], expression: Expression
    ) -> list[str]:
        """Conditions: the item exists, and the changes depend on no attribute that has changed."""
        conditions = [f"attribute_exists({expression.name(self.hash_name)})"]
        if entity.version is not None:
            attribute = entity.attributes[entity.version]
            return [*conditions, expression.as_read(attribute, old.get(attribute))]
        if SHAPE_ATTRIBUTE in touched:  # an upgrade can depend on any attribute
            touched = {*touched, *old}
        guarded = touched - entity.computed_attributes
        together: list[set[str]] = []
        for key in (entity.key, *entity.indexes):
            together.append({entity.attributes[name] for name in entity.inputs(key.fields)})
        for unique in entity.unique:
            fields = entity.inputs(unique.template.fields)
            together.append({entity.attributes[name] for name in fields})
        for derived in entity.derived.values():
            together.append({entity.attributes[name] for name in derived.inputs})
        for attributes in together:
            if attributes & touched:
                guarded |= attributes
        guarded -= {column.attribute for column in entity.key.columns}
        guarded -= {entity.attributes[name] for name in entity.update_times}
        return conditions + [expression.as_read(n, old.get(n)) for n in sorted(guarded)]

    # ---- without reading ----

    def patch(self, entity: Entity, key: WireItem, values: Mapping[str, Any]) -> WriteAction:
        sets, removes = {}, []
        for name, value in values.items():
            self._expect_free(entity, name)
            if is_absent(value):
                if value is None and absent_value(entity.fields[name]) is not None:
                    raise BadValue("it cannot be None", entity=entity, field=name)
                removes.append(entity.attributes[name])
            else:
                sets[entity.attributes[name]] = self._encoded(entity, name, value)
        return self._blind(entity, key, UpdateParts(sets, frozenset(removes)))

    def atomic(
        self, method: str, entity: Entity, key: WireItem, arguments: Mapping[str, Any]
    ) -> WriteAction:
        """The action of an `add`, `discard` or `append`."""
        for name in arguments:
            self._expect_free(entity, name)
        return self._blind(entity, key, ATOMIC[method](entity, arguments))

    def assign(self, entity: Entity, key: WireItem, path: str, value: Any) -> WriteAction:
        self._expect_free(entity, root(path))
        return self._blind(entity, key, assign(entity, path, value))

    @staticmethod
    def _encoded(entity: Entity, name: str, value: Any) -> AttributeValue:
        try:
            return entity.fields[name].encode(value)
        except BadValue as error:
            raise error.of(entity, name, value) from None

    def _blind(self, entity: Entity, key: WireItem, parts: UpdateParts) -> WriteAction:
        if entity.version is not None:
            one = UpdateParts(adds={entity.attributes[entity.version]: {"N": "1"}})
            parts = parts.followed_by(one)
        for name in entity.update_times:
            self._expect_free(entity, name)
            stamp = {entity.attributes[name]: self._encoded(entity, name, datetime.now(UTC))}
            parts = parts.followed_by(UpdateParts(sets=stamp))
        expression = Expression()
        shape = entity.shapes.constants.get(SHAPE_ATTRIBUTE)
        conditions = [
            f"attribute_exists({expression.name(self.hash_name)})",
            expression.as_read(SHAPE_ATTRIBUTE, shape),
        ]
        error = _not_found(entity, key)
        return update_action(self.table, key, parts, conditions, expression, error)

    def _expect_free(self, entity: Entity, name: str) -> None:
        """Raise BadValue if a key, a marker or a copy depends on the field."""
        reason = None
        if name not in entity.fields:
            raise BadValue(f"{entity} has no field {name!r}{suggest(name, entity.fields)}")
        if name in entity.derived:
            raise BadValue(f"{entity}: {name} is computed from {entity.derived[name].inputs}")
        if name in entity.feeding:
            reason = f"{entity.feeding[name]!r} depends on it"
        elif name in entity.copies:
            reason = "it is a copy"
        elif name in self.copied.get(entity.name, ()):
            reason = "other items copy it"
        elif name == entity.version:
            reason = "it is the version"
        if reason is not None:
            raise BadValue(f"{entity}: write {name} with edit, update or save, since {reason}")

    # ---- parts ----

    def _renamed(self, entity: Entity, old: WireItem | None, image: WireItem) -> frozenset[str]:
        """The changed fields that other items copy; for a new item, all fields that are copied."""
        if entity.name not in self.copied:
            return _NO_FIELDS
        attributes = {name: entity.attributes[name] for name in self.copied[entity.name]}
        return frozenset(
            n for n, a in attributes.items() if old is None or old.get(a) != image.get(a)
        )

    def _as_read(self, entity: Entity, item: Item) -> WireItem:
        old = as_read(item)
        if old is None:
            raise BadValue(f"{entity}: the item was not read from the table: use put or create")
        return old

    def _still(
        self, entity: Entity, old: WireItem | None, expression: Expression, everything: bool = False
    ) -> list[str]:
        """Conditions: the attributes for markers and copies, or all attributes, are as read."""
        if old is None:
            return [expression.as_read(self.hash_name, None)]
        if entity.version is not None:
            names = {entity.attributes[entity.version]}
        elif everything:
            names = set(entity.owned_attributes)
        else:
            fields = entity.inputs(f for u in entity.unique for f in u.template.fields)
            fields |= self.copied.get(entity.name, set())
            names = {entity.attributes[name] for name in fields}
        names -= {column.attribute for column in entity.key.columns}
        exists = f"attribute_exists({expression.name(self.hash_name)})"
        return [exists, *(expression.as_read(name, old.get(name)) for name in sorted(names))]

    def unchanged(self, entity: Entity, old: WireItem | None) -> tuple[Expression, Sequence[str]]:
        """(expression, conditions): the item is as read or, if `old` is None, does not exist."""
        expression = Expression()
        return expression, self._still(entity, old, expression, everything=True)

    def _version_as_given(self, entity: Entity, item: Item, expression: Expression) -> str:
        assert entity.version is not None
        attribute = entity.attributes[entity.version]
        version = getattr(item, entity.version)
        if as_read(item) is None and not version:
            return expression.as_read(attribute, None)
        return expression.as_read(attribute, {"N": str(version)})

    def _counted(self, entity: Entity, item: Item) -> Item:
        """A copy with the next version and new update times. `item` is changed after the write."""
        item = entity.stamped(item)
        if entity.version is None:
            return item
        old = as_read(item)
        known = getattr(item, entity.version) or 0
        if old is not None:
            known = int(old.get(entity.attributes[entity.version], {"N": "0"})["N"])
        return item.model_copy(update={entity.version: known + 1})

    def _put(
        self,
        entity: Entity,
        image: WireItem,
        conditions: list[str],
        expression: Expression,
        error: type[ConditionFailed],
    ) -> WriteAction:
        parameters: dict[str, Any] = {"TableName": self.table, "Item": image}
        if conditions:
            parameters["ConditionExpression"] = " AND ".join(conditions)
            parameters |= expression.parameters()
        key = entity.key_of(image)

        def error_of(item: WireItem | None) -> ConditionFailed:
            what = "already exists" if error is AlreadyExists else "was changed meanwhile"
            return error(f"{entity} ({single_line(key)}) {what}", item)

        return WriteAction("Put", parameters, key, error_of)

    def _delete(self, key: WireItem, conditions: list[str], expression: Expression) -> WriteAction:
        parameters: dict[str, Any] = {"TableName": self.table, "Key": key}
        if conditions:
            parameters["ConditionExpression"] = " AND ".join(conditions)
            parameters |= expression.parameters()
        return WriteAction("Delete", parameters, key)


def _same(entity: Entity, old: WireItem, image: WireItem) -> bool:
    owned = {n: v for n, v in old.items() if n in entity.owned_attributes}
    return equal({"M": owned}, {"M": image})


def _conflict_with(entity: Entity, old: WireItem) -> Any:
    def error_of(item: WireItem | None) -> ConditionFailed:
        what = "was deleted" if item is None else "was changed meanwhile"
        return Conflict(f"{entity} ({single_line(entity.key_of(old))}) {what}", item)

    return error_of


def _not_found(entity: Entity, key: WireItem) -> Any:
    def error_of(item: WireItem | None) -> ConditionFailed:
        if item is None or shape_of(item) == entity.shapes.shape:
            return NotFound(f"there is no {entity} ({single_line(key)})")
        return Conflict(
            f"{entity} ({single_line(key)}) has shape {shape_of(item)}, not {entity.shapes.shape}: "
            "this write does not read the item, so it cannot convert it: use edit or update",
            item,
        )

    return error_of
