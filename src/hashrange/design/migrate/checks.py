"""Finds what a migration cannot do, with the reasons, and says what to do instead.

No partition may hold both old and new items: a pattern that reads the old items would count the new
items too, also for its limit. `_disjoint` proves this from the templates, for all values that the
fields can have.
"""

from collections.abc import Callable, Iterator, Sequence

from hashrange.design.declare.keys.possible_texts import ANY
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.schema import EntityKey
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DesignError
from hashrange.design.migrate.shadow import shadow_model
from hashrange.design.migrate.twins import Twin, replacement
from hashrange.design.plan.plans import Unplanned
from hashrange.design.plan.proposals import plan

ATTRIBUTES_MAX = 60
"""The largest number of attributes of an item. One condition, of at most 4 KB, compares them."""


def problems(
    old: TableModel,
    new: TableModel,
    twins: Sequence[Twin],
    patterns: Sequence[Pattern],
    accepted: frozenset[str],
) -> list[str]:
    """Every reason why the old model cannot become the new one; empty if it can.

    `accepted` has the names of patterns that may become less consistent.
    """
    texts = [*_table(old, new), *_entities(old, new)]
    for twin in twins:
        for check in _CHECKS if not twin.keeps_key else _CHECKS_IN_PLACE:
            texts += check(twin, old, new)
    if not twins and not texts:
        texts.append("no entity changes its keys: just deploy the new model")
    moved = [twin for twin in twins if not twin.keeps_key]
    if not texts and moved:
        texts += _patterns(old, new, moved, patterns, accepted)
    return texts


# ---- the table ----


def _table(old: TableModel, new: TableModel) -> Iterator[str]:
    if old.name != new.name:
        yield (
            f"{old.name} becomes {new.name}: a migration stays in one table; copy the table with "
            "`hashrange copy` instead"
        )
    if old.table.columns != new.table.columns:
        yield "the key attributes of the table change: create another table and copy the items"
    if any(column.tag != "S" for column in old.table.columns):
        yield (
            "a key attribute of the table is not a text, but the migration stores an item of its "
            "own, with texts as its key: create another table and copy the items"
        )
    if old.type_attribute is None or old.type_attribute != new.type_attribute:
        yield (
            "both models need the same type_attribute, because it tells old items from new ones: "
            "first add it to the old model, and write the items of that model again"
        )
    if old.ttl_attribute is not None and old.ttl_attribute != new.ttl_attribute:
        yield f"items expire by {old.ttl_attribute}: keep it, since a table has one TTL attribute"
    expires = old.ttl_attribute is not None or new.ttl_attribute is not None
    if expires and not (old.hide_expired and new.hide_expired):
        yield (
            "items expire, and DynamoDB may delete an item and its mirror at different times: "
            "declare hide_expired=True in both models"
        )
    if any(source.kind == "LSI" for source in new.indexes if source not in old.indexes):
        yield "a local index can only be created with its table: use a global one"
    for source in new.indexes:
        if any(source.name == other.name and source != other for other in old.indexes):
            yield f"{source} changes its key or projection: add it under another name"


def _entities(old: TableModel, new: TableModel) -> Iterator[str]:
    replaced: dict[str, str] = {}
    for entity in new.entities:
        declared = replacement(entity)
        if declared is None or entity.name in old.by_name:
            yield from _kept(old, new, entity.name)
            continue
        if declared.entity not in old.by_name:
            yield f"{entity} replaces {declared.entity!r}, which the old model does not have"
        elif declared.entity in new.by_name:
            yield (
                f"{entity} replaces {declared.entity!r}, which is in the new model too: give the "
                "new class another stored name and remove the old one, or leave st.replaces out"
            )
        elif declared.entity in replaced:
            yield (
                f"{entity} and {replaced[declared.entity]} replace {declared.entity!r}: a "
                "migration cannot split an entity; let one of them replace it, and write the items "
                "of the other after the migration"
            )
        replaced[declared.entity] = str(entity)
    for entity in old.entities:
        if entity.name not in new.by_name and entity.name not in replaced:
            yield (
                f"{entity} is not in the new model: keep it until the migration has finished, or "
                f'declare st.replaces("{entity.name}") in the entity that replaces it'
            )


def _kept(old: TableModel, new: TableModel, name: str) -> Iterator[str]:
    if name not in old.by_name:
        return
    before, after = old.by_name[name], new.by_name[name]
    if [str(c.template) for c in before.key.columns] != [
        str(c.template) for c in after.key.columns
    ]:
        yield (
            f"{after} changes its primary key: give the new class another stored name, and declare "
            f'`replaces = st.replaces("{name}")` in it'
        )
    if {**before.attributes} != {n: a for n, a in after.attributes.items() if n in before.fields}:
        yield f"{after} renames or drops fields under the same key: use st.upgrade instead"
    if any(before.fields[n].tag != after.fields[n].tag for n in before.fields if n in after.fields):
        yield f"{after} changes how a field is stored under the same key: use st.upgrade instead"
    if before.computed_attributes - after.computed_attributes:
        yield f"items of {after} would leave an index: make that change after the migration"
    if {(u.namespace, str(u.template)) for u in before.unique} != {
        (u.namespace, str(u.template)) for u in after.unique
    }:
        yield f"{after} changes its unique texts: use st.rebuild_markers, before or afterwards"


# ---- one changed entity ----


def _fields(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    own, other = twin.own, twin.other
    targets = [field.name for field in twin.fields.values()]
    for name in twin.fields:
        if name not in own.fields:
            yield f"{other} takes {name!r} from {own}, which has no such field"
    for name in sorted({t for t in targets if targets.count(t) > 1}):
        yield f"{other}.{name} is made from two fields of {own}: a migration cannot merge fields"
    for name in targets:
        if name not in other.fields:
            yield (
                f"{own} has {name!r}, but {other} does not: a migration keeps all fields; "
                "declare its new name with st.pair, or drop the field afterwards"
            )
    for name in other.fields:
        if name not in targets:
            yield f"{other}.{name} is not in {own}: add the field after the migration"
    for name, field in twin.fields.items():
        mine, theirs = own.fields.get(name), other.fields.get(field.name)
        if mine is None or theirs is None:
            continue
        if field.there is None and mine.tag != theirs.tag:
            yield (
                f"{other}.{field.name} is stored as {theirs.tag}, and {own}.{name} as {mine.tag}: "
                "declare with st.pair how to convert one to the other and back"
            )
        if (mine.counts, mine.expires) != (theirs.counts, theirs.expires):
            yield (
                f"{other}.{field.name} and {own}.{name} must both be st.Version, both be st.TTL, "
                "or neither"
            )


def _names(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    if twin.own.name == twin.other.name:
        yield f"{twin.other} needs a stored name of its own: class {twin.other}(st.Item, name=...)"


def _identity(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    """A problem if two old items could get the same new key."""
    held = {twin.fields[name].name for name in twin.own.key.fields if name in twin.fields}
    missing = held - set(twin.other.key.fields)
    if missing:
        yield (
            f"the key of {twin.other} lacks {', '.join(sorted(missing))}, so two items of "
            f"{twin.own} could get the same key: keep all fields that tell items apart"
        )


def _unique(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    renamed = {name: field.name for name, field in twin.fields.items()}
    before = {u.namespace: [renamed.get(f, f) for f in u.template.fields] for u in twin.own.unique}
    after = {u.namespace: list(u.template.fields) for u in twin.other.unique}
    held = {f for u in twin.own.unique for f in u.template.fields} & twin.retyped
    if before != after or held:
        yield (
            f"{twin.other} changes its unique texts: until the migration has finished, keep their "
            "templates, their namespaces (name them with namespace=) and the values of their fields"
        )


def _copies(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    for model, entity in ((old, twin.own), (new, twin.other)):
        for other in model.entities:
            if any(copy.owner is entity.model for copy in other.copies.values()):
                yield (
                    f"{other} copies fields of {entity}, which changes its key: remove st.copy "
                    "during the migration, and add it again afterwards"
                )


def _disjoint(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    """A problem for each key of new items that can be in a partition of the old model's items."""
    mine = (twin.other.key, *twin.other.indexes)
    for entity in old.entities:
        for theirs in (entity.key, *entity.indexes):
            for key in mine:
                if key.source.name == theirs.source.name and _may_meet(key, theirs):
                    yield (
                        f"{key.source}: items of {twin.other} (key {_shown(key)}) can be in one "
                        f"partition with items of {entity} (key {_shown(theirs)}), and patterns of "
                        "the old model would count the new items: begin the key of the new "
                        "items with another prefix, or use another index"
                    )


def _may_meet(key: EntityKey, other: EntityKey) -> bool:
    pairs = zip(key.hash, other.hash, strict=False)
    return all(a.meets(b, ANY, ANY) for a, b in pairs)


def _shown(key: EntityKey) -> str:
    return " / ".join(str(column.template) for column in key.columns)


def _size(twin: Twin, old: TableModel, new: TableModel) -> Iterator[str]:
    for entity in (twin.own, twin.other):
        if len(entity.owned_attributes) > ATTRIBUTES_MAX:
            yield (
                f"{entity} has {len(entity.owned_attributes)} attributes, too many to compare in "
                f"one condition: at most {ATTRIBUTES_MAX}"
            )


Check = Callable[[Twin, TableModel, TableModel], Iterator[str]]
_CHECKS: tuple[Check, ...] = (_fields, _names, _identity, _unique, _copies, _disjoint, _size)
_CHECKS_IN_PLACE: tuple[Check, ...] = (_size,)


# ---- patterns ----


def _patterns(
    old: TableModel,
    new: TableModel,
    moved: Sequence[Twin],
    patterns: Sequence[Pattern],
    accepted: frozenset[str],
) -> Iterator[str]:
    """A problem for each pattern of the old model that the new keys cannot serve as well."""
    try:
        shadow = shadow_model(old, new, moved)
    except DesignError as error:
        yield f"{error}: keep the old values in the key, and store the new ones in another field"
        return
    retyped = {twin.own.model: twin.retyped for twin in moved}
    for pattern in patterns:
        before = plan(pattern, old)
        after = plan(pattern, shadow)
        if isinstance(before, Unplanned):
            continue  # no program of the old model can use it
        if isinstance(after, Unplanned):
            reason = "programs of the old model could not run this pattern on the new keys"
            yield f"{pattern}: {reason}: {after.error}"
            continue
        indexed = before.source.name is None and after.source.name is not None
        if indexed and pattern.name not in accepted:
            yield (
                f"{pattern}: it reads the table now, but on the new keys it would read the index "
                f"{after.source.name}, which lags: accept this with --accept {pattern.name}, or "
                "let the new primary key serve the pattern"
            )
        held = {f for model in pattern.entities for f in retyped.get(model, ())}
        if after.filter is not None and held & after.filter.fields:
            yield f"{pattern}: it filters by a field whose values change: filter in the program"
