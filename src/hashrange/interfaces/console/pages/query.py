"""The query builder: a form for a Query or a Scan, the request as code, its cost and its result."""

from typing import Any

from starlette.responses import Response

from hashrange.interfaces.console import builder
from hashrange.interfaces.console.console import Console
from hashrange.interfaces.console.pages.items import ITEMS_DEFAULT, ITEMS_MAX, named
from hashrange.interfaces.console.results import lay_out
from hashrange.interfaces.console.shapes import Source, TableShape
from hashrange.interfaces.console.snippets import LANGUAGES, snippets
from hashrange.interfaces.console.values import cursor, key_at, plain
from hashrange.interfaces.console.visits import Mistake, Page, Route, Visit
from hashrange.model.errors import ApiError


def show(visit: Visit) -> Response:
    """The form, and the result if the address says `run`."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    form = _form(visit, shape, source)
    result: dict[str, Any] = {}
    if visit.given.get("run") and not form["mistake"]:
        result = _run(visit, shape, source, form["request"])
    return visit.page("query.html", shape=shape, source=source, **form, **result)


def preview(visit: Visit) -> Response:
    """The request as code and its cost, while the form is being filled."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    return visit.page("request.html", source=source, **_form(visit, shape, source))


def filter_row(visit: Visit) -> Response:
    """One more filter."""
    empty = builder.Filter("", "=", "S", "", "")
    return visit.page("filter.html", each=empty, builder=builder)


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
        "filters": builder.filters_of(visit) or [builder.Filter("", "=", "S", "", "")],
        "request": request,
        "mistake": mistake,
        "cost": cost,
        "languages": LANGUAGES,
        "code": snippets(request, endpoint) if request else {},
    }


def explained(console: Console, request: builder.Request) -> dict[str, Any] | None:
    """Explain the first page of the request; None if the database is remote."""
    database = console.target.database
    if database is None:
        return None
    try:
        return database.explain(request.operation, plain(request.members))
    except ApiError as error:
        raise Mistake(f"{error.code}: {error.message}") from None


def _run(
    visit: Visit, shape: TableShape, source: Source, request: builder.Request
) -> dict[str, Any]:
    after = visit.given.get("after")
    start = {"ExclusiveStartKey": key_at(after)} if after else {}
    asked = {**request.members, **start, "ReturnConsumedCapacity": "TOTAL"}
    found = visit.console.call(request.method, **asked)
    last = found.get("LastEvaluatedKey")
    return {
        "results": lay_out(visit.console, shape, source, found["Items"]),
        "read": found["ScannedCount"],
        "units": found.get("ConsumedCapacity", {}).get("CapacityUnits"),
        "next": cursor(last) if last else None,
        "after": after,
    }


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
