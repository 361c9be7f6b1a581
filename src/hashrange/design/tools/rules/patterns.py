"""Rules about access patterns: A01 to A13."""

import re
from collections.abc import Iterator
from datetime import date, datetime

from hashrange.design.declare.generated import sorts_by_time
from hashrange.design.declare.keys.formats import UNIT_ORDER
from hashrange.design.declare.keys.templates import Placeholder
from hashrange.design.plan.routes import Route
from hashrange.design.tools.rules.rule import (
    Context,
    Found,
    Severity,
    checked_at_declaration,
    generated_ids,
    rule,
)
from hashrange.model import limits

BATCH_KEYS_MAX = 100

checked_at_declaration(
    "A01",
    "error",
    "a pattern that no key and no index serves",
    "It would have to read the whole table. Add the index that the message proposes, or allow a "
    "scan with @st.scan_ok('why').",
)
checked_at_declaration(
    "A13",
    "error",
    "a range over a field of varying length inside a sort key",
    "If the texts of a field vary in length and another text follows them, keys do not sort by the "
    "field. Put the field last, or give it a fixed width.",
)


@rule(
    "A02",
    "warning",
    "a filter runs after the read",
    "Filtered items are read and paid for, and a Limit counts them.",
)
def filtered(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.filter is None:
            continue
        wanted = plan.pattern.facts.items
        each = c.each("A02", plan.entities[0], plan.route.bound) if plan.routes else None
        numbers = f"; {wanted:,} of {each.mean:,.0f} items come back" if wanted and each else ""
        yield str(plan.pattern), f"{plan.pattern.facts.where!r} is applied after reading{numbers}"


@rule(
    "A03",
    "warning",
    "a result of several pages",
    "A Query returns at most 1 MB, so each further page is another request.",
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
    "a result without a limit",
    "According to the declared volumes, it exceeds a page of 1 MB. Read it with "
    ".page(size, cursor).",
)
def unbounded(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.shape != "many" or not plan.routes:
            continue
        shares = [
            (entity, each.max, size)
            for entity, route in zip(plan.entities, plan.routes, strict=True)
            if (each := c.each("A04", entity, route.bound)) is not None
            and (size := c.size("A04", entity)) is not None
        ]
        if sum(most * size for _, most, size in shares) > limits.PAGE_BYTES_MAX:
            items = " + ".join(
                f"{most:,} {entity} x {size:,} bytes" for entity, most, size in shares
            )
            yield str(plan.pattern), f"up to {items}"


@rule(
    "A05",
    "error",
    "a pattern for one item uses a key that is not unique",
    "An index does not make its keys unique, so two items can have the same key, and only one of "
    "them comes back. Declare st.unique(...) over the fields. A field whose default is a new id "
    "(st.ulid() or st.uuid7()) needs st.unique only if callers may set the field themselves, "
    "perhaps to the id of another item.",
)
def not_unique(c: Context) -> Iterator[tuple[str, str, Severity]]:
    for plan in c.plans:
        if plan.pattern.shape != "one" or plan.operation != "Query" or plan.pattern.facts.latest:
            continue
        known = plan.route.equal_fields
        if not any(set(u.template.fields) <= known for u in plan.entities[0].unique):
            text = f"{plan.source} does not make {', '.join(sorted(known))} unique"
            ids = sorted(known & generated_ids(plan.entities[0]))
            if ids:
                yield (
                    str(plan.pattern),
                    f"{text}, but {ids[0]} is a new id by default",
                    "information",
                )
            else:
                yield str(plan.pattern), text, "error"


@rule(
    "A06",
    "warning",
    "a pattern looks for the latest item in one time bucket only",
    "A new bucket is empty at first. With @st.buckets, the pattern also reads earlier buckets. You "
    "can also leave the time out of the partition key.",
)
def latest_of_bucket(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.facts.latest and plan.routes and plan.route.bucket is None:
            for column in plan.route.key.hash:
                for part in column.template.placeholders:
                    timed = plan.entities[0].fields[part.field].python in (date, datetime)
                    if timed and not part.shards:
                        bucket = f"{column.template} is a new, empty partition"
                        yield str(plan.pattern), f"when {part} changes, {bucket}"


@rule(
    "A07",
    "warning",
    "a time in the partition key needs several queries",
    "Each value of the time is a separate partition key, so a longer period needs one query for "
    "each value. @st.buckets sends these queries.",
)
def several_partitions(c: Context) -> Iterator[Found]:
    divided = {p.entities[0].name for p in c.plans if p.routes and p.route.bucket is not None}
    for entity in c.entities:
        for column in entity.key.hash if entity.name not in divided else ():
            for part in column.template.placeholders:
                timed = entity.fields[part.field].python in (date, datetime)
                if timed and not part.shards and len(column.template.placeholders) > 1:
                    yield str(entity), f"{column.template}: one query for each {part}"


@rule(
    "A08",
    "warning",
    "a read for each item of a result",
    "BatchGetItem takes 100 keys, so more items need several requests. If the needed field rarely "
    "changes, copy it instead.",
)
def follow_up(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.followed is None:
            continue
        relation = plan.entities[0]
        each = c.each("A08", relation, plan.route.bound)
        if each is not None and each.max > BATCH_KEYS_MAX:
            calls = -(-each.max // BATCH_KEYS_MAX)
            yield (
                str(plan.pattern),
                f"up to {each.max:,} {plan.followed} items are read, in {calls} calls",
            )


@rule(
    "A09",
    "information",
    "a query for several entities also reads other entities",
    "Other entities are in the same range; they are read, paid for and dropped.",
)
def reads_others(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.outsiders and len(plan.routes) > 1:
            others = " and ".join(str(entity) for entity in plan.outsiders)
            yield str(plan.pattern), f"it also reads {others}"


@rule(
    "A10",
    "warning",
    "missing rates",
    "Some rates are declared. A pattern or entity without a rate counts as never used.",
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
            yield str(entity), "it has no st.writes(...)"


@rule(
    "A11",
    "information",
    "a consistent read costs twice as much",
    "It takes one read unit for 4 KB instead of a half.",
)
def consistent(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.pattern.facts.consistent:
            yield str(plan.pattern), "a consistent read takes twice the read units"


@rule(
    "A12",
    "warning",
    "a pattern looks for the latest item by keys that do not sort by time",
    "@st.latest reads the largest sort key first. The arguments determine the beginning of the "
    "sort key. The item that is read is the newest only if the next part of the sort key is a "
    "time, a number that grows, or an id of st.ulid() or st.uuid7().",
)
def latest_by_another_order(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if not plan.pattern.facts.latest or plan.operation != "Query":
            continue
        for route in plan.routes:
            reason = _order_fault(route)
            if reason is not None:
                yield str(plan.pattern), f"{reason}, so the last item need not be the newest"
                break


def _order_fault(route: Route) -> str | None:
    """Why items with equal known key parts are not sorted by time; None if they are."""
    if not route.key.range:
        return f"{route.entity} has no sort key"
    if len(route.equals) == len(route.key.range):
        return None
    column = route.key.range[len(route.equals)]
    parts = column.template.parts[len(route.test.parts) if route.test is not None else 0 :]
    part = next((one for one in parts if isinstance(one, Placeholder)), None)
    if part is None:
        return None
    kind, written = route.entity.fields[part.field], column.template.formats.get(part)
    factory = route.entity.info(part.field).default_factory
    if sorts_by_time(factory):
        return None
    if written is None or written.descending:
        return f"{column.template} does not sort by time"
    grows = kind.python in (date, datetime) or kind.tag == "N"
    if grows and (written.ordered or column.natural is not None or _goes_on(route, part)):
        return None
    return f"{part} in {column.template} does not sort by time"


def _goes_on(route: Route, part: Placeholder) -> bool:
    """Whether `part` continues the time in the partition key: e.g. {at:%H} after {at:%Y-%m-%d}."""
    units = [*UNIT_ORDER]
    before = {
        unit
        for column in route.key.hash
        for one in column.template.placeholders
        if one.field == part.field and not one.shards
        for unit in column.template.formats[one].units
    }
    shown = re.findall("%.", part.spec)
    return before == {*units[: len(before)]} and shown == units[len(before) :][: len(shown)]
