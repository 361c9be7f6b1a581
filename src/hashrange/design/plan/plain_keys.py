"""Entities whose items are in an index although they do not declare it.

DynamoDB puts every item that has the index's key attributes into the index.
"""

from hashrange.design.declare.draft import natural_column
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import Column, EntityKey, KeyColumn, Source


def plain_key(entity: Entity, source: Source) -> EntityKey | None:
    """An entity's key in an index that it does not declare; None if its items are not in it."""
    if source.name is None or any(key.source.name == source.name for key in entity.indexes):
        return None
    hashes = entity.key.hash if source.kind == "LSI" else _columns(entity, source.hash)
    ranges = _columns(entity, source.range)
    if hashes is None or ranges is None:
        return None
    return EntityKey(source, hashes, ranges)


def _columns(entity: Entity, columns: tuple[Column, ...]) -> tuple[KeyColumn, ...] | None:
    fields = {attribute: name for name, attribute in entity.attributes.items()}
    written = []
    for column in columns:
        name = fields.get(column.attribute)
        if name is None or entity.fields[name].tag != column.tag:
            return None
        kind = entity.fields[name]
        written.append(natural_column(name, kind, column.attribute, entity.model))
    return tuple(written)
