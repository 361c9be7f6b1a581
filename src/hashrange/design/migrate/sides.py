"""A program's view of a migration: its own model, the other model, and the changed items."""

from dataclasses import dataclass
from functools import cached_property

from hashrange.design.declare.table_model import TableModel
from hashrange.design.execute.stamps import OTHER_OWNER
from hashrange.design.execute.writes.unique_markers import MARKER_TYPE, OWNER_ATTRIBUTE
from hashrange.design.migrate.phases import own_key
from hashrange.design.migrate.requests import identity
from hashrange.design.migrate.twins import Twin
from hashrange.model.values import Item


@dataclass(frozen=True)
class Side:
    """The view of a program whose own model, `model`, is the old or the new one.

    In each of the `twins`, `own` is an entity of this model. `guards` is the number of guard items.
    """

    model: TableModel
    twins: tuple[Twin, ...]
    is_new: bool
    guards: int = 0

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.attribute for column in self.model.table.columns)

    def twin_of(self, image: Item) -> Twin | None:
        """The twin of the changed entity to which an item or a key seems to belong.

        A key without a type may also belong to an entity that does not change.
        """
        return next((twin for twin in self.twins if twin.owns(image)), None)

    # ---- unique markers ----

    @cached_property
    def _namespaces(self) -> tuple[str, ...]:
        moved = [twin.own for twin in self.twins if not twin.keeps_key]
        return tuple(f"unique#{u.namespace}#" for entity in moved for u in entity.unique)

    @property
    def marker_patterns(self) -> list[str]:
        """The partition keys of markers whose owners change their keys, as IAM patterns."""
        return [f"{namespace}*" for namespace in self._namespaces]

    def is_marker(self, key: Item) -> bool:
        """Whether this can be the key of a marker whose owner changes its key."""
        texts = [key[name].get("S", "") for name in self.names]
        named = bool(self._namespaces) and texts[0].startswith(self._namespaces)
        return named and texts[1:] in ([], [MARKER_TYPE])

    def seen(self, marker: Item) -> Item:
        """A stored marker as this side's model would store it. During a migration, a stored marker
        names its owner in both models; here only the owner in this model is left."""
        if not self.is_new or OTHER_OWNER not in marker:
            return marker
        owned = {**marker, OWNER_ATTRIBUTE: marker[OTHER_OWNER]}
        return {name: value for name, value in owned.items() if name != OTHER_OWNER}

    def with_both_owners(self, marker: Item, mirrored: dict[str, Item]) -> Item:
        """The stored form of a marker of the program's own model: with owners in both models.

        `mirrored` maps the key of an owner to the key of its mirror.
        """
        owner = marker[OWNER_ATTRIBUTE]
        other = {"M": mirrored[identity(owner["M"])]}
        old, new = (other, owner) if self.is_new else (owner, other)
        return {**marker, OWNER_ATTRIBUTE: old, OTHER_OWNER: new}

    def own_key(self, name: str, number: str = "") -> Item:
        return own_key(self.model, name, number)
