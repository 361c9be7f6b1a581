"""Rules about indexes: I01 to I22. (`index_contents` has I14, I16 and I17.)"""

from collections.abc import Iterator

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import EntityKey, Source
from hashrange.design.execute.writes.copies import copy_route
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
from hashrange.design.tools.rules.traffic import partition_values
from hashrange.model import limits

PROJECTED_MAX = 100
MANY_INDEXES = 10
LOW_CARDINALITY = 100

checked_at_declaration(
    "I06",
    "error",
    "a key of more attributes than DynamoDB allows",
    "A global index can have up to four attributes in its partition key and four in its sort key. "
    "The table and local indexes have one in each. The model is refused when it is declared.",
)
checked_at_declaration(
    "I13",
    "error",
    "a consistent read of a global index",
    "Global indexes are always eventually consistent. Read by the table's key instead.",
)


@rule(
    "I01",
    "error",
    "more indexes than DynamoDB allows",
    "A table has at most 20 global indexes (a quota that can be raised) and 5 local indexes.",
)
def too_many(c: Context) -> Iterator[Found]:
    for kind, most in (("GSI", limits.GLOBAL_INDEXES_MAX), ("LSI", limits.LOCAL_INDEXES_MAX)):
        count = sum(source.kind == kind for source in c.model.indexes)
        if count > most:
            yield c.table.name, f"{count} {kind}s, but at most {most} are allowed"


@rule(
    "I02",
    "information",
    "a local index cannot be added or dropped later",
    "Local indexes are created together with the table. A global index with the same partition "
    "key can be added and dropped, but it cannot be read consistently.",
)
def local_forever(c: Context) -> Iterator[Found]:
    for source in c.model.indexes:
        if source.kind == "LSI":
            yield str(source), "it can only be created together with the table"


@rule(
    "I03",
    "error",
    "too many projected attributes",
    "INCLUDE takes at most 100 attributes in all indexes together; an attribute in two indexes "
    "counts twice.",
)
def too_many_projected(c: Context) -> Iterator[Found]:
    count = sum(len(s.project) for s in c.model.indexes if not isinstance(s.project, str))
    if count > PROJECTED_MAX:
        yield c.table.name, f"{count} projected attributes, but at most {PROJECTED_MAX} fit"


@rule(
    "I04",
    "error",
    "an item collection may exceed 10 GB",
    "In a table with local indexes, the items of one partition key and their index entries "
    "together have at most 10 GB. Writes beyond that fail.",
)
def collection_size(c: Context) -> Iterator[Found]:
    if not any(source.kind == "LSI" for source in c.model.indexes):
        return
    collections: dict[tuple[str, ...], list[tuple[Entity, int, int]]] = {}
    for entity in c.entities:
        each = c.each(
            "I04", entity, {f for column in entity.key.hash for f in column.template.fields}
        )
        size = c.size("I04", entity)
        if each is not None and size is not None:
            entries = sum(key.source.kind == "LSI" for key in entity.indexes)
            template = tuple(str(column.template) for column in entity.key.hash)
            counted_bytes = each.max * size * (1 + entries)
            collections.setdefault(template, []).append((entity, each.max, counted_bytes))
    for shares in collections.values():
        total = sum(count for _, _, count in shares)
        if total > limits.ITEM_COLLECTION_BYTES_MAX:
            items = " and ".join(f"{most:,} {entity}" for entity, most, _ in shares)
            yield str(shares[0][0]), f"{items} items have {total:,} bytes with their index entries"


@rule(
    "I05",
    "warning",
    "an item with its local index entries may exceed 400 KB",
    "The limit of 400 KB applies to an item together with its entries in local indexes.",
)
def item_with_entries(c: Context) -> Iterator[Found]:
    full = sum(s.kind == "LSI" and s.project == "ALL" for s in c.model.indexes)
    for entity in c.entities if full else ():
        size = c.size("I05", entity)
        if size is not None and size * (1 + full) > limits.ITEM_BYTES_MAX:
            times = f"{1 + full} times: in the table and in local indexes"
            yield str(entity), f"its {size:,} bytes count {times}"


@rule(
    "I07",
    "information",
    "a key that joins fields into a text, where the fields themselves would do",
    "A global index can have several attributes as its key, in their own types. Then nothing is "
    "computed, so existing items need no backfill.",
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
    "an index that no pattern uses",
    "Each index costs storage, and a write for each write of its items.",
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
        copy_route(c.model.references.of_copy(entity, name))
        for entity in c.entities
        for name in entity.copies
    ]
    return {route.key.source.name for route in routes if route is not None}


def _texts(key: EntityKey) -> list[str]:
    return [str(column.template) for column in key.columns]


@rule(
    "I09",
    "information",
    "indexes that could share one index",
    "Entities whose keys are never equal can share one index. That is useful if the table is near "
    "its quota of indexes.",
)
def could_share(c: Context) -> Iterator[Found]:
    single = [
        source
        for source in c.model.indexes
        if source.kind == "GSI" and sum(k.source.name == source.name for _, k in c.keys) == 1
    ]
    if len(single) > MANY_INDEXES:
        names = ", ".join(str(source.name) for source in single)
        yield c.table.name, f"each of these indexes holds one entity: {names}"


@rule(
    "I10",
    "warning",
    "an index that repeats the table",
    "An index that holds every item with all of its attributes doubles the cost of storage and "
    "writes. Leave items out (None, `when`) or project fewer attributes.",
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
                    yield (
                        named(entity, key),
                        f"it holds every {entity} with all of its {size:,} bytes",
                    )


def _sparse(entity: Entity, key: EntityKey) -> bool:
    return key.when is not None or any(entity.fields[name].optional for name in key.fields)


@rule(
    "I11",
    "error",
    "a pattern returns fields that the index does not hold",
    "A global index returns only projected attributes, so the pattern is refused. A local index "
    "fetches the others from the table, at the cost of a read for each item.",
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
    "They cost storage and writes. An entry of up to 1 KB always costs one write unit, so small "
    "entries may project all attributes.",
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
                yield named(entity, key), f"no pattern reads {', '.join(vain)}"


def _holds(source: Source, attribute: str) -> bool:
    return source.project == "ALL" or attribute in source.project


@rule(
    "I15",
    "warning",
    "an index key with few values",
    "Its items share a few partition keys, each of which allows 1,000 write units and 3,000 read "
    "units per second. Use it for low traffic, or spread it over shards: {id|shard:10}.",
)
def low_cardinality(c: Context) -> Iterator[Found]:
    if c.model.by_type is not None:
        kinds = len(c.entities)
        yield str(c.model.by_type), f"{counted(kinds, 'value')}, one for each entity"
    for entity, key in c.keys:
        values = partition_values(entity, key) if key.source.name is not None else None
        if values is not None and len(values) < LOW_CARDINALITY:
            yield named(entity, key), f"{key.hash[0].template} has {counted(len(values), 'value')}"


@rule(
    "I18",
    "information",
    "a filter drops more than nine tenths of the items",
    "A sparse index (`when=`) holds only the wanted items, so that no others are read.",
)
def filter_drops_most(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.filter is None:
            continue
        wanted = plan.pattern.facts.items
        each = c.each("I18", plan.entities[0], plan.route.bound) if plan.routes else None
        if wanted is None:
            c.unknown("I18", f"items of {plan.pattern}")
        elif each is not None and wanted < each.mean / 10:
            yield str(plan.pattern), f"{wanted:,} of {each.mean:,.0f} items pass the filter"


@rule(
    "I19",
    "information",
    "an index that a different primary key would make unnecessary",
    "With the key (parent, child), a query by parent needs no index, which halves writes and "
    "storage. But to get a single child, you then need the parent's id.",
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
        if one_parent and not _sparse(entity, key) and partition_values(entity, key) is None:
            yield (
                named(entity, key),
                f"a primary key of {parents[0]} and {own[0]} would replace the index",
            )


@rule(
    "I20",
    "information",
    "an edited field is part of an index key",
    "Each change deletes the old index entry and puts a new one: two writes.",
)
def edited_index_key(c: Context) -> Iterator[Found]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        for key in entity.indexes:
            edited = [name for name in writes.edit if name in key.fields]
            if edited:
                yield named(entity, key), f"{', '.join(edited)}: {writes.rate:g} edits per second"
    for entity in c.entities:
        for key in entity.indexes:
            times = [name for name in entity.update_times if name in key.fields]
            if times:
                yield named(entity, key), f"{', '.join(times)}: edited by every write"


@rule(
    "I21",
    "warning",
    "a pattern reads an index that leaves items out",
    "Items in which a field of the key is None are not in the index, and so not in the result. "
    "Make the field an argument, or confirm with @st.using that only the items in the index are "
    "wanted.",
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
    "Every index already projects the table's key attributes.",
)
def key_projected(c: Context) -> Iterator[Found]:
    keys = {column.attribute for column in c.model.table.columns}
    for source in c.model.indexes:
        named_keys = sorted(keys & set(source.project)) if source.project != "ALL" else []
        if named_keys and not isinstance(source.project, str):
            yield str(source), f"{', '.join(named_keys)} need not be named"
