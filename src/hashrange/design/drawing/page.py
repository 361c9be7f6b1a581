"""All pictures of one or more tables in a single HTML page."""

from collections.abc import Mapping, Sequence
from html import escape

from hashrange.design.drawing.draw import draw, views
from hashrange.design.drawing.svg import printable
from hashrange.design.table import Table
from hashrange.design.tools.sample_items import sample_items
from hashrange.model.values import Item as WireItem

_STYLE = """\
:root{color-scheme:light dark}
body{margin:0 auto;padding:1.5rem;max-width:max-content;background:#f6f8fa;color:#1c2128;
font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
nav a{margin-right:1rem;color:#1f6fd1}
figure{margin:1.5rem 0;overflow-x:auto}
@media(prefers-color-scheme:dark){body{background:#0b0e12;color:#e6edf3}nav a{color:#6cb0ff}}
"""


def page(tables: Sequence[Table], items: Mapping[str, Sequence[WireItem]] | None = None) -> str:
    """An HTML document with all views of the tables.

    `items` are the stored items by the table's name; the default is generated items.
    """
    title = escape(printable(", ".join(table.name for table in tables)))
    body = "\n".join(_table(table, (items or {}).get(table.name)) for table in tables)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n'
        f"<style>\n{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _table(table: Table, items: Sequence[WireItem] | None) -> str:
    stored = sample_items(table) if items is None else items
    name = escape(printable(table.name), quote=True)
    links = " ".join(f'<a href="#{name}-{view}">{view}</a>' for view in views(table))
    figures = "\n".join(
        f'<figure id="{name}-{view}">\n{draw(table, view, stored)}</figure>'
        for view in views(table)
    )
    return f"<h1>{name}</h1>\n<nav>{links}</nav>\n{figures}"
