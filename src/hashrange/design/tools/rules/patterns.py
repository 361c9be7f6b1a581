"""Rules about access patterns: A01 to A13."""

from collections.abc import Iterator
from datetime import date, datetime

from hashrange.design.tools.rules.rule import Context, Found, checked_at_declaration, rule
from hashrange.model import limits

BATCH_KEYS_MAX = 100

checked_at_declaration(
    "A01",
    "error",
    "a pattern that no key and no index serves",
    "It would have to read the whole table. Add the index that the message proposes, or say "
    "@st.scan_ok('why') if reading everything is what you want.",
)
checked_at_declaration(
    "A13",
    "error",
    "a range in the middle of a sort key",
    "One comparison per Query, on the left part of the key. A text of varying length followed by "
    "more does not sort by itself.",
)


@rule(
    "A02",
    "warning",
    "a filter runs after the read",
    "Capacity is for what is read, and a Limit counts before the filter.",
)
def filtered(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.filter is None:
            continue
        wanted = plan.pattern.facts.items
        count = c.table.volumes.count(plan.entities[0]) if plan.routes else None
        numbers = f"; {wanted:,} of {count:,.0f} items come back" if wanted and count else ""
        yield str(plan.pattern), f"{plan.pattern.facts.where!r} is decided after reading{numbers}"


@rule(
    "A03",
    "warning",
    "an answer of several pages",
    "A Query returns at most 1 MB at a time; each further page is another round trip.",
)
def several_pages(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        facts = plan.pattern.facts
        if plan.pattern.shape != "many":
            continue
        if facts.items is None or facts.size is None:
            c.unknown("A03", f"items and size of {plan.pattern}")
        elif facts.items * facts.size > limits.PAGE_BYTES_MAX:
            pages = -(-facts.items * facts.size // limits.PAGE_BYTES_MAX)
            yield str(plan.pattern), f"{facts.items:,} x {facts.size:,} bytes: {pages} pages"


@rule(
    "A04",
    "warning",
    "an answer without bounds",
    "By the declared volumes it outgrows a page. Ask for it with .page(size, cursor).",
)
def unbounded(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.shape != "many" or not plan.routes:
            continue
        entity = plan.entities[0]
        size = c.size("A04", entity)
        most = max((each.max for each in c.table.volumes.of(entity).each), default=None)
        if most is None:
            c.unknown("A04", f"most {entity} items under one key")
        elif size is not None and most * size > limits.PAGE_BYTES_MAX:
            yield str(plan.pattern), f"up to {most:,} x {size:,} bytes"


@rule(
    "A05",
    "error",
    "at most one item, by a key that is not unique",
    "An index does not make its keys unique: two items may have the same, and one of them would "
    "come back. Declare st.unique(...) over the fields.",
)
def not_unique(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.shape != "one" or plan.operation != "Query" or plan.pattern.facts.latest:
            continue
        known = set(plan.route.bound)
        if not any(set(u.template.fields) <= known for u in plan.entities[0].unique):
            text = f"{plan.source} does not make {', '.join(sorted(known))} unique"
            yield str(plan.pattern), text


@rule(
    "A06",
    "warning",
    "the latest of a bucket of time",
    "Right after the bucket turns there is nothing in it. Ask for the bucket before as well, or "
    "leave the time out of the partition key.",
)
def latest_of_bucket(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.facts.latest and plan.routes:
            for column in plan.route.key.hash:
                for part in column.template.placeholders:
                    if plan.entities[0].fields[part.field].python in (date, datetime):
                        yield str(plan.pattern), f"{column.template} is empty when {part} turns"


@rule(
    "A07",
    "warning",
    "a longer time needs several queries",
    "With a time in the partition key, each stretch of it is a partition of its own.",
)
def several_partitions(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        for column in entity.key.hash:
            for part in column.template.placeholders:
                timed = entity.fields[part.field].python in (date, datetime)
                if timed and not part.shards and len(column.template.placeholders) > 1:
                    yield str(entity), f"{column.template}: one query for each {part}"


@rule(
    "A08",
    "warning",
    "a read for each item of an answer",
    "BatchGetItem takes 100 keys at a time: a follow-up for more is several calls. Copy the field "
    "that is needed instead, if it rarely changes.",
)
def follow_up(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.followed is None:
            continue
        relation = plan.entities[0]
        most = [e.max for e in c.table.volumes.of(relation).each if e.parent != str(plan.followed)]
        if not most:
            c.unknown("A08", f"most {relation} items under one key")
        elif max(most) > BATCH_KEYS_MAX:
            calls = -(-max(most) // BATCH_KEYS_MAX)
            yield str(plan.pattern), f"up to {max(most):,} {plan.followed} items: {calls} calls"


@rule(
    "A09",
    "information",
    "a query for several entities reads others too",
    "They lie between those that are wanted: read, paid for and dropped.",
)
def reads_others(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.outsiders and len(plan.routes) > 1:
            others = " and ".join(str(entity) for entity in plan.outsiders)
            yield str(plan.pattern), f"it also reads {others}"


@rule(
    "A10",
    "warning",
    "rates that are missing beside others",
    "Where some rates are declared, what has none looks as if it never happened.",
)
def rates_missing(c: Context) -> Iterator[Found]:
    if not c.table.writes and all(plan.pattern.facts.rate is None for plan in c.plans):
        c.unknown("A10", "rates of reads and writes")
        return
    for plan in c.plans:
        if plan.pattern.facts.rate is None:
            yield str(plan.pattern), "it has no @st.rate"
    written = {c.model.entity(writes.entity).name for writes in c.table.writes}
    for entity in c.entities:
        if entity.name not in written:
            yield str(entity), "it is never written: st.writes(...)"


@rule(
    "A11",
    "information",
    "a consistent read costs twice",
    "One read unit for 4 KB instead of a half.",
)
def consistent(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.facts.consistent:
            yield str(plan.pattern), "consistent: twice the read units"
