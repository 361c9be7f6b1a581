"""The bytes of the items in the table and in each index, with DynamoDB's overheads."""

from collections.abc import Iterator

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import Source
from hashrange.design.tools.cost.examples import Examples
from hashrange.design.tools.cost.lines import StorageLine
from hashrange.design.tools.cost.units import OVERHEAD_BYTES, TABLE, entry
from hashrange.design.tools.rules.rule import Context
from hashrange.model.values import item_size


def storage_lines(context: Context, examples: Examples) -> Iterator[StorageLine]:
    """A line for each entity with a declared number of items, in the table and in each index."""
    for entity in context.entities:
        count = context.count("cost", entity)
        if count is None:
            continue
        for source in context.model.sources:
            size = _size(context, examples, entity, source)
            if size is not None:
                sparse = source.name is not None and _may_be_left_out(entity, source)
                notes = ("estimate: all items are in the index",) if sparse else ()
                name = source.name or TABLE
                yield StorageLine(str(entity), name, count * (size + OVERHEAD_BYTES), notes)
        for index in context.model.vectors:
            if entity in index.entities:
                size = examples.size(entity, index.source)
                notes = ("estimate: a byte costs as much as in the table",)
                yield StorageLine(str(entity), index.name, count * (size + OVERHEAD_BYTES), notes)
        markers = _marker_bytes(examples, entity)
        if markers:
            yield StorageLine(f"{entity} markers", TABLE, count * markers)


def _size(context: Context, examples: Examples, entity: Entity, source: Source) -> int | None:
    """The bytes of an entity's item in the table, or of its entry in an index.

    None if the index has no entries of the entity.
    """
    if source.name is None or source == context.model.by_type:
        return examples.size(entity, source)
    if all(key.source.name != source.name for key in entity.indexes):
        return None
    raws = [raw for item in examples.of(entity) if (raw := examples.raw(item)) is not None]
    if not any(entry(context.model, source, raw) is not None for raw in raws):
        return None
    return examples.size(entity, source)


def _may_be_left_out(entity: Entity, source: Source) -> bool:
    return any(
        key.when is not None or any(entity.fields[name].optional for name in key.fields)
        for key in entity.indexes
        if key.source.name == source.name
    )


def _marker_bytes(examples: Examples, entity: Entity) -> int:
    """The bytes of an item's unique markers, with overheads."""
    markers = [raw for raw in examples.stored.values() if "owner" in raw]
    for item in examples.of(entity)[:1]:
        raw = examples.raw(item)
        assert raw is not None
        owner = {"M": entity.key_of(raw)}
        return sum(item_size(m) + OVERHEAD_BYTES for m in markers if m["owner"] == owner)
    return 0
