"""Gives stored items an older shape, as if a program before the upgrade had written them."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from pydantic import ValidationError

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.shapes import READABLE_ATTRIBUTE, SHAPE_ATTRIBUTE, texts_of
from hashrange.design.declare.types import encode
from hashrange.design.execute.steps import ApiCall, Connection, Steps, run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.table import Table
from hashrange.design.tools.proof.declared import Record
from hashrange.design.tools.proof.oracle import Oracle

AGED = 4
"""Every AGED-th item gets an older shape."""
NAMES_MAX = 3
"""The largest number of old attributes that are invented for an item."""


def age(table: Table, connection: Connection, oracle: Oracle, asked: dict[str, int]) -> list[str]:
    """Store some items in their previous shape, and change the oracle's records to match.

    A record gets the values that the upgrade makes of the older item. Adds the number of items to
    `asked`. Returns a line for each entity of which no item in the older shape could be made.
    """
    untested = []
    for entity in table.model.entities:
        if entity.model.entity_backfilled == entity.shapes.shape:
            continue
        records = [r for r in oracle.records if r.model is entity.model]
        aged = [one for one in records[1::AGED] if _aged(table, entity, connection, one)]
        if aged:
            asked[f"shape {entity.shapes.shape - 1} of {entity}"] = len(aged)
        elif records:
            untested.append(f"{entity}: no item of shape {entity.shapes.shape - 1} could be made")
    return untested


def _aged(table: Table, entity: Entity, connection: Connection, record: Record) -> bool:
    changed = entity.shapes.unlike - entity.key_fields
    values = {entity.attributes[n]: v for n, v in record.values.items() if v is not None}
    kept = {a: v for a, v in values.items() if a not in {entity.attributes[n] for n in changed}}
    for old in _old_values(entity, [record.values[name] for name in sorted(changed)], kept):
        try:
            upgraded = entity.shapes.upgrades[entity.shapes.shape - 1]({**kept, **old})
            known = {a: upgraded[a] for a in entity.attributes.values() if a in upgraded}
            item = entity.model.model_validate(known)
            stored = {name: encode(value) for name, value in old.items()}
        except (ValidationError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
            continue
        run(_rewrite(table, entity, record, {entity.attributes[n] for n in changed}, stored),
            connection)  # fmt: skip
        record.values.update({name: getattr(item, name) for name in changed})
        return True
    return False


def _old_values(
    entity: Entity, values: Sequence[Any], kept: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Invented values for the attributes that only the upgrade reads, not the present class."""
    texts = texts_of(entity.shapes.upgrades[entity.shapes.shape - 1])
    attributes = {*entity.attributes.values(), *entity.attributes}
    names = sorted({text for text in texts if text.isidentifier()} - attributes)[:NAMES_MAX]
    candidates = [*(value for value in values if value is not None), 250, "a", ["a"]]
    yield from (dict(zip(names, chosen, strict=True))
                for chosen in product(candidates, repeat=len(names)))  # fmt: skip


def _rewrite(
    table: Table, entity: Entity, record: Record, gone: set[str], old: dict[str, Any]
) -> Steps[None]:
    writer = StoreSteps(table.model, [], None, None).writer
    raw = yield from writer.copying.read(entity.primary_key(record.values))
    assert raw is not None
    gone |= {SHAPE_ATTRIBUTE, READABLE_ATTRIBUTE}
    image = {name: value for name, value in raw.items() if name not in gone} | old
    if entity.shapes.shape > 2:
        image[SHAPE_ATTRIBUTE] = {"N": str(entity.shapes.shape - 1)}
    yield ApiCall("PutItem", {"TableName": table.name, "Item": image})
