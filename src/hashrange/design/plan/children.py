"""The entities below another entity, and the ways to find the children of an item.

An entity is a child of another entity if its primary key contains the other's primary key, in
fields that refer to it. If the child's key has no other fields, each of these fields must be
declared with st.ref.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.facts import Facts
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.references import Reference
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError
from hashrange.design.plan.planner import plan_given
from hashrange.design.plan.plans import Plan


@dataclass(frozen=True)
class Children:
    """The items of `entity` that refer to an item of `parent` by one reference.

    `held` maps the parent's key fields to the fields of `entity` that hold them. `plan` finds the
    items by the parent's key fields; it is None if no key finds all of them.
    """

    parent: Entity
    entity: Entity
    held: Mapping[str, str]
    plan: Plan | None


def children_of(model: TableModel, parent: Entity) -> list[Children]:
    """The entities below `parent`, those with the longest keys first."""
    children = [
        Children(parent, one.child, one.held, _plan(model, parent, one.child, one.held))
        for one in _below(model, parent)
    ]
    return sorted(children, key=lambda one: -len(one.entity.key_fields))


@dataclass(frozen=True)
class Tree:
    """The problems in the tree below an entity. `lost` are the children that no key finds.

    `doubts` has an (entity, reason) pair for each entity that may or may not be in this tree.
    """

    lost: list[Children]
    doubts: list[tuple[Entity, str]]


def tree_of(model: TableModel, root: Entity) -> Tree:
    """The problems in the tree below `root`.

    A child is lost if no key finds its items from its parent or from any entity up to `root`.
    """
    reached: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    lost: list[tuple[Children, frozenset[tuple[str, str]]]] = []
    doubts: dict[tuple[str, str], tuple[Entity, str]] = {}
    waiting = [(root, frozenset((name, name) for name in root.key_fields))]
    while waiting:
        entity, names = waiting.pop()
        if (entity.name, names) in reached:
            continue
        reached.add((entity.name, names))
        for other in model.entities:
            doubt = model.references.doubt(other, entity)
            if doubt is not None:
                doubts[other.name, doubt] = other, doubt
        for child in children_of(model, entity):
            theirs = frozenset((name, child.held[field]) for name, field in names)
            if child.plan is None:
                lost.append((child, theirs))
            else:
                waiting.append((child.entity, theirs))
    unfound = [child for child, names in lost if (child.entity.name, names) not in reached]
    return Tree(unfound, list(doubts.values()))


def _below(model: TableModel, parent: Entity) -> Iterator[Reference]:
    for entity in model.entities:
        for one in model.references.between(entity, parent):
            declared = all(
                any(other is parent for other, _ in model.references.named(entity, field))
                for field in one.fields
            )
            if one.fields < entity.key_fields or (one.fields == entity.key_fields and declared):
                yield one


def _plan(
    model: TableModel, parent: Entity, entity: Entity, held: Mapping[str, str]
) -> Plan | None:
    arguments = tuple(
        Argument(name, field, "=", parent.fields[name].python, False)
        for name, field in held.items()
    )
    pattern = Pattern(
        name=f"{entity}_of_{parent}",
        title=f"Get the {entity} items of a {parent}",
        owner=entity.model,
        function=_plan,
        arguments=arguments,
        results=(entity.model,),
        shape="many",
        asynchronous=False,
        facts=Facts(consistent=True),
    )
    # Planned as a count, which needs no projected fields, so that an index of keys can serve it.
    counted = replace(pattern, shape="count")
    for one in (counted, replace(counted, facts=Facts())):
        try:
            planned = plan_given(one, model, arguments)
        except DeclarationError:  # the types of the fields differ
            return None
        if isinstance(planned, Plan) and _finds_all(planned):
            return replace(planned, pattern=replace(pattern, facts=one.facts))
    return None


def _finds_all(plan: Plan) -> bool:
    """Whether the plan finds all items, because no field of the key can be None."""
    fields = plan.route.entity.fields
    return not any(fields[name].optional for name in plan.route.key.fields)
