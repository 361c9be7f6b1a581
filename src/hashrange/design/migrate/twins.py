"""The two forms of a changed entity's stored items, and the conversion between them.

A twin takes the view of one program, whose model is its *own*. `mirror` makes the stored item of
the other model, and `complete` makes the item that is stored under the key of its own model. An
entity that keeps its key has one stored item for both models, with the attributes of both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import AS_READ, Item
from hashrange.design.declare.replaces import Convert, Replaces
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.types import single_line
from hashrange.design.errors import BadValue
from hashrange.design.execute.stamps import HIDDEN
from hashrange.model.values import Item as WireItem


@dataclass(frozen=True)
class FieldOf:
    """The field `name` of the other entity that corresponds to a field of the own entity.

    `there` converts a value of the own field to a value of the other field; `back` does the
    reverse.
    """

    name: str
    there: Convert | None = None
    back: Convert | None = None


@dataclass(frozen=True)
class Twin:
    """A changed entity: `own` is its form in one model, and `other` in the other model.

    `fields` maps the names of fields of `own` to fields of `other`.
    """

    own: Entity
    other: Entity
    fields: Mapping[str, FieldOf]
    keeps_key: bool

    @cached_property
    def reversed(self) -> "Twin":
        fields = {f.name: FieldOf(name, f.back, f.there) for name, f in self.fields.items()}
        return Twin(self.other, self.own, fields, self.keeps_key)

    @cached_property
    def retyped(self) -> frozenset[str]:
        """The fields of `own` whose values are converted."""
        return frozenset(name for name, field in self.fields.items() if field.there is not None)

    def owns(self, image: WireItem) -> bool:
        """Whether a stored item, or only its key, belongs to `own`."""
        attribute = self.own.type_attribute
        if attribute is not None and attribute in image:
            return image[attribute] == {"S": self.own.name}
        return self.own.recognises(image)

    def key_of(self, image: WireItem) -> WireItem:
        return self.own.key_of(image)

    # ---- conversion ----

    def mirror(self, image: WireItem) -> WireItem:
        """The other model's stored item. Raises BadValue if it does not convert back to `image`."""
        item = self.own.load(image)
        other = self._converted(item)
        if not self._returns(item, other):
            raise BadValue(
                f"{self.own} ({single_line(self.own.key_of(image))}): converted to {other!r} and "
                "back, it is a different item; each function of st.pair must undo the other",
            )
        return {**self._foreign(image), **self.other.dump(other)}

    def complete(self, image: WireItem) -> WireItem:
        """The item to store. An item of both models gets the attributes of the other model too."""
        if not self.keeps_key:
            return image
        bare = {n: v for n, v in image.items() if n not in self._added}
        item = self.other.load({n: v for n, v in bare.items() if n not in HIDDEN})
        stored = self.other.dump(item)
        return {**bare, **{n: v for n, v in stored.items() if n in self._added}}

    @cached_property
    def _added(self) -> frozenset[str]:
        """The attributes that only the other model computes."""
        return self.other.computed_attributes - self.own.owned_attributes

    def _converted(self, item: Item) -> Item:
        try:
            return self.other.model.model_validate(self._values(item))
        except ValidationError as error:
            reason = "; ".join(one["msg"] for one in error.errors())
            raise BadValue(f"{item!r} cannot become {self.other}: {reason}") from error

    def _values(self, item: Item) -> dict[str, Any]:
        """The values of the fields of `other`, not validated yet."""
        own = vars(item)
        return {
            field.name: own[name] if field.there is None else field.there(own[name])
            for name, field in self.fields.items()
        }

    def _returns(self, item: Item, other: Item) -> bool:
        """Whether converting the other item back gives the same item."""
        mine, back = vars(item), self.reversed._values(other)
        if all(mine[name] == value for name, value in back.items()):
            return True
        valid = vars(self.reversed._converted(other))
        return all(mine[name] == valid[name] for name in mine if name != AS_READ)

    def _foreign(self, image: WireItem) -> WireItem:
        """The attributes that neither model declares. The mirror gets them too."""
        kept = {
            name: value
            for name, value in image.items()
            if name not in self.own.owned_attributes and name not in HIDDEN
        }
        for name in kept:
            if name in self.other.owned_attributes:
                raise BadValue(
                    f"{self.own} ({single_line(self.own.key_of(image))}): its attribute {name!r}, "
                    f"which the model does not know, is also an attribute of {self.other}: rename "
                    "one of them"
                )
        return kept


def replacement(entity: Entity) -> Replaces | None:
    """The entity's st.replaces, which names the old entity; None if there is none."""
    declared = [v for base in entity.model.__mro__ for v in vars(base).values()]
    return next((v for v in declared if isinstance(v, Replaces)), None)


def twins(old: TableModel, new: TableModel) -> Iterator[Twin]:
    """The changed entities, in the view of the old model. `checks` finds impossible changes."""
    for entity in new.entities:
        declared = replacement(entity)
        if entity.name in old.by_name:
            yield from _in_place(old.by_name[entity.name], entity)
        elif declared is not None and declared.entity in old.by_name:
            yield _rekeyed(old.by_name[declared.entity], entity, declared)


def _in_place(old: Entity, new: Entity) -> Iterator[Twin]:
    if new.computed_attributes != old.computed_attributes:
        fields = {name: FieldOf(name) for name in old.own if name in new.own}
        yield Twin(old, new, fields, keeps_key=True)


def _rekeyed(old: Entity, new: Entity, declared: Replaces) -> Twin:
    fields = {name: FieldOf(name) for name in old.own}
    for name, pair in declared.pairs.items():
        fields[name] = FieldOf(pair.field, pair.forward, pair.inverse)
    return Twin(old, new, fields, keeps_key=False)
