"""Turns a write into actions, with a check of the caller's condition."""

from collections.abc import Mapping
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item, as_read
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.atomic_updates import ATOMIC
from hashrange.design.execute.writes.condition_checks import condition_check, split_values
from hashrange.design.execute.writes.upserts import add_or_create
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.design.execute.writes.writer import NONE_PENDING, Pending, PreparedWrite, Writer


def prepared(writer: Writer, write: Write, pending: Pending = NONE_PENDING) -> Steps[PreparedWrite]:
    """The actions of a write of an item.

    `pending` has, by key, the stored form of each item that the same transaction writes and from
    which other items copy.
    """
    item = write.item
    assert item is not None
    match write.verb:
        case "put":
            written = yield from writer.put(item, pending=pending)
        case "create":
            written = yield from writer.create(item, pending=pending)
        case "save":
            written = yield from writer.save(item, pending=pending)
        case "move":
            written = yield from writer.move(item)
        case "delete":
            entity = writer.entity(item)
            actions = yield from writer.delete(entity, entity.primary_key(vars(item)), item)
            written = PreparedWrite(item, None, actions)
        case _:
            return _in_part(writer, write, item)
    if write.where is not None:
        written.checks = [_check(writer, writer.entity(item), write, item, write.values)]
    return written


def _in_part(writer: Writer, write: Write, item: Item) -> PreparedWrite:
    """The actions of a write that changes only some fields of the item, or only checks the item."""
    entity = writer.entity(item)
    key = entity.primary_key(vars(item))
    values, actions = write.values, []
    if write.verb in ATOMIC:
        values, rest = split_values(entity, write.where, write.values)
        actions = [writer.atomic(write.verb, entity, key, rest)]
    elif write.verb == "add_or_create":
        actions = [add_or_create(writer, item, write.values)]
    elif write.verb == "assign":
        actions = [writer.assign(entity, key, *write.place)]
    checks = [] if write.where is None else [_check(writer, entity, write, item, values)]
    return PreparedWrite(item, None, actions, checks=checks)


def by_pattern(writer: Writer, write: Write) -> Steps[list[WriteAction]]:
    """The actions of a patch or delete whose item is named by the arguments of a pattern."""
    assert write.bound is not None
    entity, key = write.bound.entity, write.bound.builder.key(write.bound.arguments)
    if write.verb == "patch":
        return [writer.patch(entity, key, write.values)]
    return (yield from writer.delete(entity, key, None))


def _check(
    writer: Writer, entity: Entity, write: Write, item: Item, values: Mapping[str, Any]
) -> WriteAction:
    """A check that the stored item satisfies the caller's condition.

    An item that was read is checked under its key as read, because the caller may have changed the
    key.
    """
    assert write.where is not None
    raw = as_read(item)
    key = entity.primary_key(vars(item)) if raw is None else entity.key_of(raw)
    return condition_check(writer.table, entity, key, item, write.where, values)
