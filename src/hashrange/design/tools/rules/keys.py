"""Rules about keys: K01 to K20."""

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import pairwise

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.possible_texts import ANY
from hashrange.design.declare.keys.templates import Placeholder
from hashrange.design.declare.schema import KeyColumn
from hashrange.design.plan.plans import Plan
from hashrange.design.tools.rules.rule import (
    Context,
    Found,
    Severity,
    checked_at_declaration,
    named,
    rule,
)
from hashrange.model import limits

checked_at_declaration(
    "K01",
    "error",
    "a placeholder that is not a field, or that is None in a primary key",
    "An item needs all of its key attributes, and they cannot be empty. The model is refused when "
    "it is declared.",
)
checked_at_declaration(
    "K18",
    "error",
    "a key attribute with different types in two entities",
    "DynamoDB rejects an item whose attribute has another type than the index declares. The model "
    "is refused when it is declared.",
)


checked_at_declaration(
    "K20",
    "error",
    "a template that shows only a part of a field that a pattern compares",
    "A key with {day:%Y-%m} cannot tell the days of a month apart, so a pattern by day would "
    "return all of them. Compare by st.Month, show the day in another part of the key, or filter "
    "with @st.where. The pattern is refused.",
)


@rule(
    "K02",
    "error",
    "a key can be longer than DynamoDB allows",
    "A partition key has at most 2048 bytes in UTF-8, a sort key 1024. Give the fields a "
    "max_length so that no key is longer.",
)
def key_length(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        for columns, most in ((key.hash, limits.PARTITION_KEY_BYTES_MAX),
                              (key.range, limits.SORT_KEY_BYTES_MAX)):  # fmt: skip
            for column in columns:
                longest = _longest(column)
                if longest is None:
                    c.unknown("K02", f"max_length of {column.template} in {named(entity, key)}")
                elif longest > most:
                    text = f"{column.template} can have {longest:,} bytes, but at most {most:,} fit"
                    yield named(entity, key), text


def _longest(column: KeyColumn) -> int | None:
    total = 0
    for run in column.template.runs(ANY):
        if run.most is None:
            return None
        total += run.most * (4 if run.chars.inverted else 1)
    return total


@rule(
    "K03",
    "error",
    "two entities can have the same primary key",
    "A put replaces the item with the same key. Give each entity a constant in its key that no "
    "other entity can produce.",
)
def same_primary_key(c: Context) -> Iterator[Found]:
    for n, one in enumerate(c.entities):
        for other in c.entities[n + 1 :]:
            if one.key.meets(other.key, c.model.clean, c.model.clean):
                yield str(one), f"{_key(one)} and {other}'s {_key(other)} can be the same"


def _key(entity: Entity) -> str:
    return " / ".join(repr(str(column.template)) for column in entity.key.columns)


@rule(
    "K04",
    "error",
    "only a time distinguishes two items",
    "If two events have the same key, the second replaces the first. With microseconds that is "
    "rare; an id after the time makes it impossible. If there is only one item for each day, such "
    "as a total, a key by day is right: accept the finding.",
)
def only_time_tells_apart(c: Context) -> Iterator[Found | tuple[str, str, Severity]]:
    for entity in c.entities:
        if not entity.key.range:
            continue
        parts = entity.key.range[-1].template.placeholders
        if len(parts) != 1 or entity.fields[parts[0].field].python not in (date, datetime, time):
            continue
        level: Severity
        whole = not parts[0].spec or "%d" in parts[0].spec
        if entity.fields[parts[0].field].python is date:
            grain, level = ("day", "warning") if whole else ("period", "error")
        else:
            fine = not parts[0].spec or "%f" in parts[0].spec
            grain, level = ("microsecond", "information") if fine else ("moment", "error")
        text = f"of two items with the same {grain}, the second replaces the first: {_key(entity)}"
        yield str(entity), text, level


@rule(
    "K05",
    "warning",
    "a pattern's prefix is also the beginning of another entity's keys",
    "begins_with compares bytes, so items of the other entity are read, paid for and filtered out. "
    "Another delimiter in one template avoids this: 'floor@1@room#2' does not begin with 'floor#'.",
)
def prefix_overlap(c: Context) -> Iterator[Found | tuple[str, str, Severity]]:
    for plan in c.plans:
        if plan.outsiders and len(plan.routes) == 1 and not _natural_range(plan):
            others = " and ".join(str(entity) for entity in plan.outsiders)
            column = plan.route.key.range[:1]
            known = "".join(str(part) for part in plan.route.known)
            asked = f"begins_with({column[0].attribute}, {known!r})" if column else "the partition"
            level: Severity = "warning" if c.model.type_attribute else "error"
            yield str(plan.pattern), f"{asked} for {plan.entities[0]} also reads {others}", level


def _natural_range(plan: Plan) -> bool:
    test = plan.test
    return test is not None and test.ranged and test.column.natural is not None


@rule(
    "K06",
    "error",
    "a prefix can end in the middle of a value",
    "Without a constant after the value, the prefix 'floor1' also matches 'floor10'. End each "
    "level with a delimiter.",
)
def prefix_in_value(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        for column in key.columns:
            parts = column.template.parts
            for part, following in pairwise(parts):
                if isinstance(part, Placeholder) and isinstance(following, Placeholder):
                    written = column.template.formats.get(part)
                    if written is None or not written.fixed:
                        yield named(entity, key), f"nothing separates {part} from {following}"


@rule(
    "K07",
    "information",
    "a value with a delimiter could produce another entity's key",
    "Writing such a value raises BadValue. A field of type st.Slug cannot have such a value.",
)
def delimiter_in_value(c: Context) -> Iterator[Found]:
    clean = c.model.clean
    for entity in c.entities:
        for other in c.entities:
            if other is entity or not entity.key.meets(other.key, ANY, clean):
                continue
            if not entity.key.meets(other.key, clean, clean):
                yield str(entity), f"{_key(entity)} can also be {other}'s {_key(other)}"


@rule(
    "K08",
    "error",
    "a number in a sort key that does not sort as a number",
    "Texts sort by bytes, so '10' comes before '9'. Pad the number to a fixed width, {words:06d}, "
    "or {words:+06d} if it can be negative; or make the field itself the key attribute, "
    "st.attr('words').",
)
def number_without_width(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        for column in key.range:
            for part in column.template.placeholders if column.natural is None else ():
                kind = entity.fields[part.field]
                number = kind.tag == "N" and not kind.expires
                if number and not part.shards and not column.template.formats[part].ordered:
                    yield named(entity, key), f"{part} has no fixed width in {column.template}"


@rule(
    "K09",
    "error",
    "a time in a sort key that does not sort as time",
    "A format sorts if it goes from the largest unit downwards, each of fixed width. ISO 8601 in "
    "UTC does, '%d.%m.%Y' does not.",
)
def time_out_of_order(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        days = {p.field for column in key.hash for p in column.template.placeholders}
        for column in key.range:
            for part in column.template.placeholders if column.natural is None else ():
                kind = entity.fields[part.field].python
                if kind not in (date, datetime, time) or part.shards:
                    continue
                within_day = part.field in days and part.spec.startswith("%H")
                if not column.template.formats[part].ordered and not within_day:
                    yield named(entity, key), f"{part} does not sort as {part.field} does"


@rule(
    "K10",
    "error",
    "a range that also reads another entity",
    "A range without an upper bound extends to the end of the partition. The toolkit limits a "
    "range over a template to the template's prefix. It cannot limit a range over a field that is "
    "itself the key attribute.",
)
def unbounded_range(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        if plan.outsiders and _natural_range(plan):
            others = " and ".join(str(entity) for entity in plan.outsiders)
            yield str(plan.pattern), f"its range also reads {others}"


@rule(
    "K11",
    "information",
    "a range includes both of its ends",
    "st.Between is inclusive, like DynamoDB's BETWEEN. For 'more than 5' and 'less than 9' use "
    "st.After and st.Before.",
)
def between_is_inclusive(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        for argument in plan.pattern.arguments:
            if argument.operator == "between":
                yield str(plan.pattern), f"{argument.name} includes both ends"


@rule(
    "K12",
    "information",
    "constants that differ only in case",
    "Keys are case-sensitive: 'User#1' and 'user#1' are different keys.",
)
def mixed_case(c: Context) -> Iterator[Found]:
    seen: dict[str, str] = {}
    for entity, key in c.keys:
        for column in key.columns:
            for part in column.template.parts:
                if isinstance(part, str):
                    known = seen.setdefault(part.lower(), part)
                    if known != part:
                        yield named(entity, key), f"{part!r} is written {known!r} in another key"


@rule(
    "K13",
    "warning",
    "an inverted index",
    "An index with the table's sort key as its partition key holds every item, even items that no "
    "pattern finds there. An index on other attributes holds only the items that have them.",
)
def inverted_index(c: Context) -> Iterator[Found]:
    table = c.model.table
    for source in c.model.indexes:
        if source.hash == table.range and source.range == table.hash:
            yield str(source), "it holds every item by the table's sort key"


PATHS = re.compile(r"(^|_)(path|folder|directory|dir)$").search


@rule(
    "K14",
    "warning",
    "a prefix of a path that can end in the middle of a name",
    "A prefix compares characters, not the names in the path: 'docs/a' also finds 'docs/ab/c'. "
    "Declare the path as its segments, `path: tuple[st.Slug, ...]`, which a key shows as /docs/a/.",
)
def prefix_of_path(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        for argument in plan.pattern.arguments:
            kind = plan.entities[0].fields.get(argument.field) if plan.routes else None
            free = kind is not None and kind.python is str and not kind.delimited
            if argument.operator == "begins with" and free and PATHS(argument.field):
                yield (
                    str(plan.pattern),
                    f"{argument.field} is plain text, so a prefix can end anywhere",
                )


@rule(
    "K15",
    "error",
    "a field of the primary key is edited",
    "A primary key cannot be updated. The item has to be deleted and created again (`move`), at "
    "twice the cost. Choose a key of fields that do not change.",
)
def mutable_primary_key(c: Context) -> Iterator[Found]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        for name in writes.edit:
            if name in entity.key_fields:
                yield str(entity), f"{name} is edited {writes.rate:g} times per second"


@rule(
    "K16",
    "warning",
    "an index key uses an id that is unique only within its parent",
    "Floor 1 of one building and floor 1 of another have the same index key, so a query returns "
    "the items of both. Add the parent's id to the key, or make the id unique by "
    "itself. Only fields with st.ref are checked.",
)
def partial_identity(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        if key.source.name is None:
            continue
        fields = {p.field for col in key.hash for p in col.template.placeholders if not p.shards}
        for other in _partly_known(c, entity, fields)[:1]:
            *parents, child = other.key.fields
            identity = f"{', '.join(parents)} and {child}"
            known = ", ".join(str(column.template) for column in key.hash)
            reason = (
                f"several {other} items can have {known}: only {identity} together identify one"
            )
            yield named(entity, key), reason


def _partly_known(c: Context, entity: Entity, fields: set[str]) -> list[Entity]:
    """Other entities to which some of the fields refer, while a part of their key is missing."""
    references = c.model.references
    return [
        other
        for name in sorted(fields)
        for other, _ in references.named(entity, name)
        if other is not entity
        and any(fields.isdisjoint(part) for part in references.parts(entity, other).values())
    ]


@rule(
    "K17",
    "warning",
    "a partition key begins with a value instead of the entity's name",
    "If values of several entities are equal, their items share a partition. A prefix with the "
    "entity's name keeps them apart.",
)
def no_prefix(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        column = key.hash[0]
        if column.natural is not None or not isinstance(column.template.parts[0], Placeholder):
            continue
        for other, theirs in c.keys:
            same = other is not entity and theirs.source.name == key.source.name
            if same and column.meets(theirs.hash[0], ANY, ANY):
                yield (
                    named(entity, key),
                    f"{column.template} can equal the partition key of {other}",
                )
                break


@rule(
    "K19",
    "information",
    "an index is shared by entities that are never read together",
    "The only gain of sharing is that fewer indexes of the quota are used. An index for each "
    "entity, with a descriptive name, is easier to read.",
)
def overloaded_apart(c: Context) -> Iterator[Found]:
    for source in c.model.indexes:
        inside = [e for e, key in c.keys if key.source.name == source.name]
        together = [p for p in c.plans if p.source.name == source.name and len(p.routes) > 1]
        if len(inside) > 1 and not together:
            yield str(source), f"shared by {', '.join(str(entity) for entity in inside)}"
