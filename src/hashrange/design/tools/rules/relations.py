"""Rules about relations: R01 to R07."""

from collections.abc import Iterator

from hashrange.design.declare.keys.templates import Template
from hashrange.design.execute.writes.copies import copy_route
from hashrange.design.plan.children import tree_of
from hashrange.design.tools.rules.rule import (
    Context,
    Found,
    Severity,
    generated_ids,
    named,
    rule,
)

FEW_COPIES = 100
MANY_COPIES = 10_000
UNEQUAL = 10
TENANTS = ("tenant_id", "tenant")


@rule(
    "R01",
    "warning",
    "a change of a copied field takes many writes",
    "Each change of the owner writes every copy. Copy fields only from owners that have few copies "
    "each. Read the fields of an owner with many copies by way of the reference, with @st.through.",
)
def fan_out(c: Context) -> Iterator[tuple[str, str, Severity]]:
    for entity in c.entities:
        for name, copy in entity.copies.items():
            per = c.table.volumes.per(entity, copy.owner.__name__)
            if per is None:
                c.unknown("R01", f"number of {entity} items for each {copy.owner.__name__}")
            elif per.max > FEW_COPIES:
                level: Severity = "error" if per.max > MANY_COPIES else "warning"
                owner = copy.owner.__name__
                text = f"a change of {owner}.{copy.field} takes up to {per.max:,} writes"
                yield f"{entity}.{name}", text, level


@rule(
    "R02",
    "warning",
    "copies that cannot be found",
    "To update the copies of an owner, the toolkit finds them by the owner's key. So a "
    "partition key of the copying entity, in the table or an index, must consist of the fields "
    "that refer to the owner.",
)
def lost_copies(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        for name, copy in entity.copies.items():
            if copy_route(c.model.references.of_copy(entity, name)) is None:
                owner = copy.owner.__name__
                yield (
                    f"{entity}.{name}",
                    f"no partition key of {entity} consists of the fields that refer to {owner}",
                )


@rule(
    "R03",
    "warning",
    "a field is copied from the parent with many children, although another parent has few",
    "The entity has several parents, and copies a field from a parent that has many more children "
    "than another parent. If this field changes, each of these children must be written. Copy a "
    "field from the parent with fewer children instead.",
)
def wrong_side(c: Context) -> Iterator[Found]:
    for entity in c.entities:
        sides = {each.parent: each.mean for each in c.table.volumes.of(entity).each}
        for name, copy in entity.copies.items():
            mine = sides.get(copy.owner.__name__)
            owner = copy.owner.__name__
            others = [(mean, parent) for parent, mean in sides.items() if parent != owner]
            if mine is not None and others and mine > UNEQUAL * min(others)[0]:
                mean, other = min(others)
                yield (
                    f"{entity}.{name}",
                    f"each {owner} is copied into {mine:g} items, but each {other} would be copied "
                    f"into only {mean:g}",
                )


@rule(
    "R04",
    "warning",
    "a delete that leaves children behind",
    "Deleting an item does not delete its children, and no key finds all of them by the parent's "
    "key, so db.delete_tree is refused. Add an index by the parent.",
)
def orphans(c: Context) -> Iterator[Found]:
    for parent in c.entities:
        for child in tree_of(c.model, parent).lost:
            if child.parent is parent:  # further descendants are reported with their own parent
                names = ", ".join(child.held.values())
                yield str(child.entity), f"no key finds the items of a deleted {parent} by {names}"


@rule(
    "R05",
    "warning",
    "a pattern expects unique values of a field, but they need not be unique",
    "A pattern expects at most one item with this value. st.unique(...) guarantees this with a "
    "marker item in the same transaction.",
)
def no_marker(c: Context) -> Iterator[Found]:
    for plan in c.plans:
        one = plan.pattern.shape == "one" and plan.operation == "Query"
        if not one or plan.pattern.facts.latest or plan.source.kind != "GSI":
            continue
        known = plan.route.equal_fields
        entity = plan.entities[0]
        marked = any(set(unique.template.fields) <= known for unique in entity.unique)
        if not marked and not known & generated_ids(entity):
            template = "#".join(str(column.template) for column in plan.route.key.hash)
            yield named(entity, plan.route.key), f'it needs st.unique("{template}")'


@rule(
    "R06",
    "information",
    "the tenant is not first in a key",
    "An IAM policy can separate tenants with dynamodb:LeadingKeys only if every partition key "
    "begins with the tenant.",
)
def tenant_first(c: Context) -> Iterator[Found]:
    for entity, key in c.keys:
        tenant = next((name for name in TENANTS if name in entity.fields), None)
        if tenant is not None and key.hash[0].template.fields[:1] != (tenant,):
            yield named(entity, key), f"{key.hash[0].template} does not begin with {tenant}"


@rule(
    "R07",
    "warning",
    "one namespace of unique texts with different templates",
    "Texts are unique within a namespace. Templates with different constants or formats produce "
    "different texts for the same value, so two items can have this value.",
)
def different_templates(c: Context) -> Iterator[Found]:
    seen: dict[str, tuple[str, str]] = {}
    for entity in c.entities:
        for unique in entity.unique:
            where, text = f"{entity}.{unique.name}", _shape(unique.template)
            first, known = seen.setdefault(unique.namespace, (where, text))
            if known != text:
                yield (
                    where,
                    f"{unique.template} differs from {first} in the namespace {unique.namespace!r}",
                )


@rule(
    "R08",
    "warning",
    "it is unclear to which item another item belongs",
    "A key has fields of another entity's key, but it is not declared whether they refer to that "
    "entity, and how. So db.delete_tree is refused. Declare st.ref(...), or st.ref(None) if they "
    "refer to nothing.",
)
def unclear_reference(c: Context) -> Iterator[Found]:
    for child in c.entities:
        for parent in c.entities:
            doubt = c.model.references.doubt(child, parent)
            if doubt is not None:
                yield str(child), doubt


def _shape(template: Template) -> str:
    """A template as text, without the names of its fields."""
    return "".join(
        part if isinstance(part, str) else str(part._replace(field="_")) for part in template.parts
    )
