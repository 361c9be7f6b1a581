"""Rules about what an index holds: I14, I16 and I17."""

from collections.abc import Iterator

from hashrange.design.plan.plain_keys import plain_key
from hashrange.design.tools.rules.rule import Context, Found, named, rule


@rule(
    "I14",
    "information",
    "a global index with the table's partition key",
    "A local index has the same items in the same order and can be read consistently. But it can "
    "only be created together with the table, and limits each partition key to 10 GB.",
)
def could_be_local(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        same = [str(one.template) for one in key.hash] == [
            str(one.template) for one in entity.key.hash
        ]
        if key.source.kind == "GSI" and same and key.range and entity.key.range:
            yield named(entity, key), f"{key.hash[0].template} is the table's partition key too"


@rule(
    "I16",
    "warning",
    "an index that does not tell its entities apart",
    "It does not project the type attribute, so DynamoDB cannot filter by it: items of other "
    'entities are sent and dropped afterwards, and a count is refused. Use project="ALL", or give '
    "the entities sort keys that begin differently.",
)
def without_type(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        project, attribute = plan.source.project, c.model.type_attribute
        held = attribute is None or project == "ALL" or attribute in project
        if plan.outsiders and not held:
            others = " and ".join(str(entity) for entity in plan.outsiders)
            yield str(plan.pattern), f"{plan.source} also sends items of {others}"


@rule(
    "I17",
    "information",
    "an index on plain attributes holds items of other entities",
    "DynamoDB puts every item with these attributes into the index, even if its entity does not "
    "declare the index. Such items are read, paid for and filtered out. Other names for the "
    "attributes (Field(alias=...)) keep them apart.",
)
def holds_others(c: Context) -> Iterator[Found]:
    for source in c.model.indexes:
        others = [entity for entity in c.entities if plain_key(entity, source) is not None]
        if others:
            names = " and ".join(str(entity) for entity in others)
            fields = ", ".join(column.attribute for column in source.columns)
            yield str(source), f"items of {names} have {fields} too, so they are in the index"
