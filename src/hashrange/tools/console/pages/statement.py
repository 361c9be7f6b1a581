"""PartiQL: one statement, and its result."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from botocore.exceptions import ClientError, ParamValidationError
from starlette.responses import Response

from hashrange.tools.console.console import ReadOnly, selects
from hashrange.tools.console.pages.export import answer, format_of, items_read, suffix_of
from hashrange.tools.console.results import lay_out
from hashrange.tools.console.searching import Portion, Search, search
from hashrange.tools.console.shapes import Source, TableShape
from hashrange.tools.console.visits import Mistake, Page, Route, Visit
from hashrange.tools.shell.faults import failure

ITEMS_MAX = 100
TABLES_MAX = 50
ADDRESS_MAX = 16_000
"""The largest length of a URL's query string, because servers refuse very long URLs."""

PATH = "/partiql"

_NAME = r'(?:"([\w.-]+)"|(\w+))'
_FROM = re.compile(
    rf"\b(?:FROM|INTO|UPDATE)\s+{_NAME}(?:\s*\.\s*{_NAME})?", re.IGNORECASE | re.ASCII
)


def show(visit: Visit) -> Response:
    """Show the form. Its statement is that of the URL, or a SELECT from the table of the URL. If
    the URL has `run`, a SELECT is run."""
    table = visit.parameters.get("table", "")
    statement = visit.parameters.get("statement") or (f'SELECT * FROM "{table}"' if table else "")
    if visit.parameters.get("run") and selects(statement):
        return _ran(visit, statement, "get")
    names = visit.console.call("list_tables", Limit=TABLES_MAX)["TableNames"]
    context = {"statement": statement, "tables": names, "mistake": None, "search": None}
    return visit.page("statement.html", place="PartiQL", **context)


def run(visit: Visit) -> Response:
    """Run the statement. A read-only console refuses all statements except SELECT.

    For a SELECT, the browser is sent to a URL, so that the user can return to the result.
    """
    statement = visit.parameters.get("statement", "")
    if not visit.console.write and not selects(statement):
        raise ReadOnly
    again = {"statement": statement, "run": "1"}
    if (
        selects(statement)
        and not visit.parameters.get("after")
        and len(urlencode(again)) <= ADDRESS_MAX
    ):
        return visit.go(PATH, **again)
    return _ran(visit, statement, "post")


def file(visit: Visit) -> Response:
    """The result of a SELECT, as a file."""
    statement = visit.parameters.get("statement", "")
    if not selects(statement):
        raise Mistake("Only the result of a SELECT can be downloaded.")
    most = visit.number("count", 0, 0, 10**15)
    pages = items_read(_reading(visit, statement), visit.parameters.get("after") or None, most)
    format = format_of(visit)
    return answer(pages, format, f"result{suffix_of(format)}", inline=format.name == "json")


def _ran(visit: Visit, statement: str, method: str) -> Response:
    goes_on = Search.of(visit, ITEMS_MAX) if selects(statement) else Search(1, 0, 0, 0, None, 1)
    try:
        read = _reading(visit, statement)
        done = search(read, goes_on) if selects(statement) else _once(read, goes_on)
    except ParamValidationError:
        return _page(visit, statement, method, "Write a statement first.")
    except ClientError as error:
        return _page(visit, statement, method, str(failure(error, statement)))
    return _page(visit, statement, method, None, done)


def _reading(visit: Visit, statement: str) -> Callable[[int, str | None], Portion]:
    """A function for `search` that sends a statement. An answer does not say how many items were
    read. So the function returns the limit or, at the end, the number of items in the answer."""

    def read(limit: int, after: str | None) -> Portion:
        asked: dict[str, Any] = {"NextToken": after} if after else {}
        if selects(statement):
            asked["Limit"] = limit
        answer = visit.console.call(
            "execute_statement", Statement=statement, ReturnConsumedCapacity="TOTAL", **asked
        )
        units = answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        items, next = answer["Items"], answer.get("NextToken")
        return Portion(items, limit if next else len(items), units, next)

    return read


def _once(read: Callable[[int, str | None], Portion], new: Search) -> Search:
    """The search `new`, with the items that its statement returns. This is for statements that
    write, which must be sent only once."""
    return replace(new, items=tuple(read(1, None).items))


def _page(
    visit: Visit, statement: str, method: str, mistake: str | None, done: Search | None = None
) -> Response:
    shape, results, total = None, None, None
    if done is not None and (done.items or selects(statement)):
        shape, source = _table(visit, statement)
        results = lay_out(visit.console, shape, source, done.items)
        total = source.items
    partial = visit.partial and visit.parameters.get("round") and results
    return visit.page(
        "selected_by_statement.html" if partial else "statement.html",
        400 if mistake else 200,
        place="PartiQL",
        statement=statement,
        tables=(),
        method=method,
        mistake=mistake,
        search=done,
        of=shape,
        results=results,
        total=total,
        round=bool(visit.parameters.get("round")),
    )


def _table(visit: Visit, statement: str) -> tuple[TableShape, Source]:
    """The table and the index that a statement names. The statement has already run without
    errors."""
    named = _FROM.search(statement)
    assert named, "a statement that has run must name a table"
    quoted, table, quoted_index, index = named.groups()
    shape = visit.console.table(quoted or table)
    return shape, shape.source(quoted_index or index or "") or shape.table


PAGE = Page(
    "PartiQL", PATH, (Route(PATH, show), Route(PATH + "/file", file), Route(PATH, run, "POST"))
)
