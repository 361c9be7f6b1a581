"""The entities below another entity, and the ways to find the children of an item.

The children of an entity are those whose primary key contains its primary key: fields of the same
names, or fields with st.ref. If the child's key has no further field, only st.ref makes it a child.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.patterns import Argument, Facts, Pattern
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError
from hashrange.design.plan.planner import Plan, plan_given


@dataclass(frozen=True)
class Children:
    """One entity's items below an item of `parent`. `held` maps the parent's key fields to theirs.

    `plan` takes the parent's key fields as arguments; it is None if no key finds all the items.
    """

    parent: Entity
    entity: Entity
    held: Mapping[str, str]
    plan: Plan | None


def children_of(model: TableModel, parent: Entity) -> list[Children]:
    """The entities below `parent`, those with the longest keys first."""
    found = [
        Children(parent, entity, held, _plan(model, parent, entity, held))
        for entity, held in _below(model, parent)
    ]
    return sorted(found, key=lambda one: -len(one.entity.key_fields))


def orphans_of(model: TableModel, root: Entity) -> list[Children]:
    """The entities below `root` that are found neither from it nor from the items between."""
    reached: set[str] = set()
    lost: list[Children] = []
    waiting = [root]
    while waiting:
        entity = waiting.pop()
        if entity.name not in reached:
            reached.add(entity.name)
            for child in children_of(model, entity):
                if child.plan is None:
                    lost.append(child)
                else:
                    waiting.append(child.entity)
    return [child for child in lost if child.entity.name not in reached]


def _below(model: TableModel, parent: Entity) -> Iterator[tuple[Entity, Mapping[str, str]]]:
    for entity in model.entities:
        held = model.identity_in(entity, parent)
        fields = set(held.values())
        if entity is parent or held.keys() != parent.key_fields or not fields <= entity.key_fields:
            continue
        if fields < entity.key_fields or all(_refers(model, entity, f, parent) for f in fields):
            yield entity, held


def _refers(model: TableModel, entity: Entity, field: str, parent: Entity) -> bool:
    referred = model.referred(entity, field)
    return referred is not None and referred[0] is parent


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
    # A count needs no projected fields, so an index of keys only can serve it.
    counted = replace(pattern, shape="count")
    for one in (counted, replace(counted, facts=Facts())):
        try:
            found = plan_given(one, model, arguments)
        except DeclarationError:  # the types of the fields differ
            return None
        if isinstance(found, Plan) and _finds_all(found):
            return replace(found, pattern=replace(pattern, facts=one.facts))
    return None


def _finds_all(plan: Plan) -> bool:
    """Whether no item is left out because a field of the key is None."""
    fields = plan.route.entity.fields
    return not any(fields[name].optional for name in plan.route.key.fields)
