"""Generated items as they would be stored, for pictures and exports."""

from collections.abc import Sequence

from hashrange.design.declare.item import Item
from hashrange.design.errors import BadValue
from hashrange.design.table import Table
from hashrange.design.tools.sample import sample
from hashrange.model.values import Item as WireItem

PARENTS, CHILDREN = 2, 5


def sample_items(table: Table) -> list[WireItem]:
    """A few readable items of each entity, in wire form: the same ones every time."""
    items = sample(table, parents=PARENTS, children=CHILDREN, readable=True)
    dumped = []
    for item in items:
        try:
            dumped.append(table.dump(_with_copies(table, item, items)))
        except BadValue:  # its index key could also be another entity's
            continue
    return dumped


def _with_copies(table: Table, item: Item, items: Sequence[Item]) -> Item:
    """The item with its copies filled in from their owners in `items`, as a store would."""
    entity = table.model.entity(type(item))
    copied = {}
    for name, copy in entity.copies.items():
        reference = table.model.references.of_copy(entity, name)
        for owner in items:
            if type(owner) is copy.owner and reference.holds(item, owner):
                copied[name] = getattr(owner, copy.field)
                break
        else:
            raise BadValue("its owner was not generated", entity=entity, field=name)
    return item.replace(**copied) if copied else item
