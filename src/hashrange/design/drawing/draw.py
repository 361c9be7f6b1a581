"""Drawing one view of a table: the table, an index, its entities or its access patterns."""

from collections.abc import Sequence

from hashrange.design.drawing.entity_view import draw_entities
from hashrange.design.drawing.item_collections import read_rows
from hashrange.design.drawing.pattern_view import draw_patterns
from hashrange.design.drawing.table_view import draw_source
from hashrange.design.errors import DesignError, suggest
from hashrange.design.table import Table
from hashrange.design.tools.sample_items import sample_items
from hashrange.model.values import Item as WireItem


def views(table: Table) -> list[str]:
    """The names of all views of a table, in the order in which a page shows them."""
    return ["entities", "patterns", "table", *(s.name for s in table.model.indexes if s.name)]


def draw(table: Table, view: str = "table", items: Sequence[WireItem] | None = None) -> str:
    """Draw a view of the table as an SVG document.

    `view` is "table", "entities", "patterns" or the name of an index. `items` are stored items in
    wire form; the default is generated items. The same arguments give the same bytes. Raises
    DesignError for an unknown view.
    """
    if view == "entities":
        return draw_entities(table)
    if view == "patterns":
        return draw_patterns(table)
    name = None if view == "table" else view
    source = next((s for s in table.model.sources if s.name == name), None)
    if source is None:
        raise DesignError(f"{table.name!r} has no view {view!r}{suggest(view, views(table))}")
    stored = sample_items(table) if items is None else items
    return draw_source(table, source, read_rows(table.model, stored))
