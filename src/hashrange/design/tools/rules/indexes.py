"""Rules about indexes: I01 to I22."""

from collections.abc import Iterator

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import EntityKey, Source
from hashrange.design.execute.copies import copy_route
from hashrange.design.plan.projections import missing_fields, needed_fields
from hashrange.design.tools.rules.rule import (
    Context,
    Found,
    Severity,
    checked_at_declaration,
    counted,
    named,
    rule,
)
from hashrange.model import limits

PROJECTED_MAX = 100
MANY_INDEXES = 10
LOW_CARDINALITY = 100

checked_at_declaration(
    "I06",
    "error",
    "a multi-attribute key of more than four attributes, or not in a global index",
    "A global index takes up to four attributes for its partition and four for its sort key; the "
    "table and local indexes take one of each. The model is refused when it is declared.",
)
checked_at_declaration(
    "I13",
    "error",
    "a consistent read of a global index",
    "Global indexes are eventually consistent, always. Read by the table's key, or do without.",
)
checked_at_declaration(
    "I14",
    "error",
    "a transaction on an index",
    "Transactions address items by the table's key; here a transaction takes items, so it cannot "
    "be written otherwise.",
)


@rule(
    "I01",
    "error",
    "more indexes than DynamoDB allows",
    "20 global indexes by default (a quota that can be raised), 5 local ones.",
)
def too_many(c: Context) -> Iterator[Found]:
    for kind, most in (("GSI", limits.GLOBAL_INDEXES_MAX), ("LSI", limits.LOCAL_INDEXES_MAX)):
        count = sum(source.kind == kind for source in c.model.indexes)
        if count > most:
            yield c.table.name, f"{count} {kind}s of {most}"


@rule(
    "I02",
    "information",
    "a local index is for the table's whole life",
    "Local indexes are made with the table: none can be added or dropped later. A global index "
    "with the same partition key can, but is not read consistently.",
)
def local_forever(c: Context) -> Iterator[Found]:
    for source in c.model.indexes:
        if source.kind == "LSI":
            yield str(source), "it can only be made together with the table"


@rule(
    "I03",
    "error",
    "too many projected attributes",
    "INCLUDE names at most 100 attributes over all indexes; a name in two indexes counts twice.",
)
def too_many_projected(c: Context) -> Iterator[Found]:
    count = sum(len(s.project) for s in c.model.indexes if not isinstance(s.project, str))
    if count > PROJECTED_MAX:
        yield c.table.name, f"{count} projected attributes of {PROJECTED_MAX}"


@rule(
    "I04",
    "error",
    "an item collection may outgrow 10 GB",
    "With a local index, all items of one partition key and their index entries together are "
    "limited to 10 GB; beyond it writes fail.",
)
def collection_size(c: Context) -> Iterator[Found]:
    local = [s for s in c.model.indexes if s.kind == "LSI"]
    if not local:
        return
    for entity in c.entities:
        size = c.size("I04", entity)
        parents = c.table.volumes.of(entity).each
        if not parents:
            c.unknown("I04", f"most {entity} items under one partition key")
        if size is None or not parents:
            continue
        most = max(each.max for each in parents)
        total = most * size * (1 + len(local))
        if total > limits.ITEM_COLLECTION_BYTES_MAX:
            yield str(entity), f"{most:,} items of {size:,} bytes, with indexes {total:,} bytes"


@rule(
    "I05",
    "warning",
    "an item with its local index entries may exceed 400 KB",
    "The limit of 400 KB is on the item and its entries in local indexes together.",
)
def item_with_entries(c: Context) -> Iterator[Found]:
    full = sum(s.kind == "LSI" and s.project == "ALL" for s in c.model.indexes)
    for entity in c.entities if full else ():
        size = c.size("I05", entity)
        if size is not None and size * (1 + full) > limits.ITEM_BYTES_MAX:
            yield str(entity), f"{size:,} bytes, {1 + full} times"


@rule(
    "I07",
    "information",
    "concatenated texts where the fields themselves would do",
    "A global index takes several attributes as its key, in their own types: nothing is computed, "
    "so existing items need no backfill, and nothing is parsed.",
)
def concatenated(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        shared = [e for e, k in c.keys if k.source.name == key.source.name]
        if key.source.kind != "GSI" or len(shared) > 1 or key.when is not None:
            continue
        for column in key.columns:
            parts = column.template.placeholders
            plain = all(not p.spec and not p.shards for p in parts)
            if column.natural is None and len(parts) > 1 and plain:
                fields = ", ".join(repr(part.field) for part in parts)
                yield named(entity, key), f"{column.template} could be ({fields})"
                break


@rule(
    "I08",
    "warning",
    "an index that no pattern needs",
    "Each index costs storage and a write for every write of its items. Keep them to a minimum.",
)
def unused(c: Context) -> Iterator[Found]:
    used = {plan.source.name for plan in c.plans}
    used |= _used_by_copies(c)
    for source in c.model.indexes:
        if source.name not in used:
            yield str(source), "no pattern reads it"
    for entity in c.entities:
        for n, one in enumerate(entity.indexes):
            for other in entity.indexes[n + 1 :]:
                if _texts(one) == _texts(other) and one.when == other.when:
                    yield named(entity, other), f"it has the same keys as {one.declared_as}"


def _used_by_copies(c: Context) -> set[str | None]:
    routes = [
        copy_route(entity, c.model.entity(copy.owner))
        for entity in c.entities
        for copy in entity.copies.values()
    ]
    return {route.key.source.name for route in routes if route is not None}


def _texts(key: EntityKey) -> list[str]:
    return [str(column.template) for column in key.columns]


@rule(
    "I09",
    "information",
    "indexes that could be one",
    "Indexes of different entities whose keys never meet can share one index, which saves a place "
    "of the quota. Worth it only when the quota is near.",
)
def could_share(c: Context) -> Iterator[Found]:
    single = [
        source
        for source in c.model.indexes
        if source.kind == "GSI" and sum(k.source.name == source.name for _, k in c.keys) == 1
    ]
    if len(single) > MANY_INDEXES:
        names = ", ".join(str(source.name) for source in single)
        yield c.table.name, f"each of these holds one entity: {names}"


@rule(
    "I10",
    "warning",
    "an index that repeats the table",
    "An index that holds every item with all of its attributes doubles storage and write costs. "
    "Leave items out (None, `when`), or project less.",
)
def repeats_the_table(c: Context) -> Iterator[Found]:
    for source in c.model.indexes:
        if source.kind != "GSI" or source.project != "ALL":
            continue
        if source == c.model.by_type:
            yield str(source), "it holds every item of the table, with all attributes"
            continue
        for entity, key in c.keys:
            if key.source.name == source.name and not _sparse(entity, key):
                size = c.size("I10", entity)
                if size is not None and size > limits.WRITE_UNIT_BYTES:
                    yield named(entity, key), f"every {entity}, {size:,} bytes each"


def _sparse(entity: Entity, key: EntityKey) -> bool:
    return key.when is not None or any(entity.fields[name].optional for name in key.fields)


@rule(
    "I11",
    "error",
    "a pattern returns what the index does not hold",
    "A global index gives only what is projected; the pattern is refused. A local index fetches "
    "the rest from the table, at the cost of a read for each item.",
)
def not_projected(c: Context) -> Iterator[tuple[str, str, Severity]]:
    for plan in c.plans:
        for entity in plan.entities if plan.source.kind == "LSI" else ():
            missing = missing_fields(needed_fields(plan.pattern, entity), entity, plan.source)
            if missing and plan.pattern.shape != "count":
                text = f"{', '.join(missing)} are fetched from the table, item by item"
                yield str(plan.pattern), text, "warning"


@rule(
    "I12",
    "information",
    "projected attributes that no pattern reads",
    "They are stored and written again. An entry of up to 1 KB costs one write whatever is in it, "
    "so small entries may project all.",
)
def projected_in_vain(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        source = key.source
        plans = [p for p in c.plans if p.source.name == source.name and entity in p.entities]
        if source.name is None or source.project == "KEYS_ONLY" or not plans:
            continue
        read = {name for plan in plans for name in needed_fields(plan.pattern, entity)} | set(
            key.fields
        )
        projected = [n for n, a in entity.attributes.items() if _holds(source, a)]
        vain = [n for n in projected if n not in read and n not in entity.key_fields]
        if vain:
            size = c.size("I12", entity)
            if size is not None and size > limits.WRITE_UNIT_BYTES:
                yield named(entity, key), f"nobody reads {', '.join(vain)}"


def _holds(source: Source, attribute: str) -> bool:
    return source.project == "ALL" or attribute in source.project


@rule(
    "I15",
    "warning",
    "an index key with few values",
    "All of its items are behind a handful of keys, each of which takes 1,000 writes and 3,000 "
    "reads a second. Use it for little traffic, or spread it: {id|shard:10}.",
)
def low_cardinality(c: Context) -> Iterator[Found]:
    if c.model.by_type is not None:
        kinds = len(c.entities)
        yield str(c.model.by_type), f"{kinds} values, one for each entity"
    for entity, key in c.keys:
        count = key_values(entity, key)
        if key.source.name is not None and count is not None and count < LOW_CARDINALITY:
            yield named(entity, key), f"{key.hash[0].template} has {counted(count, 'value')}"


def key_values(entity: Entity, key: EntityKey) -> int | None:
    """How many partition keys there are, where the declarations tell."""
    count = 1
    for column in key.hash:
        for part in column.template.placeholders:
            choices = entity.fields[part.field].choices
            if part.shards:
                count *= part.shards
            elif choices:
                count *= len(choices)
            else:
                return None
    return count


@rule(
    "I18",
    "information",
    "a filter drops nearly everything",
    "A sparse index (`when=`) holds only what is wanted, and nothing else is read.",
)
def filter_drops_most(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.filter is None:
            continue
        read = c.table.volumes.count(plan.entities[0]) if plan.routes else None
        per = [e.mean for e in c.table.volumes.of(plan.entities[0]).each] if plan.routes else []
        read = min(per) if per else read
        wanted = plan.pattern.facts.items
        if read is None or wanted is None:
            c.unknown("I18", f"items read and answered by {plan.pattern}")
        elif wanted < read / 10:
            yield str(plan.pattern), f"{wanted:,} of {read:,.0f} items are wanted"


@rule(
    "I19",
    "information",
    "an index where the primary key itself could do",
    "Keyed by (parent, child), a child is found below its parent without an index: half the "
    "writes and half the storage. It then needs the parent's id to be addressed.",
)
def identifying_relation(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        own = entity.key.fields
        if len(own) != 1 or len(entity.indexes) != 1:
            continue
        [key] = entity.indexes
        parents = [f for column in key.hash for f in column.template.fields]
        children = [f for column in key.range for f in column.template.fields]
        one_parent = len(parents) == 1 and children == list(own)
        if one_parent and not _sparse(entity, key) and key_values(entity, key) is None:
            yield named(entity, key), f"keyed by {parents[0]} and {own[0]}, it is not needed"


@rule(
    "I20",
    "information",
    "an edited field is part of an index key",
    "Each change deletes the old entry and puts a new one: two writes in the index.",
)
def edited_index_key(c: Context) -> Iterator[Found]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        for key in entity.indexes:
            edited = [name for name in writes.edit if name in key.fields]
            if edited:
                yield named(entity, key), f"{', '.join(edited)}: {writes.rate:g} times a second"


@rule(
    "I21",
    "warning",
    "a pattern reads an index that leaves items out",
    "Items whose field is None are not in the index, and so not in the answer. Ask for the field, "
    "or say with @st.using that this is what is meant.",
)
def leaves_out(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.facts.using is not None or plan.source.kind == "table":
            continue
        for route in plan.routes:
            none = [
                name
                for name in route.key.fields
                if route.entity.fields[name].optional and name not in route.bound
            ]
            if none:
                yield str(plan.pattern), f"items without {', '.join(none)} are not in {plan.source}"


@rule(
    "I22",
    "information",
    "a projection that names the table's key",
    "The table's key attributes are in every index anyway.",
)
def key_projected(c: Context) -> Iterator[Found]:
    keys = {column.attribute for column in c.model.table.columns}
    for source in c.model.indexes:
        named_keys = sorted(keys & set(source.project)) if source.project != "ALL" else []
        if named_keys and not isinstance(source.project, str):
            yield str(source), f"{', '.join(named_keys)} would be there without being named"
