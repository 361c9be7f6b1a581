"""Example items of every entity, from which the sizes of items and index entries are taken.

The size of an item is the declared size or, without one, the size of the entity's example. Examples
are given by the caller or generated. Of an entity's generated examples, the one in the most indexes
is used. Its values are changed, if possible, so that sparse indexes contain it too.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import islice, product
from typing import Any

from pydantic import ValidationError

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Copy, Item
from hashrange.design.declare.schema import EntityKey, Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute.steps import run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.table import Table
from hashrange.design.tools.cost.metered_table import Meter, MeteredTable
from hashrange.design.tools.cost.units import entry
from hashrange.design.tools.sample import sample
from hashrange.model.values import Item as WireItem
from hashrange.model.values import item_size

COMBINATIONS_MAX = 2000
"""The largest number of combinations of values that are tried to get an example into an index."""


class Examples:
    """The example items, and metered tables that contain them."""

    def __init__(self, table: Table, items: Sequence[Item] = ()) -> None:
        self.table = table
        self.model = table.model
        self.declared = {
            str(entity): size
            for entity in self.model.entities
            if (size := table.volumes.of(entity).size) is not None
        }
        self.given = {type(item) for item in items}
        self.items = [*items, *(i for i in sample(table) if type(i) not in self.given)]
        self.core = StoreSteps(self.model, [], None, None)
        self.stored = self.filled().items
        generated = [e for e in self.model.entities if e.model not in self.given and self.of(e)]
        for entity in generated:
            self._put_in_indexes(entity)
        if generated:
            self.stored = self.filled().items

    def filled(self) -> MeteredTable:
        """A new table with all examples, whose meter is at zero."""
        table = MeteredTable(self.model, self.declared)
        for item in self.items:
            try:
                run(self.core.write(Write("create", item)), table)
            except (BadValue, ConditionFailed):
                continue  # e.g. a generated item whose owner was left out
        table.meter = Meter()
        return table

    def _put_in_indexes(self, entity: Entity) -> None:
        """Change the first example so that it is in as many indexes of its entity as possible."""
        examples = self.of(entity)
        at = self.items.index(examples[0])
        item = entity.load(self.raw(examples[0]) or {})
        for key in entity.indexes:
            names = [name for name in key.fields if name not in entity.key_fields]
            wanted = {*_indexes(self.model, entity, item), key.source.name}
            choices = [_candidates(entity, name, key, examples) for name in names]
            for values in islice(product(*choices), COMBINATIONS_MAX):
                chosen = dict(zip(names, values, strict=True))
                try:
                    changed = item.replace(**chosen)
                    if wanted <= {*_indexes(self.model, entity, changed)}:
                        item = changed
                        self.items[at] = self.items[at].replace(**chosen)
                        break
                except (BadValue, ValidationError):
                    continue

    def of(self, entity: Entity) -> list[Item]:
        """The entity's examples, sorted: most indexes first, then most attributes."""
        items = [i for i in self.items if type(i) is entity.model and self.raw(i) is not None]
        return sorted(items, key=self._coverage)

    def raw(self, item: Item) -> WireItem | None:
        """The stored form of the example `item`; None if it could not be stored."""
        table = MeteredTable(self.model, {})
        key = self.model.entity(type(item)).primary_key(vars(item))
        return self.stored.get(table.name(key))

    def _coverage(self, item: Item) -> tuple[int, int]:
        raw = self.raw(item) or {}
        indexes = sum(entry(self.model, source, raw) is not None for source in self.model.indexes)
        return -indexes, -len(raw)

    # ---- sizes ----

    def size(self, entity: Entity, source: Source) -> int:
        """The bytes of an item of the entity in the table, or of its entry in an index."""
        declared = self.declared.get(str(entity))
        if declared is not None and (source.name is None or source.project == "ALL"):
            return declared
        for item in self.of(entity)[:1]:
            raw = self.raw(item)
            projected = raw if source.name is None else entry(self.model, source, raw)
            return item_size(projected or raw or {})
        return 0

    def left_out(self, entity: Entity) -> list[str]:
        """The names of the entity's indexes that contain none of its examples."""
        stored = [raw for item in self.of(entity) if (raw := self.raw(item)) is not None]
        sources = [key.source for key in entity.indexes]
        return [
            str(source.name)
            for source in sources
            if stored and not any(entry(self.model, source, raw) for raw in stored)
        ]

    def other_value(self, entity: Entity, item: Item, field: str) -> Any:
        """Another value of the field, of the same size if possible.

        Raises LookupError if no other value is known.
        """
        others = [getattr(other, field) for other in self.of(entity)]
        for value in other_values(item, field, others):
            return value
        raise LookupError(f"no other value of {entity}.{field} is known")


def _indexes(model: TableModel, entity: Entity, item: Item) -> list[str | None]:
    image = entity.dump(item)
    return [k.source.name for k in entity.indexes if entry(model, k.source, image) is not None]


def _candidates(entity: Entity, field: str, key: EntityKey, examples: Sequence[Item]) -> list[Any]:
    """Values of a field that may put an item into the index of `key`.

    Values of the examples come first.
    """
    own = [value for item in examples if not isinstance(value := getattr(item, field), Copy)]
    constants = [*key.when.values.values()] if key.when else []
    numbers = [Decimal(value["N"]) for value in constants if "N" in value]
    near = [number + step for number in numbers for step in (0, 1, -1)]
    texts = [value["S"] for value in constants if "S" in value]
    fixed = [*entity.fields[field].choices, True, False, None]
    candidates: list[Any] = []
    for value in (*own, *near, *texts, *fixed):
        if all(value is not other for other in candidates) and value not in candidates:
            candidates.append(value)
    return candidates


def other_values(item: Item, field: str, known: Sequence[Any]) -> Iterator[Any]:
    """Other valid values of the item's field: known ones, then variations of the present one."""
    now = getattr(item, field)
    for value in [*known, *_variations(now)]:
        if value == now or value is None or isinstance(value, Copy):
            continue
        try:
            item.replace(**{field: value})
        except ValidationError:
            continue
        yield value


def _variations(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, Decimal)):
        yield value + 1 if value % 10 < 9 else value - 1
    elif isinstance(value, datetime):
        yield value + timedelta(seconds=1)
    elif isinstance(value, date):
        yield value + timedelta(days=1)
    elif isinstance(value, str) and value:
        yield value[:-1] + ("b" if value[-1] != "b" else "c")
