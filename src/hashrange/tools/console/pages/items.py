"""The items of a table or of an index, in the order of a Scan, page by page."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console import builder
from hashrange.tools.console.results import lay_out
from hashrange.tools.console.search_round import results_of
from hashrange.tools.console.shapes import Source, TableShape
from hashrange.tools.console.values import cursor, key_at
from hashrange.tools.console.visits import Mistake, Page, Route, Visit

ITEMS_DEFAULT = 50
ITEMS_MAX = 250


def show(visit: Visit) -> Response:
    """Show the items of the table or of one index, or of all of them side by side in panes.

    With panes, the browser then requests the rows of each pane.
    """
    shape = visit.console.table(visit.path["table"])
    if visit.parameters.get("view") == "side":
        return visit.page("side.html", shape=shape)
    source = named(visit, shape)
    form: dict[str, Any] = {
        "builder": builder,
        "filters": builder.filters_of(visit) or [builder.EMPTY_FILTER],
        "shape": shape,
        "source": source,
    }
    limit = visit.number("limit", ITEMS_DEFAULT, 1, ITEMS_MAX)
    try:
        request = builder.request_of(visit, shape, source, limit)
    except Mistake as mistake:
        return visit.page("items.html", 400, mistake=str(mistake), **form)
    template = (
        "search_round.html" if visit.partial and visit.parameters.get("round") else "items.html"
    )
    return visit.page(template, mistake=None, **form | results_of(visit, shape, source, request))


def rows(visit: Visit) -> Response:
    """Only the rows, for one of the panes that are shown side by side."""
    shape = visit.console.table(visit.path["table"])
    return visit.page("pane.html", shape=shape, **_page(visit, shape))


def _page(visit: Visit, shape: TableShape) -> dict[str, Any]:
    source = named(visit, shape)
    limit = visit.number("limit", ITEMS_DEFAULT, 1, ITEMS_MAX)
    after = visit.parameters.get("after")
    start = {"ExclusiveStartKey": key_at(after)} if after else {}
    answer = visit.console.call("scan", **source.request(shape.name), Limit=limit, **start)
    last = answer.get("LastEvaluatedKey")
    return {
        "source": source,
        "results": lay_out(visit.console, shape, source, answer["Items"]),
        "next": cursor(last) if last else None,
        "after": after,
        "limit": limit,
    }


def named(visit: Visit, shape: TableShape) -> Source:
    """The index that the URL names, otherwise the table."""
    name = visit.parameters.get("index", "")
    source = shape.source(name)
    if source is None:
        raise Mistake(f"The table {shape.name} has no index {name}.", 404)
    return source


PAGE = Page(
    "Items",
    "/table/{table}",
    (
        Route("/table/{table}", show),
        Route("/table/{table}/rows", rows),
    ),
)
