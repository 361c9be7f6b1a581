"""The old model's patterns on the keys of the new one, for programs of the old model.

The shadow of an entity whose key changes has the class of the old entity, but the name, keys and
attributes of the new one. It reads new items, and returns them as objects of the old class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from hashrange.design.declare.compiled import Reader
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import AS_READ, Item
from hashrange.design.declare.keys.templates import Placeholder, Template
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.schema import EntityKey, KeyColumn
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DesignError, ItemError
from hashrange.design.execute.reads.pattern_calls import PatternCall
from hashrange.design.execute.stamps import visible
from hashrange.design.migrate.following import NewGeneration
from hashrange.design.migrate.twins import Twin
from hashrange.model.values import Item as WireItem


@dataclass
class ShadowEntity(Entity):
    """An entity of the old model with the keys and attributes of the new one.

    `twin.own` is the entity of the old model, and `twin.other` that of the new one.
    """

    twin: Twin | None = None

    def load(self, raw: WireItem) -> Item:
        """An object of the old class, from a stored item of the new model. Raises ItemError."""
        try:
            item = self._validate(self._read_as_old(raw))
        except (KeyError, ValidationError):
            return self._load_in_steps(raw)
        item.__dict__[AS_READ] = self._as_old, raw
        return item

    def _load_in_steps(self, raw: WireItem) -> Item:
        assert self.twin is not None
        if self.twin.retyped:
            return self.twin.own.load(self._as_old(raw))
        values = {self._renamed[name]: value for name, value in self.values(raw).items()}
        try:
            item = self._validate(values)
        except ValidationError as error:
            raise ItemError(f"{self}: {error}", self.key_of(raw)) from error
        item.__dict__[AS_READ] = self._as_old, raw
        return item

    def _as_old(self, raw: WireItem) -> WireItem:
        assert self.twin is not None
        return self.twin.reversed.mirror(visible(raw))

    @cached_property
    def _read_as_old(self) -> Reader:
        """A function that reads the values of the old entity's fields from a new item.

        It raises KeyError for an item that needs more steps, e.g. because values have to be
        converted; `load` then takes these steps.
        """
        assert self.twin is not None
        return _refuse if self.twin.retyped else self.reader(self._renamed)

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """Maps each attribute of the new entity to the old entity's attribute."""
        assert self.twin is not None
        return {mine: self.twin.own.attributes[name] for name, mine in self.attributes.items()}


def _refuse(raw: WireItem) -> dict[str, Any]:
    raise KeyError


def shadow_model(old: TableModel, new: TableModel, twins: Sequence[Twin]) -> TableModel:
    """The old model, but with the new model's keys for each entity of `twins` whose key changes.

    It has the indexes of both models.
    """
    moved = {twin.own.name: twin for twin in twins if not twin.keeps_key}
    entities = tuple(
        shadow_entity(moved[entity.name]) if entity.name in moved else entity
        for entity in old.entities
    )
    known = {source.name for source in old.indexes}
    indexes = (*old.indexes, *(source for source in new.indexes if source.name not in known))
    return replace(
        old,
        name=NewGeneration(old.name),
        entities=entities,
        indexes=indexes,
        clean=old.clean._replace(members=old.clean.members | new.clean.members),
    )


def shadow_entity(twin: Twin) -> ShadowEntity:
    """The shadow (see the module) of an old entity whose key changes.

    Raises DesignError if the new primary key holds a field whose values change.
    """
    new = twin.other
    back = {field.name: name for name, field in twin.fields.items()}
    retyped = {twin.fields[name].name for name in twin.retyped}
    held = retyped & set(new.key.fields)
    if held:
        names = ", ".join(sorted(held))
        raise DesignError(
            f"{new}: its key cannot contain {names}, whose values the migration changes"
        )
    keys = [
        _renamed(key, back)
        for key in new.indexes
        if key.when is None and not retyped & set(key.fields)
    ]
    own = twin.own
    return ShadowEntity(
        model=own.model,
        name=new.name,
        fields=own.fields,
        attributes={
            **{name: new.attributes[field.name] for name, field in twin.fields.items()},
            **{name: own.attributes[name] for name in own.derived},
        },
        key=_renamed(new.key, back),
        indexes=tuple(keys),
        unique=own.unique,
        copies=own.copies,
        derived=own.derived,
        type_attribute=own.type_attribute,
        delimiters=new.delimiters,
        twin=twin,
    )


def _renamed(key: EntityKey, names: Mapping[str, str]) -> EntityKey:
    hashes = tuple(_column(column, names) for column in key.hash)
    ranges = tuple(_column(column, names) for column in key.range)
    return replace(key, hash=hashes, range=ranges)


def _column(column: KeyColumn, names: Mapping[str, str]) -> KeyColumn:
    def renamed(part: Any) -> Any:
        return part._replace(field=names[part.field]) if isinstance(part, Placeholder) else part

    template = Template(
        tuple(renamed(part) for part in column.template.parts),
        {renamed(part): written for part, written in column.template.formats.items()},
    )
    natural = None if column.natural is None else names[column.natural]
    return replace(column, template=template, natural=natural)


def shadows(model: TableModel, patterns: Sequence[Pattern]) -> dict[str, PatternCall]:
    """Plan each pattern on the shadow `model`. Raises Unserved if no new key serves a pattern."""
    calls = {pattern.name: PatternCall(pattern, model) for pattern in patterns}
    for call in calls.values():
        call.cursor_name += " in the new items"
    return calls


def less_consistent(old: TableModel, new: TableModel, pattern: Pattern) -> bool:
    """Whether the pattern reads the table in the old model, but an index in the new one."""
    before, after = PatternCall(pattern, old).complete, PatternCall(pattern, new).complete
    return before.plan.source.name is None and after.plan.source.name is not None
