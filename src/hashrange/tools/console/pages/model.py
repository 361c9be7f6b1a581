"""Pages of a model: its entities, its access patterns with forms, and its pictures."""

import re
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hashrange.design.drawing.draw import draw
from hashrange.design.errors import DesignError
from hashrange.design.tools.called_by_texts import request_of_texts
from hashrange.tools.console.console import Console
from hashrange.tools.console.results import lay_out
from hashrange.tools.console.values import dumps, plain, typed
from hashrange.tools.console.visits import Mistake, Page, Route, Visit

if TYPE_CHECKING:
    from hashrange.design import Table
    from hashrange.design.declare.patterns import Pattern

VIEWS = {"table": "Table", "entities": "Entities", "patterns": "Access patterns"}
ITEMS_MAX = 100
PATH = "/model"


def show(visit: Visit) -> Response:
    """The tables that the model declares, each with its entities and its plan."""
    tables = [
        {
            "name": table.name,
            "entities": [
                (entity.name, visit.console.colours(table.name).of(entity.name))
                for entity in table.model.entities
            ],
            "plan": list(zip(table.plans, table.plan().rows, strict=True)),
        }
        for table in visit.console.models
    ]
    return visit.page("model.html", tables=tables, views=VIEWS)


def picture(visit: Visit) -> Response:
    """A picture of the model as SVG."""
    view = visit.parameters.get("view", "")
    if view not in VIEWS:
        raise Mistake("There is no such picture.", 404)
    try:
        drawn = draw(declared(visit), view)
    except DesignError as error:
        raise Mistake(str(error)) from None
    return Response(drawn, media_type="image/svg+xml")


def pattern(visit: Visit) -> Response:
    """The form of an access pattern and its plan. If the URL has `run`, also the items that the
    pattern returns."""
    table = declared(visit)
    rows = dict(zip(table.plans, table.plan().rows, strict=True))
    name = visit.parameters.get("pattern", "")
    chosen = next((p for ps in table.patterns.values() for p in ps if str(p) == name), None)
    if chosen is None:
        raise Mistake(f"The model has no access pattern {name}.", 404)
    context: dict[str, Any] = {"requests": [], "results": [], "mistake": None, "count": None}
    if visit.parameters.get("run"):
        try:
            context |= _run(visit, table, chosen)
        except DesignError as error:
            context["mistake"] = str(error)
    return visit.page(
        "pattern.html",
        400 if context["mistake"] else 200,
        model=table,
        pattern=chosen,
        row=rows[name],
        entities=[entity.name for entity in table.model.entities],
        run=bool(visit.parameters.get("run")),
        **context,
    )


def declared(visit: Visit) -> "Table":
    name = visit.path["model"]
    for table in visit.console.models:
        if table.name == name:
            return table
    raise Mistake(f"The model declares no table {name}.", 404)


def _run(visit: Visit, table: "Table", pattern: "Pattern") -> dict[str, Any]:
    """Send the pattern's requests, and read only the first page of each request's result."""
    requests = request_of_texts(table, pattern, visit.parameters).requests
    shape = visit.console.table(table.name)
    results, count = [], 0
    for operation, parameters in requests:
        answer = visit.console.call(_method(operation), **_boto(parameters))
        items = answer.get("Items") or ([answer["Item"]] if "Item" in answer else [])
        count += answer.get("Count", len(items))
        source = shape.source(parameters.get("IndexName", "")) or shape.table
        if items:
            results.append(lay_out(visit.console, shape, source, items[:ITEMS_MAX]))
    told = [(operation, dumps(plain(each), indent=2)) for operation, each in requests]
    return {"requests": told, "results": results, "count": count, "of": shape}


def _method(operation: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()


def _boto(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters as boto3 takes them: binary values are bytes."""
    changed: dict[str, Any] = {
        member: {name: typed(value, name) for name, value in parameters[member].items()}
        for member in ("Key", "ExpressionAttributeValues", "ExclusiveStartKey")
        if member in parameters
    }
    return {**parameters, **changed}


def models_shown(console: Console) -> bool:
    return bool(console.models)


PAGE = Page(
    "Model",
    PATH,
    (
        Route(PATH, show),
        Route(PATH + "/{model}/pattern", pattern),
        Route(PATH + "/{model}/picture", picture),
    ),
    models_shown,
)
