"""Links from the values and items on a page to items that have the same value, key or type."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote_plus, urlencode

from markupsafe import Markup, escape

from hashrange.tools.console.entities import conditions_of
from hashrange.tools.console.shapes import Item, Source, TableShape
from hashrange.tools.console.values import CELL_CHARS, Value, cell_markup, plain
from hashrange.tools.console.visits import Visit, address, table_path

FILTER_FIELDS = ("fname", "fop", "ftype", "fvalue2", "fvalue")
KEPT = (*FILTER_FIELDS, "index", "limit")


class Ways:
    """Makes the links on a page of items. On the page *Items*, the links keep the filters that are
    set."""

    def __init__(self, visit: Visit, shape: TableShape, source: Source) -> None:
        self._path = table_path(shape.name)
        self._index = source.name
        self._shape = shape
        filtered = visit.url.path in (self._path, f"{self._path}/values")
        pairs = visit.parameters.multi_items() if filtered else ()
        kept = [pair for pair in pairs if pair[0] in KEPT]
        self._alike: dict[tuple[str, str], str] = {}
        self._kept = urlencode(kept or [("index", source.name)] * bool(source.name))

    def collection(self, key: Value) -> str:
        """The URL of a Query for all items with this partition key."""
        query = table_path(self._shape.name, "query")
        return address(query, index=self._index, pk=_text(key), run="1")

    def alike(self, name: str, value: Value) -> str:
        """The URL of the items whose attribute has this value. Empty if no short filter can find
        them."""
        [(kind, content)] = value.items()
        if kind not in ("S", "N", "BOOL", "NULL") or not name or set(name) & set(".[]"):
            return ""
        if kind == "S" and not (0 < len(content) <= CELL_CHARS and content.isprintable()):
            return ""
        if (name, kind) not in self._alike:
            self._alike[name, kind] = self._filtered([(name, "=", kind, "", "")])
        return self._alike[name, kind] + quote_plus(_text(value))

    def cell(self, name: str, value: Value) -> Markup:
        """The value in HTML, with a link to the page of the items that have the same value, if
        there is one."""
        way = self.alike(name, value)
        text = cell_markup(value)
        if not way:
            return text
        title = "Show the items with this value"
        return Markup(f'<a tabindex="-1" href="{escape(way)}" title="{title}">{text}</a>')

    def entity(self, item: Item) -> str:
        """The URL of the items of the same type."""
        conditions = conditions_of(item, self._shape.table)
        return self._filtered(
            (name, operator, "S", "", text) for name, operator, text in conditions
        )

    def _filtered(self, filters: Iterable[tuple[str, ...]]) -> str:
        pairs = [pair for each in filters for pair in zip(FILTER_FIELDS, each, strict=True)]
        return f"{self._path}?{'&'.join(filter(None, (self._kept, urlencode(pairs))))}"


def _text(value: Value) -> str:
    [content] = value.values()
    if isinstance(content, bool):
        return str(content).lower()
    text: Any = plain(content)
    return str(text)


def lit(visit: Visit, paths: Iterable[str]) -> str:
    """The path that a navigation marks as current: the path of this page, or else the nearest path
    above it."""
    here = visit.url.path
    above = (path for path in paths if here == path or here.startswith(path.rstrip("/") + "/"))
    return max(above, key=len, default="")
