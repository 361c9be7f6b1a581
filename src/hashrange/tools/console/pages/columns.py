"""Choosing the columns of a table."""

from starlette.responses import Response

from hashrange.tools.console import columns
from hashrange.tools.console.visits import Page, Route, Visit, table_path


def keep(visit: Visit) -> Response:
    """Keep the columns that are chosen in the form, and show the page again."""
    shape = visit.console.table(visit.path["table"])
    names = [*visit.parameters.getlist("column"), *visit.parameters.get("more", "").split(",")]
    answer = visit.go_back(table_path(shape.name))
    columns.keep(
        visit, answer, shape.name, [] if "all" in visit.parameters else map(str.strip, names)
    )
    return answer


PATH = "/table/{table}/columns"
PAGE = Page("", PATH, (Route(PATH, keep),))
