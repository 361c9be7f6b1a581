"""Testing that copies with sync="stream" become equal to their owners once all is quiet."""

from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.errors import ConditionFailed
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import Connection, run
from hashrange.design.execute.store import OpenStore
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.copies import copies_of
from hashrange.design.streams.follow import Follower
from hashrange.design.table import Table
from hashrange.design.tools.cost.examples import other_values

ROUNDS = 20
"""How often the stream is read. Each round can write copies, whose records come in the next."""


def unequal_copies(
    table: Table, database: Any, connection: Connection, stored: Sequence[Item]
) -> Iterator[str]:
    """Change every owner while its stream is read, and yield a line for each unequal copy."""
    model = table.model
    core = StoreSteps(model, [], None, None)
    follower = Follower(OpenStore(core, connect(database)), None, "prove")
    owners = [item for item in stored if _fields(model.entities, item)]
    for number, owner in enumerate(owners):
        _rename(core, connection, owner, _fields(model.entities, owner))
        if number % 2:
            follower.catch_up()
    for _ in range(ROUNDS):
        if not follower.catch_up():
            break
    else:
        yield f"copies: the stream was not read in {ROUNDS} rounds"
    for owner in owners:
        entity, current = model.entity(type(owner)), _stored(core, connection, owner)
        for copies in copies_of(model, entity):
            for item in run(copies.read(current), connection):
                for name, copy in copies.fields.items():
                    if getattr(item, name) != getattr(current, copy.field):
                        yield f"{copies.entity}.{name}: it differs from its {entity}"


def _fields(entities: Sequence[Entity], owner: Item) -> list[str]:
    copies = [copy for entity in entities for copy in entity.copies.values()]
    return [c.field for c in copies if c.sync == "stream" and c.owner is type(owner)]


def _stored(core: StoreSteps, connection: Connection, item: Item) -> Item:
    entity = core.model.entity(type(item))
    raw = run(core.writer.copying.read(entity.primary_key(vars(item))), connection)
    assert raw is not None
    return entity.load(raw)


def _rename(core: StoreSteps, connection: Connection, owner: Item, fields: Sequence[str]) -> None:
    item = _stored(core, connection, owner)
    for field in fields:
        for value in other_values(item, field, []):
            item = item.replace(**{field: value})
            break
    try:
        run(core.write("save", item), connection)
    except ConditionFailed:
        return  # the new value is a unique text that another item has
