"""The columns in which a picture shows the attributes of one entity's items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import Source
from hashrange.design.declare.shapes import READABLE_ATTRIBUTE, SHAPE_ATTRIBUTE
from hashrange.design.declare.table_model import TableModel
from hashrange.design.drawing.item_collections import Row
from hashrange.design.drawing.svg import MONO, columns, cut, printable
from hashrange.design.drawing.values import value_text
from hashrange.model.values import Item as WireItem

VALUE_CHARS, LABEL_CHARS = 27, 34
LABEL_SIZE, VALUE_SIZE = 9.5, 12.0
PADDING = 7.0
LINE_WIDTH = 780.0
"""The largest width of a line of cells, in pixels. Cells that do not fit go to a further line."""


@dataclass(frozen=True)
class CellColumn:
    """One attribute in the rows of an entity. `key` is True if a template computes it."""

    attribute: str
    width: float
    key: bool


CellLines = list[list[CellColumn]]


class Cells:
    """The cells that show the attributes of rows. All rows of an entity have the same columns."""

    def __init__(self, model: TableModel, source: Source, rows: Sequence[Row]) -> None:
        self.model = model
        self.source = source
        by_entity: dict[str, list[Row]] = {}
        for row in rows:
            by_entity.setdefault(row.name, []).append(row)
        self.lines = {name: self._lines(rows) for name, rows in by_entity.items()}

    def _lines(self, rows: Sequence[Row]) -> CellLines:
        lines: CellLines = []
        for key, attributes in ((False, self._plain(rows)), (True, self._keys(rows[0].entity))):
            line: list[CellColumn] = []
            for attribute in attributes:
                column = CellColumn(attribute, _width(attribute, rows), key)
                if line and _total([*line, column]) > LINE_WIDTH:
                    lines.append(line)
                    line = []
                line.append(column)
            if lines and key and line and _total([*lines[-1], *line]) <= LINE_WIDTH:
                lines[-1] = [*lines[-1], *line]
            elif line:
                lines.append(line)
        return lines

    def _plain(self, rows: Sequence[Row]) -> Iterator[str]:
        """The attributes of the fields, then the stored attributes that the model does not know."""
        entity = rows[0].entity
        hidden = {c.attribute for s in self.model.sources for c in s.columns if s.name is not None}
        hidden |= {c.attribute for c in self.model.table.columns} | {
            SHAPE_ATTRIBUTE,
            READABLE_ATTRIBUTE,
        }
        hidden |= {self.model.type_attribute or ""} if entity else set()
        own = [*entity.attributes.values()] if entity else []
        shown = {c.attribute for c in self.source.columns}
        for attribute in own:
            if attribute not in shown and self._projects(attribute):
                yield attribute
        stored = {name for row in rows for name in row.raw}
        for attribute in sorted(stored - set(own) - hidden - shown):
            if self._projects(attribute):
                yield attribute

    def _keys(self, entity: Entity | None) -> Iterator[str]:
        """The key attributes of the indexes if the table is drawn, else those of the table."""
        if entity is None:
            return
        shown = {c.attribute for c in self.source.columns} | {*entity.attributes.values()}
        keys = entity.indexes if self.source.name is None else (entity.key,)
        for key in keys:
            for column in key.columns:
                if column.natural is None and column.attribute not in shown:
                    shown.add(column.attribute)
                    yield column.attribute

    def _projects(self, attribute: str) -> bool:
        if self.source.project == "ALL" or attribute in self.source.project:
            return True
        return attribute in {c.attribute for c in self.model.table.columns}


def shown_value(raw: WireItem, attribute: str) -> str | None:
    return value_text(raw[attribute]) if attribute in raw else None


def _width(attribute: str, rows: Sequence[Row]) -> float:
    widths = [columns(cut(printable(attribute), LABEL_CHARS)) * LABEL_SIZE * MONO]
    for row in rows:
        value = shown_value(row.raw, attribute)
        if value is not None:
            widths.append(columns(cut(printable(value[:200]), VALUE_CHARS)) * VALUE_SIZE * MONO)
    return max(widths) + 2 * PADDING


def _total(line: Sequence[CellColumn]) -> float:
    return sum(column.width for column in line)
