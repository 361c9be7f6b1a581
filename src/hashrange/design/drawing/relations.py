"""The relations between entities, found from the fields that hold other entities' keys."""

from collections.abc import Mapping
from dataclasses import dataclass

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.volumes import Volumes


@dataclass(frozen=True)
class Relation:
    """One `parent` has many `child` items, or at most one if `single`.

    `optional` says that a child can have no parent. `count` is the declared number of children, if
    any.
    """

    parent: Entity
    child: Entity
    single: bool
    optional: bool
    count: str


def relations(model: TableModel, volumes: Volumes) -> list[Relation]:
    """The direct relations: a room is related to its floor, and only through it to the building."""
    parents: dict[str, list[Entity]] = {e.name: [] for e in model.entities}
    for child in model.entities:
        seen: list[frozenset[str]] = []
        for parent in model.entities:
            if _above(model, parent, child) and parent.key_fields not in seen:
                seen.append(parent.key_fields)
                parents[child.name].append(parent)
    related = []
    for child in model.entities:
        for parent in parents[child.name]:
            others = [other for other in parents[child.name] if other is not parent]
            if not any(_reaches(other, parent, parents) for other in others):
                related.append(_relation(model, volumes, parent, child))
    return related


def _above(model: TableModel, parent: Entity, child: Entity) -> bool:
    if not model.references.between(child, parent):
        return False
    if not model.references.between(parent, child):
        return True
    entities = [*model.entities]  # mutual references: the first in order is the parent
    return entities.index(parent) < entities.index(child)


def _reaches(start: Entity, goal: Entity, parents: Mapping[str, list[Entity]]) -> bool:
    """Whether `goal` is a parent of `start`, a parent of its parent, and so on."""
    waiting, seen = [start], {start.name}
    while waiting:
        for above in parents[waiting.pop().name]:
            if above is goal:
                return True
            if above.name not in seen:
                seen.add(above.name)
                waiting.append(above)
    return False


def _relation(model: TableModel, volumes: Volumes, parent: Entity, child: Entity) -> Relation:
    references = model.references.between(child, parent)
    each = volumes.per(child, parent)
    count = f"{each.mean:g}, at most {each.max:,}" if each is not None else ""
    return Relation(
        parent,
        child,
        any(one.fields == child.key_fields for one in references),
        any(child.fields[name].optional for one in references for name in one.fields),
        count,
    )


def depths(model: TableModel, related: list[Relation]) -> dict[str, int]:
    """The column of each entity, by name: the first column to the right of all of its parents."""
    depth = {entity.name: 0 for entity in model.entities}
    for _ in model.entities:  # the longest chain has this length; cycles end too
        for relation in related:
            least = depth[relation.parent.name] + 1
            if depth[relation.child.name] < least <= len(depth):
                depth[relation.child.name] = least
    return depth
