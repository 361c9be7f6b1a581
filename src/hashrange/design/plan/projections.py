"""The fields that a pattern returns, and the fields that an index holds."""

from collections.abc import Sequence

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import View, viewed
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.schema import Source


def needed_fields(pattern: Pattern, entity: Entity) -> list[str]:
    """The fields of an entity that the pattern returns."""
    for result in pattern.results:
        if issubclass(result, View) and viewed(result) is entity.model:
            return list(result.model_fields)
    return list(entity.own)


def missing_fields(fields: Sequence[str], entity: Entity, source: Source) -> list[str]:
    """The fields among `fields` that an index lacks.

    The index neither projects them nor has them in its key or in the primary key.
    """
    if source.project == "ALL":
        return []
    projected = set(source.project) if source.project != "KEYS_ONLY" else set()
    keys = [key for key in (entity.key, *entity.indexes) if key.source.name in (None, source.name)]
    held = set()
    for column in (column for key in keys for column in key.columns):
        held |= {column.natural} if column.natural else set(column.template.readable())
    return [f for f in fields if f not in held and entity.attributes[f] not in projected]
