"""The items of a table or an index as rows, in item collections of one partition key each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.drawing.svg import cut
from hashrange.design.execute.reads.loading import Loader
from hashrange.model.values import AttributeValue, compare
from hashrange.model.values import Item as WireItem

UNKNOWN, NAME_CHARS = "unknown", 40


@dataclass(eq=False)
class Row:
    """A stored item. `entity` is None if the model does not know the item.

    `number` is the position of the entity in the model. `name` is the name of the entity's class
    or, for an item without an entity (e.g. a unique marker), the value of its type attribute.
    """

    raw: WireItem
    entity: Entity | None
    number: int
    name: str


@dataclass
class Collection:
    """The rows of one partition key, in the order of the sort key."""

    key: tuple[AttributeValue, ...]
    rows: list[Row] = field(default_factory=list)


@dataclass
class SourceRows:
    """The item collections of a table or index, and the rows that a sparse index leaves out."""

    source: Source
    collections: list[Collection]
    absent: list[Row]

    @property
    def rows(self) -> list[Row]:
        return [row for collection in self.collections for row in collection.rows]

    def partition(self, key: Sequence[AttributeValue]) -> list[Row]:
        wanted = _identity(key)
        return next((c.rows for c in self.collections if _identity(c.key) == wanted), [])


def read_rows(model: TableModel, items: Sequence[WireItem]) -> list[Row]:
    """The rows of stored items, each with its entity."""
    loader = Loader(model, [entity.model for entity in model.entities])
    numbers = {entity.name: number for number, entity in enumerate(model.entities)}
    read = []
    for raw in items:
        entity = loader.recognise(raw)
        if entity is None:
            name = raw.get(model.type_attribute or "", {}).get("S") or UNKNOWN
            read.append(Row(raw, None, len(numbers), cut(name, NAME_CHARS)))
        else:
            read.append(Row(raw, entity, numbers[entity.name], str(entity)))
    return read


def collect(model: TableModel, source: Source, rows: Sequence[Row]) -> SourceRows:
    """Arrange the rows in item collections.

    The collections are sorted by the position in the model of their first entity, then by key.
    """
    collections: dict[Any, Collection] = {}
    absent = []
    for row in rows:
        if any(column.tag not in row.raw.get(column.attribute, {}) for column in source.columns):
            absent.append(row)
            continue
        key = tuple(row.raw[column.attribute] for column in source.hash)
        collections.setdefault(_identity(key), Collection(key)).rows.append(row)
    columns = (*source.range, *model.table.columns)  # the primary key breaks ties
    for collection in collections.values():
        collection.rows.sort(key=lambda row: [_Ordered(row.raw[c.attribute]) for c in columns])
    ordered = sorted(collections.items(), key=lambda pair: (_first(pair[1]), pair[0]))
    return SourceRows(source, [collection for _, collection in ordered], absent)


def _first(collection: Collection) -> int:
    return min(row.number for row in collection.rows)


def _identity(key: Sequence[AttributeValue]) -> tuple[Any, ...]:
    return tuple(next(iter(value.items())) for value in key)


@dataclass(frozen=True)
class _Ordered:
    """A key attribute's value, which sorts as DynamoDB sorts it."""

    value: AttributeValue

    def __lt__(self, other: "_Ordered") -> bool:
        return (compare(self.value, other.value) or 0) < 0
