"""Rules about size and traffic: C01 to C14."""

import math
from collections.abc import Iterator
from datetime import date, datetime
from typing import get_origin

from hashrange.design.tools.rules.indexes import LOW_CARDINALITY
from hashrange.design.tools.rules.rule import Context, Found, Severity, counted, named, rule
from hashrange.design.tools.rules.traffic import hot_keys, partition_values
from hashrange.model import limits

LARGE_BYTES = 200 * 1024
HOT_AND_LARGE_BYTES = 10 * 1024
TRANSACTION_MAX = 100
MANY_ITEMS = 1_000_000
MANY_QUERIES = 30
MANY_ENTRIES = 5


@rule(
    "C01",
    "error",
    "more traffic on one key than a partition allows",
    "One partition key value allows 1,000 write units and 3,000 read units per second, in the "
    "table and in each index separately. Neither adaptive nor burst capacity raises that. The "
    "traffic of all entities and patterns with the same value counts together. The declared "
    "volumes tell how many key values there are, and what share of the items the most frequent "
    "one has.",
)
def hot_key(c: Context) -> Iterator[tuple[str, str, Severity]]:
    hot = hot_keys(c, "C01")
    for traffic in hot:
        yield traffic.where, str(traffic), "error"
    known = {(traffic.what, traffic.where) for traffic in hot}
    for traffic in hot_keys(c, "C01", largest=True):
        if (traffic.what, traffic.where) not in known:
            text = f"if traffic is in proportion to the number of items, there are {traffic}"
            yield traffic.where, text, "warning"


@rule(
    "C02",
    "error",
    "an item that is too large",
    "An item has at most 400 KB. Beyond a few hundred KB, a few writes per second exceed what one "
    "key allows.",
)
def large_item(c: Context) -> Iterator[tuple[str, str, Severity]]:
    for entity in c.entities:
        for name, kind in entity.fields.items():
            if kind.tag in ("S", "B") and (kind.length_max or 0) > limits.ITEM_BYTES_MAX:
                most = f"{kind.length_max:,} characters"
                text = f"{name} may have {most}, but an item has at most 400 KB"
                yield str(entity), text, "warning"
        size = c.size("C02", entity)
        if size is not None and size > limits.ITEM_BYTES_MAX:
            yield str(entity), f"{size:,} bytes, but at most {limits.ITEM_BYTES_MAX:,} fit", "error"
        elif size is not None and size >= LARGE_BYTES:
            units = -(-size // limits.WRITE_UNIT_BYTES)
            yield str(entity), f"{size:,} bytes: {units} write units for each write", "warning"


@rule(
    "C03",
    "warning",
    "a field that can grow without limit",
    "Every write costs the size of the whole item, and the item may become too large. Make each "
    "element an item of its own, or give the field a max_length.",
)
def grows(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        for name, kind in entity.fields.items():
            mapping = (get_origin(kind.python) or kind.python) is dict
            many = mapping or kind.tag in ("L", "SS", "NS", "BS")
            if many and kind.length_max is None and not kind.vector:
                yield str(entity), f"{name} has no max_length"


@rule(
    "C04",
    "warning",
    "a large item with a small part that changes",
    "An update costs the size of the whole item. Move the fields that change often to an item of "
    "their own.",
)
def split(c: Context) -> Iterator[Found]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        size = c.size("C04", entity)
        if writes.edit and writes.rate and size is not None and size >= HOT_AND_LARGE_BYTES:
            units = -(-size // limits.WRITE_UNIT_BYTES)
            fields = ", ".join(writes.edit)
            cost = f"{writes.rate:g} x {units} write units per second"
            yield str(entity), f"edits of {fields} cost {cost}"


@rule(
    "C05",
    "warning",
    "a write of a text without a max_length",
    "Each write costs the size of its item. With a text of unlimited length, the item can have up "
    "to 400 KB. Give the fields a max_length, or declare the size of the items in the volumes. "
    "Parts of keys are checked by K02.",
)
def unlimited_texts(c: Context) -> Iterator[Found]:
    written = {c.model.entity(writes.entity).name for writes in c.table.writes}
    for entity in c.entities:
        names = [
            name
            for name, kind in entity.own.items()
            if kind.python is str and kind.length_max is None and name not in entity.feeding
        ]
        if not names or c.table.volumes.of(entity).size is not None:
            continue
        if entity.name in written:
            yield str(entity), f"{', '.join(names)}: nothing limits what a write costs"
        else:
            c.unknown("C05", f"max_length of {', '.join(names)} in {entity}")


@rule(
    "C06",
    "error",
    "a transaction of more than 100 items",
    "A change of the owner and of all its copies has to fit in one transaction. If there can be "
    'more copies, declare the field with sync="batch".',
)
def transaction_size(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        for name, copy in entity.copies.items():
            per = c.table.volumes.per(entity, copy.owner.__name__)
            if copy.sync == "transaction" and per is None:
                c.unknown("C06", f"number of {entity} items for each {copy.owner.__name__}")
            elif copy.sync == "transaction" and per and per.max >= TRANSACTION_MAX:
                yield f"{entity}.{name}", f"the owner and up to {per.max:,} copies"


@rule(
    "C07",
    "information",
    "what shards cost, and how many are needed",
    "n shards allow n times the traffic of one key, and every read queries n keys.",
)
def shards(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.route_shards:
            yield str(plan.pattern), f"each read queries {plan.route_shards} keys"
    for traffic in hot_keys(c, "C07"):
        count = math.ceil(traffic.units / traffic.most)
        yield traffic.where, f"{count} shards would be enough for its {traffic.what}s"


@rule(
    "C08",
    "information",
    "attribute names that are larger than the values",
    "Attribute names are stored in every item. Short aliases save storage: Field(alias='b').",
)
def long_names(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        size, count = c.size("C08", entity), c.count("C08", entity)
        names = sum(len(attribute) for attribute in entity.owned_attributes)
        if size and count and count >= MANY_ITEMS and names * 2 > size:
            text = f"attribute names take {names} of the {size} bytes of each item"
            yield str(entity), f"{text}, in {count:,.0f} items"


@rule(
    "C09",
    "warning",
    "a call that sends many queries",
    "Each shard, each known value and each unit of time is a query of its own, even if it finds "
    "nothing. Use fewer shards, larger units of time, or a smaller at_most.",
)
def many_queries(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.queries_max > MANY_QUERIES:
            yield str(plan.pattern), f"up to {plan.queries_max:,} queries for a call"


@rule(
    "C10",
    "information",
    "writes that are transactions",
    "A write is a transaction if its item has unique texts. It is also one if the item has copies "
    'that are declared with sync="transaction", or if other items have such copies of it. Such a '
    "write costs twice as much, and also writes or checks the markers and the other items.",
)
def transactional(c: Context) -> Iterator[Found]:
    for writes in c.table.writes:
        entity, rate = c.model.entity(writes.entity), writes.create + writes.rate
        reasons = ["unique texts"] if entity.unique else []
        if any(copy.sync == "transaction" for copy in entity.copies.values()):
            reasons.append("copies")
        if reasons and rate:
            text = f"{rate:g} writes per second are transactions because of its "
            yield str(entity), text + " and ".join(reasons)


@rule(
    "C11",
    "warning",
    "an expiry that DynamoDB does not use",
    "A table has one TTL attribute, a number of epoch seconds: st.TTL. Reads may return items for "
    "days after they have expired.",
)
def expiry(c: Context) -> Iterator[Found]:
    attribute = c.model.ttl_attribute
    for entity in c.entities:
        for name, kind in entity.fields.items():
            if kind.expires and entity.attributes[name] != attribute:
                yield f"{entity}.{name}", f"the table's TTL attribute is {attribute}"
            if name in ("ttl", "expires", "expires_at", "expiry") and not kind.expires:
                yield f"{entity}.{name}", f"it is stored as {kind.tag}: use st.TTL"


@rule(
    "C12",
    "warning",
    "a partition key that is only a time",
    "All writes of one period go to one key. Add another field or shards to the key.",
)
def moves_with_clock(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        parts = [part for column in key.hash for part in column.template.placeholders]
        times = [p for p in parts if entity.fields[p.field].python in (date, datetime)]
        if parts and len(times) == len(parts) and not any(p.shards for p in parts):
            yield (
                named(entity, key),
                f"at any time, all writes go to a single {key.hash[0].template}",
            )


@rule(
    "C13",
    "warning",
    "a write that also writes many index entries",
    "Creating an item writes an entry in each of its indexes. Leave items out of indexes (None, "
    "`when`), or let patterns share an index.",
)
def many_entries(c: Context) -> Iterator[Found]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        if len(entity.indexes) >= MANY_ENTRIES and writes.create + writes.rate:
            yield str(entity), f"up to {len(entity.indexes)} index entries for an item"


@rule(
    "C14",
    "warning",
    "few partition keys",
    "An entity with fewer than 100 partition keys does not spread over partitions.",
)
def few_keys(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        values = partition_values(entity, entity.key)
        if values is not None and len(values) < LOW_CARDINALITY:
            yield str(entity), f"{entity.key.hash[0].template} has {counted(len(values), 'value')}"
