"""PartiQL: one statement, and its result."""

import re
from typing import Any

from botocore.exceptions import ClientError, ParamValidationError
from starlette.responses import Response

from hashrange.interfaces.console.console import ReadOnly, selects
from hashrange.interfaces.console.results import lay_out
from hashrange.interfaces.console.shapes import Source, TableShape
from hashrange.interfaces.console.visits import Page, Route, Visit

ITEMS_MAX = 100
TABLES_MAX = 50

_NAME = r'(?:"([\w.-]+)"|(\w+))'
_FROM = re.compile(
    rf"\b(?:FROM|INTO|UPDATE)\s+{_NAME}(?:\s*\.\s*{_NAME})?", re.IGNORECASE | re.ASCII
)


def show(visit: Visit) -> Response:
    """The form, for a table if the address names one."""
    table = visit.given.get("table", "")
    statement = f'SELECT * FROM "{table}"' if table else ""
    names = visit.console.call("list_tables", Limit=TABLES_MAX)["TableNames"]
    return visit.page("statement.html", statement=statement, tables=names, mistake=None, ran=None)


def run(visit: Visit) -> Response:
    """Run the statement. A read-only console refuses all but SELECT."""
    statement = visit.given.get("statement", "")
    if not visit.console.write and not selects(statement):
        raise ReadOnly
    asked: dict[str, Any] = {"Statement": statement, "ReturnConsumedCapacity": "TOTAL"}
    if selects(statement):
        asked["Limit"] = ITEMS_MAX
    if token := visit.given.get("next"):
        asked["NextToken"] = token
    try:
        found = visit.console.call("execute_statement", **asked)
    except ParamValidationError:
        return _page(visit, statement, "Write a statement first.")
    except ClientError as error:
        told = error.response["Error"]
        return _page(visit, statement, f"{told['Code']}: {told.get('Message', '')}")
    return _page(visit, statement, None, found)


def _page(
    visit: Visit, statement: str, mistake: str | None, found: dict[str, Any] | None = None
) -> Response:
    shape, results = None, None
    if found is not None and (found["Items"] or selects(statement)):
        shape, source = _table(visit, statement)
        results = lay_out(visit.console, shape, source, found["Items"])
    return visit.page(
        "statement.html",
        400 if mistake else 200,
        statement=statement,
        tables=(),
        mistake=mistake,
        ran=found,
        of=shape,
        results=results,
    )


def _table(visit: Visit, statement: str) -> tuple[TableShape, Source]:
    """The table and index that a statement that has run reads."""
    named = _FROM.search(statement)
    assert named, "a statement without a table does not run"
    quoted, table, quoted_index, index = named.groups()
    shape = visit.console.table(quoted or table)
    return shape, shape.source(quoted_index or index or "") or shape.table


PAGE = Page("PartiQL", "/partiql", (Route("/partiql", show), Route("/partiql", run, "POST")))
