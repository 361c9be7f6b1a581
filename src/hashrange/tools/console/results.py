"""The items that a Query, a Scan or a statement returned, laid out for a page.

Successive items with the same partition key form a collection. Within a collection, successive
items with the same attributes share a header with the attributes' names. So a table with several
entity types stays readable, and a table with a single type looks like an ordinary table.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from hashrange.tools.console.console import Console
from hashrange.tools.console.entities import entity_of
from hashrange.tools.console.shapes import Item, Source, TableShape
from hashrange.tools.console.values import cursor, dumps

COLUMNS_MAX = 24
"""The largest number of columns, unless the user has chosen the columns."""

NAMES_MAX = 1_000
"""The largest number of attribute names that a page offers as columns."""


@dataclass(frozen=True)
class Row:
    item: Item
    key: str
    """The item's primary key, as a parameter of a URL; empty if the item lacks a key attribute."""
    entity: str
    colour: int


@dataclass(frozen=True)
class Run:
    """Rows with the same attributes. `columns` omits the partition key if it is shown above the
    rows.

    `more` is the number of attributes that are not shown.
    """

    columns: tuple[str, ...]
    more: int
    rows: list[Row]

    @property
    def numeric(self) -> set[str]:
        """The columns that contain only numbers."""
        return {
            name
            for name in self.columns
            if all("N" in row.item[name] for row in self.rows if name in row.item)
        }


@dataclass(frozen=True)
class Collection:
    """Rows that are shown together. `key` is the partition key value of all their items; None if
    each row shows its own."""

    key: dict[str, object] | None
    runs: list[Run]
    count: int


@dataclass(frozen=True)
class Results:
    source: Source
    collections: list[Collection]
    entities: list[tuple[str, int, int, Item]]
    """For each entity type: its name, its colour, the number of items, and one of them."""
    count: int
    names: list[str]
    """The names of the attributes that are not key attributes."""


def lay_out(
    console: Console,
    shape: TableShape,
    source: Source,
    items: Sequence[Item],
    columns: Sequence[str] = (),
) -> Results:
    """Lay out items for a page. `columns` are the attributes that the user has chosen in addition
    to the keys. If `columns` is empty, all attributes are shown."""
    colours = console.colours(shape.name)
    rows = []
    for item in items:
        entity = entity_of(item, shape.table)
        whole = all(name in item for name in shape.table.keys)
        key = cursor(shape.key_of(item)) if whole else ""
        rows.append(Row(item, key, entity, colours.of(entity)))
    counted = Counter((row.entity, row.colour) for row in rows if row.entity)
    examples = {row.entity: row.item for row in reversed(rows)}
    entities = [
        (entity, colour, count, examples[entity])
        for (entity, colour), count in counted.most_common(20)
    ]
    names = sorted({name for item in items for name in item} - {*source.keys, *shape.table.keys})
    collections = list(_collections(shape, source, rows, columns))
    return Results(source, collections, entities, len(rows), names[:NAMES_MAX])


def _collections(
    shape: TableShape, source: Source, rows: list[Row], chosen: Sequence[str]
) -> Iterator[Collection]:
    """Divide rows into collections. Without a sort key, or if keys are not shown, all rows are in
    one collection."""
    if not rows:
        return
    if source.range is None or any(source.hash not in row.item for row in rows):
        first = (*source.keys, *shape.table.keys)
        yield Collection(None, list(_runs(first, (), rows, chosen)), len(rows))
        return
    for _, group in groupby(rows, key=lambda row: dumps(row.item[source.hash])):
        members = list(group)
        runs = _runs((source.range, *shape.table.keys), (source.hash,), members, chosen)
        yield Collection(members[0].item[source.hash], list(runs), len(members))


def _runs(
    first: tuple[str, ...], above: tuple[str, ...], rows: list[Row], chosen: Sequence[str]
) -> Iterator[Run]:
    def names(row: Row) -> tuple[str, ...]:
        if chosen:
            return tuple(name for name in dict.fromkeys((*first, *chosen)) if name not in above)
        leading = [name for name in dict.fromkeys(first) if name in row.item and name not in above]
        return (*leading, *sorted(name for name in row.item if name not in first + above))

    for columns, group in groupby(rows, key=names):
        shown = columns if chosen else columns[:COLUMNS_MAX]
        yield Run(shown, len(columns) - len(shown), list(group))
