"""`st.diff`: the consequences of a change of a model for items that are already stored.

A change has one of these kinds, from harmless to costly:

nothing     stored items stay as they are and can be read
additive    DynamoDB does the work (e.g. it fills an index), or only new items are different
breaking    stored items stay, but programs that use the old model get other answers, or none
backfill    stored items are written again, with the same primary keys
new keys    stored items are copied to other primary keys, or to another table
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import EntityKey, Source
from hashrange.design.errors import DesignError
from hashrange.design.plan.plans import Plan
from hashrange.design.table import Table
from hashrange.design.tools.cost.examples import Examples
from hashrange.design.tools.cost.price_list import prices_of
from hashrange.design.tools.cost.units import read_units, write_units
from hashrange.design.tools.create import vector_request
from hashrange.design.tools.diff_patterns import copy_change, pattern_changes, template_text
from hashrange.design.tools.field_facts import may_refuse

Kind = Literal["nothing", "additive", "breaking", "backfill", "new keys"]
KINDS: tuple[Kind, ...] = ("nothing", "additive", "breaking", "backfill", "new keys")


@dataclass(frozen=True)
class Change:
    """One change. `where` names the table, index, entity or field that changes.

    `items` is the number of stored items that the change concerns; None if it is not declared.
    `usd` estimates the change's cost on demand in us-east-1; None if `items` is None or nothing is
    written.
    """

    kind: Kind
    where: str
    text: str
    items: float | None = None
    usd: float | None = None

    def __str__(self) -> str:
        line = f"{self.kind}: {self.where}: {self.text}"
        if self.items is not None:
            line += f" ({self.items:,.0f} items"
            line += f", about ${self.usd:,.2f})" if self.usd is not None else ")"
        return line


@dataclass(frozen=True)
class Diff:
    """The result of `diff`. Changes of the costliest kind come first."""

    table: str
    changes: tuple[Change, ...]

    @property
    def kind(self) -> Kind:
        """The costliest kind of change."""
        kinds: list[Kind] = [change.kind for change in self.changes]
        return max(kinds, key=KINDS.index) if kinds else "nothing"

    @property
    def needs_work(self) -> bool:
        """Whether stored items have to be written."""
        return self.kind in ("backfill", "new keys")

    @property
    def safe(self) -> bool:
        """Whether each change is `nothing` or `additive`, for the exit status of a CI run."""
        return self.kind in ("nothing", "additive")

    def __str__(self) -> str:
        return "\n".join([*map(str, self.changes), f"{self.table}: {self.kind}"])

    def json(self) -> str:
        described = {
            "table": self.table,
            "kind": self.kind,
            "changes": [vars(c) for c in self.changes],
        }
        return json.dumps(described, indent=2, ensure_ascii=False)


def diff(old: Table, new: Table) -> Diff:
    """Compare two declarations of one table. Entities with the same stored name are compared.

    The numbers and sizes of items are taken from `new` or, where it declares none, from `old`.
    """
    comparison = _Comparison(old, new)
    changes = [*comparison.table(), *comparison.indexes(), *comparison.entities()]
    changes += [Change("breaking", name, text) for name, text in pattern_changes(old, new)]
    ordered = sorted(dict.fromkeys(changes), key=lambda change: -KINDS.index(change.kind))
    return Diff(new.name, tuple(ordered))


class _Comparison:
    def __init__(self, old: Table, new: Table) -> None:
        self.old, self.new = old.model, new.model
        self.tables = (new, old)
        self.common = [
            (entity, self.new.by_name[entity.name])
            for entity in self.old.entities
            if entity.name in self.new.by_name
        ]

    # ---- the table ----

    def table(self) -> Iterator[Change]:
        old, new = self.old, self.new
        if old.name != new.name:
            text = f"{old.name} becomes {new.name}, which is another table"
            yield self._all("new keys", "table", text)
        if old.table.columns != new.table.columns:
            text = "its key attributes change, which needs a new table"
            yield self._all("new keys", "table", text)
        if old.type_attribute != new.type_attribute:
            text = f"an item's type is given by {new.type_attribute}, not by {old.type_attribute}"
            yield self._all("backfill", "table", text)
        if old.ttl_attribute != new.ttl_attribute and old.ttl_attribute is not None:
            text = f"items expire by {new.ttl_attribute}, not by {old.ttl_attribute}"
            yield self._all("backfill", "table", text)
        if new.ttl_attribute is not None and old.ttl_attribute is None:
            yield Change("additive", "table", f"items expire by {new.ttl_attribute}")
        if new.stream and not old.stream:
            yield Change("additive", "table", "a stream is switched on")
        if old.stream and not new.stream:
            text = "the stream is switched off: its readers get no more changes"
            yield Change("breaking", "table", text)
        if old.hide_expired != new.hide_expired:
            what = "leave out" if new.hide_expired else "return"
            yield Change("breaking", "table", f"reads {what} expired items")

    def _all(self, kind: Kind, where: str, text: str) -> Change:
        return self._change(kind, where, text, [entity for entity, _ in self.common])

    # ---- indexes ----

    def indexes(self) -> Iterator[Change]:
        old = {source.name: source for source in self.old.indexes}
        new = {source.name: source for source in self.new.indexes}
        for name in [*old, *(name for name in new if name not in old)]:
            if name not in new:
                yield from self._dropped(old[name])
            elif name not in old:
                yield from self._added(new[name])
            elif old[name] != new[name]:
                yield self._made_again(new[name])
                yield from self._added(new[name])

        yield from self._vector_indexes()

    def _vector_indexes(self) -> Iterator[Change]:
        old = {index.name: index for index in self.old.vectors}
        new = {index.name: index for index in self.new.vectors}
        for name, index in (old | new).items():
            where = str(index.source)
            if name not in new:
                yield Change("additive", where, "it is dropped, in a separate UpdateTable")
            elif name not in old:
                yield Change("additive", where, "DynamoDB builds it, in a separate UpdateTable")
            elif vector_request(old[name]) != vector_request(index):
                yield self._made_again(index.source)

    def _made_again(self, source: Source) -> Change:
        text = "its key or projection changes: it is dropped and created again"
        read = [
            name
            for table in self.tables
            for name, plan in table.plans.items()
            if isinstance(plan, Plan) and plan.source.name == source.name
        ]
        if not read:
            return Change("additive", str(source), text)
        names = ", ".join(sorted(set(read)))
        text += f", and meanwhile nothing serves {names}: add it under another name first"
        return Change("breaking", str(source), text)

    def _dropped(self, source: Source) -> Iterator[Change]:
        if source.kind == "LSI":
            text = "a local index is removed, which needs a new table"
            yield self._all("new keys", str(source), text)
        else:
            yield Change("additive", str(source), "it is dropped, in a separate UpdateTable")

    def _added(self, source: Source) -> Iterator[Change]:
        if source.kind == "LSI":
            text = "a local index is added, which needs a new table"
            yield self._all("new keys", str(source), text)
            return
        inside = [e for e in self.new.entities if _key(e, source) or source == self.new.by_type]
        stored = [entity for entity, new in self.common if new in inside]
        text = "DynamoDB builds it, in a separate UpdateTable"
        yield self._change("additive", str(source), text, stored)

    # ---- entities ----

    def entities(self) -> Iterator[Change]:
        known = {entity.name for entity, _ in self.common}
        for entity in self.old.entities:
            if entity.name not in known:
                yield self._removed(entity)
        for entity in self.new.entities:
            if entity.name not in known:
                yield Change("additive", str(entity), "a new entity")
        for old, new in self.common:
            yield from self._keys(old, new)
            yield from self._uniques(old, new)
            yield from self._fields(old, new)

    def _removed(self, entity: Entity) -> Change:
        added = [other for other in self.new.entities if other.name not in self.old.by_name]
        renamed = [other for other in added if _alike(entity, other)]
        if renamed:
            text = f"its items are not read as {renamed[0]} items: declare class {renamed[0]}(..., "
            text += f'name="{entity.name}"), or write the new type into the stored items'
            return self._change("backfill", str(entity), text, [entity])
        text = "its items stay in the table, and reads leave them out: delete them"
        if added:
            text += f", or declare their entity, e.g. class {added[0]}(..., name={entity.name!r})"
        return self._change("breaking", str(entity), text, [entity])

    def _keys(self, old: Entity, new: Entity) -> Iterator[Change]:
        if _texts(old, old.key) != _texts(new, new.key):
            text = f"its key {_becomes(old, old.key, new, new.key)}"
            yield self._change("new keys", str(new), text, [old])
        for source in self.new.indexes:
            was, now = _key(old, source), _key(new, source)
            attributes = {*old.attributes.values()}
            natural = now is not None and all(c.natural for c in now.columns)
            stored = now is not None and attributes.issuperset(c.attribute for c in now.columns)
            if was is None and natural and stored:
                continue
            if _rule(old, was) == _rule(new, now):
                continue
            if now is None:
                text = f"its items stay in {source} until they are written again"
            elif was is None:
                shown = " / ".join(str(column.template) for column in now.columns)
                text = f"items need the attributes of {source}: {shown}"
            else:
                text = f"its key in {source} {_becomes(old, was, new, now)}"
            yield self._change("backfill", str(new), text, [old])

    def _uniques(self, old: Entity, new: Entity) -> Iterator[Change]:
        was = {(u.namespace, template_text(old, u.template)) for u in old.unique}
        now = {(u.namespace, template_text(new, u.template)) for u in new.unique}
        if was != now:
            text = "its unique texts change: run st.rebuild_markers"
            yield self._change("backfill", str(new), text, [old])

    def _fields(self, old: Entity, new: Entity) -> Iterator[Change]:
        upgraded = new.model.entity_shape > old.model.entity_shape
        if new.model.entity_backfilled > old.model.entity_shape:
            text = f"backfilled={new.model.entity_backfilled} says that no item has an older "
            text += "shape: write older items again first"
            yield self._change("backfill", str(new), text, [old])
        named = {attribute: name for name, attribute in old.attributes.items()}
        before = {name: named.get(a, name) for name, a in new.attributes.items()}
        for name in old.fields:
            if name not in before.values():
                text = "it is removed; stored items keep the attribute"
                yield Change("nothing", f"{new}.{name}", text)
        for name in new.fields:
            where = f"{new}.{name}"
            kind, text = self._field(old, before[name], new, name)
            if kind == "backfill" and upgraded:
                kind, text = "nothing", f"{text}; items are upgraded when they are read"
            if text and kind == "backfill":
                yield self._change(kind, where, text, [old])
            elif text:
                yield Change(kind, where, text)

    @staticmethod
    def _field(old: Entity, old_name: str, new: Entity, name: str) -> tuple[Kind, str]:
        if old_name not in old.fields:
            if name in new.derived:
                return "backfill", "it is computed from now on, and stored items do not have it"
            if new.model.model_fields[name].is_required():
                return "backfill", "it is required, and stored items do not have it"
            if name in new.copies:
                return "backfill", "it becomes a copy: run db.sync for each owner"
            return "additive", "a new field with a default"
        was, now = old.fields[old_name], new.fields[name]
        if old.attributes[old_name] != new.attributes[name]:
            text = f"its attribute {old.attributes[old_name]} becomes {new.attributes[name]}"
            return "backfill", text
        if was.tag != now.tag:
            return "backfill", f"it is stored as {now.tag}, not as {was.tag}"
        if was.optional and not now.optional:
            return "backfill", "it can no longer be None"
        if now.choices and (not was.choices or set(was.choices) - set(now.choices)):
            return "backfill", "not all stored values are allowed any more"
        if may_refuse(old, old_name, new, name):
            return "backfill", "its type or its constraints change: stored values may not fit"
        text = copy_change(old, old_name, new, name)
        if text:
            return "backfill", text
        if name != old_name:
            return "nothing", f"it was called {old_name}, and is stored in the same way"
        return "nothing", ""

    # ---- numbers ----

    def _change(self, kind: Kind, where: str, text: str, entities: Sequence[Entity]) -> Change:
        counts = [self._count(entity) for entity in entities]
        if not entities or None in counts:
            return Change(kind, where, text)
        usd = None
        if kind != "nothing":
            usd = sum(self._usd(kind, e, n or 0) for e, n in zip(entities, counts, strict=True))
        return Change(kind, where, text, sum(count or 0 for count in counts), usd)

    def _count(self, entity: Entity) -> float | None:
        counts = (table.volumes.count(entity) for table in self.tables)
        return next((count for count in counts if count is not None), None)

    def _usd(self, kind: Kind, entity: Entity, count: float) -> float:
        """The dollars for writing each item; for `new keys`, for a put and a delete of each item.

        A Scan of the items is added, unless the change is additive.
        """
        size = self._size(entity)
        prices = prices_of("us-east-1")
        writes = write_units(size) * (2 if kind == "new keys" else 1)
        reads = read_units(size * count, False) if kind != "additive" else 0
        return prices["on_demand_writes"].of(count * writes) + prices["on_demand_reads"].of(reads)

    def _size(self, entity: Entity) -> int:
        for table in self.tables:
            size = table.volumes.of(entity).size
            if size is not None:
                return size
        old = self.tables[1]
        try:
            return Examples(old).size(entity, old.model.table)
        except DesignError:  # no example satisfies the fields' constraints
            return 0


def _key(entity: Entity, source: Source) -> EntityKey | None:
    return next((key for key in entity.indexes if key.source.name == source.name), None)


def _texts(entity: Entity, key: EntityKey) -> list[str]:
    return [
        f"{c.attribute} {c.natural is None} {template_text(entity, c.template)}"
        for c in key.columns
    ]


def _rule(entity: Entity, key: EntityKey | None) -> Any:
    """A key's templates and its condition with values, for comparison; None without a key."""
    if key is None:
        return None
    when = (key.when.condition.text, key.when.condition.names, key.when.values) if key.when else ()
    return _texts(entity, key), when


def _alike(old: Entity, new: Entity) -> bool:
    """Whether `new` seems to be the entity `old` under another name."""
    if _texts(old, old.key) == _texts(new, new.key):
        return True
    mine, theirs = set(old.attributes.values()), set(new.attributes.values())
    return 2 * len(mine & theirs) > len(mine | theirs)


def _becomes(old: Entity, was: EntityKey, new: Entity, now: EntityKey) -> str:
    """'... becomes ...' for a changed key, in the shortest form that shows the difference."""
    views: tuple[Callable[[Entity, EntityKey], str], ...] = (
        lambda _, key: " / ".join(str(column.template) for column in key.columns),
        lambda entity, key: " / ".join(
            f"{c.attribute}={template_text(entity, c.template)}" for c in key.columns
        ),
        lambda _, key: "without a condition" if key.when is None else
        f"when {key.when.condition.text} {key.when.condition.names} {key.when.values}",
    )  # fmt: skip
    for view in views:
        if view(old, was) != view(new, now):
            return f"{view(old, was)} becomes {view(new, now)}"
    return f"{views[0](old, was)} is stored in another way"


def tables_of_both(old: Sequence[Table], new: Sequence[Table]) -> Iterator[tuple[Table, Table]]:
    """(old, new) tables with the same name. If each model has a single table, these are a pair."""
    if len(old) == len(new) == 1:
        yield old[0], new[0]
        return
    names = {table.name: table for table in new}
    for table in old:
        if table.name in names:
            yield table, names[table.name]
