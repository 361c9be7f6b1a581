"""One round of a Query or a Scan for a page of a table, as variables of a template."""

from typing import Any

from hashrange.tools.console.builder import BuiltRequest
from hashrange.tools.console.columns import chosen
from hashrange.tools.console.console import Console
from hashrange.tools.console.results import COLUMNS_MAX, lay_out
from hashrange.tools.console.searching import Portion, Search, search
from hashrange.tools.console.shapes import Source, TableShape
from hashrange.tools.console.values import cursor, key_at
from hashrange.tools.console.visits import Visit

CELLS_MAX = 6_000
"""The largest number of cells on a page. Such a page takes about 0.2 s of processor time."""


def results_of(
    visit: Visit, shape: TableShape, source: Source, request: BuiltRequest
) -> dict[str, Any]:
    """The variables of the template `search_round.html`."""
    columns = chosen(visit)
    limit = min(request.members["Limit"], CELLS_MAX // (len(columns) or COLUMNS_MAX) or 1)
    done = search(reading(visit.console, request), Search.of(visit, limit))
    return {
        "shape": shape,
        "source": source,
        "search": done,
        "of": source.items if request.operation == "Scan" else None,
        "round": bool(visit.parameters.get("round")),
        "first": not visit.parameters.get("after"),
        "results": lay_out(visit.console, shape, source, done.items, columns),
        "chosen": columns,
    }


def reading(console: Console, request: BuiltRequest) -> Any:
    """A function for `search` that sends the Query or Scan from a given position."""

    def read(limit: int, after: str | None) -> Portion:
        start = {"ExclusiveStartKey": key_at(after)} if after else {}
        asked = {**request.members, **start, "Limit": limit, "ReturnConsumedCapacity": "TOTAL"}
        answer = console.call(request.method, **asked)
        last = answer.get("LastEvaluatedKey")
        units = answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        next = cursor(last) if last else None
        return Portion(answer["Items"], answer["ScannedCount"], units, next)

    return read
