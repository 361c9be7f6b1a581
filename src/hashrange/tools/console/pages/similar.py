"""The items of a vector index that are nearest to an item, with their scores."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console.shapes import Item, TableShape, VectorIndex
from hashrange.tools.console.values import cursor, key_at
from hashrange.tools.console.visits import Mistake, Page, Route, Visit

SHOWN = 25
"""The number of similar items that are shown."""


def show(visit: Visit) -> Response:
    shape = visit.console.table(visit.path["table"])
    key = key_at(visit.parameters.get("key", ""))
    answer = visit.console.call("get_item", TableName=shape.name, Key=key, ConsistentRead=True)
    item = answer.get("Item")
    if item is None:
        raise Mistake("There is no such item, or it has just been deleted.", 404)
    name = visit.parameters.get("index", "")
    index = next((one for one in shape.vectors_of(item) if one.name == name), None)
    if index is None:
        raise Mistake(f"The item is not in a vector index {name!r}.", 404)
    results = visit.console.call("search_vectors", **_request(shape, index, item))["SearchResults"]
    return visit.page(
        "similar.html",
        shape=shape,
        index=index,
        item=item,
        key=cursor(shape.key_of(item)),
        results=[
            (result["Score"], cursor(shape.key_of(result["Item"])), result["Item"])
            for result in results
        ],
    )


def _request(shape: TableShape, index: VectorIndex, item: Item) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": shape.name,
        "IndexName": index.name,
        "SearchVector": item[index.attribute]["L"],
        "TopK": SHOWN,
    }
    if index.hash is not None:
        request["SearchConditionExpression"] = "#hash = :hash"
        request["ExpressionAttributeNames"] = {"#hash": index.hash}
        request["ExpressionAttributeValues"] = {":hash": item[index.hash]}
    return request


PATH = "/table/{table}/similar"
PAGE = Page("", PATH, (Route(PATH, show),))
