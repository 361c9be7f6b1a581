"""The differences that callers of patterns notice when a model changes."""

from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import View
from hashrange.design.declare.keys.templates import Template
from hashrange.design.declare.patterns import Argument, Pattern, entity_of
from hashrange.design.plan.plans import Plan
from hashrange.design.table import Table
from hashrange.design.tools.field_facts import type_text

TIMES = (datetime, date, time)


def pattern_changes(old: Table, new: Table) -> Iterator[tuple[str, str]]:
    """(pattern, difference) for each pattern of `old` that is different or gone in `new`."""
    now = {str(p): p for patterns in new.patterns.values() for p in patterns}
    for was in (p for patterns in old.patterns.values() for p in patterns):
        name = str(was)
        if name not in now:
            yield name, "it is removed"
            continue
        for text in _differences(was, now[name]):
            yield name, text
        yield from ((name, text) for text in _plan_differences(old, new, name))


def _differences(was: Pattern, now: Pattern) -> Iterator[str]:
    yield from _of_arguments(was, now)
    shapes = {"one": "one item", "many": "a query", "count": "a number"}
    if was.shape != now.shape:
        yield f"it returns {shapes[now.shape]}, not {shapes[was.shape]}"
    before, after = _results(was), _results(now)
    for entity, fields in before.items():
        if entity not in after:
            yield f"it no longer returns {entity}"
        else:
            lost = sorted(fields - after[entity])
            yield from (f"its results have no {name} any more" for name in lost)
    yield from (f"it returns {entity} too" for entity in after if entity not in before)
    one, other = was.facts, now.facts
    if one.latest != other.latest:
        yield "its results come in the opposite order"
    if one.where != other.where:
        yield f"its filter {one.where!r} becomes {other.where!r}"
    if one.consistent and not other.consistent:
        yield "it can miss what was just written, since it is no longer consistent"
    if (_name(one.through), one.through_field) != (_name(other.through), other.through_field):
        yield "it follows another reference"
    if one.using != other.using:
        yield f"it reads {other.using or 'another index'}, not {one.using or 'the former one'}"


def _of_arguments(was: Pattern, now: Pattern) -> Iterator[str]:
    before = {argument.name: argument for argument in was.arguments}
    after = {argument.name: argument for argument in now.arguments}
    for name, argument in before.items():
        if name not in after:
            yield f"its argument {name!r} is removed"
        elif _meaning(argument) != _meaning(after[name]):
            yield f"its argument {name!r} means something else"
        elif argument.optional and not after[name].optional:
            yield f"its argument {name!r} is required"
    for name, argument in after.items():
        if name not in before and not argument.optional:
            yield f"it needs the argument {name!r}"
    kept = [name for name in before if name in after]
    if kept != [name for name in after if name in before]:
        yield "the order of its arguments changes"


def _meaning(argument: Argument) -> tuple[str, str]:
    return argument.operator, type_text(argument.python)


def _results(pattern: Pattern) -> dict[str, set[str]]:
    """The entities that the pattern returns, by their stored names.

    The value is the set of fields if the pattern returns a st.View of the entity, else an empty
    set.
    """
    return {
        entity_of(one).entity_name: {*one.model_fields} if issubclass(one, View) else set()
        for one in pattern.results
    }


def _plan_differences(old: Table, new: Table, name: str) -> Iterator[str]:
    was, now = old.plans[name], new.plans[name]
    if not isinstance(was, Plan):
        return
    if not isinstance(now, Plan):
        yield "nothing serves it any more"
    elif was.pattern.shape == now.pattern.shape == "many" and _order(was) != _order(now):
        yield "its results come in another order"


def _order(plan: Plan) -> list[list[str]]:
    """The templates of the sort key, for each route of the plan."""
    if plan.followed is not None:
        return []
    return [
        [template_text(route.entity, c.template) for c in route.key.range] for route in plan.routes
    ]


def template_text(entity: Entity, template: Template) -> str:
    """A template as text, with attributes instead of fields, and the type of each date or time."""
    parts = []
    for part in template.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        python = entity.fields[part.field].python
        kind = python.__name__ if python in TIMES else ""
        parts.append(f"{part._replace(field=entity.attributes[part.field])}{kind}")
    return "".join(parts)


def copy_change(old: Entity, old_name: str, new: Entity, name: str) -> str:
    """What has to be done because the field's st.copy has changed; "" if nothing."""
    was, now = old.copies.get(old_name), new.copies.get(name)
    if now is None:
        return ""
    if was is None:
        return "it becomes a copy: run db.sync for each owner"
    if (was.owner.entity_name, was.field, was.by) != (now.owner.entity_name, now.field, now.by):
        source = f"{was.owner.__name__}.{was.field} becomes {now.owner.__name__}.{now.field}"
        return f"its source {source}: run db.sync for each owner"
    if was.sync == "stream" != now.sync:
        return "its copies can be out of date: let the stream's reader catch up, and run db.sync"
    return ""


def _name(model: type[Any] | None) -> str | None:
    return None if model is None else model.entity_name
