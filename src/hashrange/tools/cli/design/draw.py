"""hashrange design draw: pictures of a model."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashrange.failing import fail
from hashrange.tools.cli.design.model_files import (
    add_endpoint,
    add_model,
    client,
    tables_of,
    write_result,
)

if TYPE_CHECKING:
    from hashrange.design import Table

ITEMS_MAX = 1000
"""The largest number of items of a real table that are drawn."""


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--view",
        help="what to draw: table (the default), entities, patterns, or the name of an index; "
        "TABLE:VIEW if the model has several tables",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="an .svg file, or an .html file with all views; default: SVG on stdout",
    )
    parser.add_argument(
        "--table", metavar="NAME", help="draw the items of this table instead of generated ones"
    )
    add_endpoint(parser)


def draw(
    model: Path,
    view: str | None,
    output: Path | None,
    table: str | None,
    endpoint: str | None,
    region: str | None,
) -> None:
    """Draw the table, an index, the entities or the access patterns as SVG, or all as HTML."""
    from hashrange.design import DesignError
    from hashrange.design.drawing.draw import draw as picture
    from hashrange.design.drawing.page import page

    if table is None and (endpoint or region):
        fail("--endpoint and --region need --table")
    tables = tables_of(model)
    whole = output is not None and output.suffix == ".html"
    if output is not None and output.suffix not in ("", ".svg", ".html"):
        fail(f"{output}: pictures are SVG: choose a name that ends in .svg or .html")
    if whole and view is not None:
        fail("an HTML page has all views: leave out --view, or write an .svg file")
    try:
        if whole:
            items = {}
            if table is not None:
                tables = [_declared(tables, table)]
                items = {tables[0].name: _items(tables[0], table, client(endpoint, region))}
            document = page(tables, items)
        else:
            drawn, name = _view(model, tables, view)
            stored = _items(drawn, table, client(endpoint, region)) if table is not None else None
            document = picture(drawn, name, stored)
    except DesignError as error:
        fail(error)
    write_result(document, output)


def _view(model: Path, tables: "list[Table]", view: str | None) -> "tuple[Table, str]":
    """The table to draw, and the view without the table's name: `projects:patterns` is the view
    `patterns` of the table `projects`."""
    name, colon, rest = (view or "table").rpartition(":")
    if colon:
        return _declared(tables, name), rest
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        fail(f"{model} declares {names}: name one in --view, e.g. {tables[0].name}:{rest}")
    return tables[0], rest


def _declared(tables: "list[Table]", name: str) -> "Table":
    """The model's table with this name. If a model has only one table, that table is returned for
    any name, because it can have another name in the account."""
    from hashrange.design.errors import suggest

    named = [table for table in tables if table.name == name]
    if not named and len(tables) > 1:
        fail(f"the model has no table {name!r}{suggest(name, [t.name for t in tables])}")
    return (named or tables)[0]


def _items(declared: "Table", name: str, connection: Any) -> list[dict[str, Any]]:
    from botocore.exceptions import BotoCoreError, ClientError

    from hashrange.design.tools.stored_items import stored_items

    try:
        items = stored_items(declared, connection, name, ITEMS_MAX)
    except (BotoCoreError, ClientError) as error:
        fail(error)
    if len(items) == ITEMS_MAX:
        print(f"hashrange: drawing the first {ITEMS_MAX:,} items of {name}", file=sys.stderr)
    return items
