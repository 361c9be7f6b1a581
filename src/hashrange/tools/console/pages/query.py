"""The query builder: a form for a Query or a Scan, the request as code, its cost and its result."""

from typing import Any

from starlette.responses import Response

from hashrange.model.errors import ApiError
from hashrange.tools.console import builder
from hashrange.tools.console.console import Console
from hashrange.tools.console.pages.items import ITEMS_DEFAULT, ITEMS_MAX, named
from hashrange.tools.console.search_round import results_of
from hashrange.tools.console.shapes import Source, TableShape
from hashrange.tools.console.snippets import LANGUAGES, snippets
from hashrange.tools.console.values import plain
from hashrange.tools.console.visits import Mistake, Page, Route, Visit


def show(visit: Visit) -> Response:
    """Show the form and, if the URL has `run`, the result."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    form = _form(visit, shape, source)
    result: dict[str, Any] = {}
    if visit.parameters.get("run") and not form["mistake"]:
        result = results_of(visit, shape, source, form["request"])
    template = (
        "search_round.html" if visit.partial and visit.parameters.get("round") else "query.html"
    )
    return visit.page(template, **form | {"shape": shape, "source": source} | result)


def preview(visit: Visit) -> Response:
    """The request as code, and its cost. The browser requests both while the user fills in the
    form."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    return visit.page("request.html", source=source, **_form(visit, shape, source))


def filter_row(visit: Visit) -> Response:
    """The fields for one more filter in the form."""
    return visit.page("filter.html", each=builder.EMPTY_FILTER, builder=builder)


def _form(visit: Visit, shape: TableShape, source: Source) -> dict[str, Any]:
    request, mistake, cost = None, None, None
    try:
        limit = visit.number("limit", ITEMS_DEFAULT, 1, ITEMS_MAX)
        request = builder.request_of(visit, shape, source, limit)
        cost = explained(visit.console, request)
    except Mistake as error:
        mistake = str(error)
    name = visit.console.target.name
    endpoint = name if visit.console.target.kind == "server" else None
    return {
        "builder": builder,
        "filters": builder.filters_of(visit) or [builder.EMPTY_FILTER],
        "request": request,
        "mistake": mistake,
        "cost": cost,
        "languages": LANGUAGES,
        "code": snippets(request, endpoint) if request else {},
    }


def explained(console: Console, request: builder.BuiltRequest) -> dict[str, Any] | None:
    """Explain the first page of the request; None if the database is remote."""
    database = console.target.database
    if database is None:
        return None
    try:
        return database.explain(request.operation, plain(request.members))
    except ApiError as error:
        raise Mistake(f"{error.code}: {error.message}") from None


PATH = "/table/{table}/query"
PAGE = Page(
    "Query",
    PATH,
    (
        Route(PATH, show),
        Route(PATH + "/request", preview),
        Route(PATH + "/filter", filter_row),
    ),
)
