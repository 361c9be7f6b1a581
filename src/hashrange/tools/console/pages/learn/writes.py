"""A tour step: the units of a write, for the item in the table and for its index entries."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.steps import PATH, execute, explain, step
from hashrange.tools.console.shapes import Item
from hashrange.tools.console.tour import new_order, strings
from hashrange.tools.console.visits import Mistake, Route, Visit, writes

TABLE = "shop"
SIZES = {"0": "small", "3": "with 3 KB of text", "20": "with 20 KB of text"}
ORDER = ("ann", "2024-05-03", "o-4")


@dataclass(frozen=True)
class Write:
    """A write to try. `before` creates the item that is put first, so that each run starts from the
    same state."""

    title: str
    before: Callable[[str], Item]
    update: str = ""
    values: tuple[tuple[str, str], ...] = ()


def _order(status: str) -> Callable[[str], Item]:
    return lambda text: new_order(*ORDER, status, text)


def _product(text: str) -> Item:
    return strings(entityType="Product", pk="product#pot", sk="content", title=text or "Pot")


def _stock(text: str) -> Item:
    return strings(entityType="Stock", pk="product#pot", sk="stock", available="10")


WRITES = {
    "place": Write("Place an order; it is open, so it enters the index", _order("open")),
    "rename": Write(
        "Change an attribute that the index copies, in an open order",
        _order("open"),
        "SET gift = :new",
        ((":new", "yes"),),
    ),
    "move": Write(
        "Change an open order's sort key in the index",
        _order("open"),
        "SET #key = :new",
        ((":new", "2024-05-09#o-4"),),
    ),
    "ship": Write(
        "Ship an order; it leaves the index",
        _order("open"),
        "SET #status = :new REMOVE #pk, #key",
        ((":new", "shipped"),),
    ),
    "note": Write(
        "Change a shipped order, which is in no index",
        _order("shipped"),
        "SET gift = :new",
        ((":new", "yes"),),
    ),
    "price": Write(
        "Change the price, which is in the same item as the product's text",
        _product,
        "SET price = :new",
        ((":new", "29.90"),),
    ),
    "stock": Write(
        "Change the stock, which is an item of its own",
        _stock,
        "SET available = :new",
        ((":new", "9"),),
    ),
}
NAMES = {"#status": "status", "#pk": "unfulfilled-pk", "#key": "unfulfilled-sk"}


def show(visit: Visit, **result: Any) -> Response:
    return step(
        visit,
        "writes",
        writes=WRITES,
        sizes=SIZES,
        chosen=visit.parameters.get("write", "place"),
        size=visit.parameters.get("size", "0"),
        **{"ran": None, **result},
    )


def run(visit: Visit) -> Response:
    """Restore the item to its state before the write, explain the write, and run it."""
    write, size = WRITES.get(visit.parameters.get("write", "")), visit.parameters.get("size", "")
    if write is None or size not in SIZES:
        raise Mistake("Choose a write and a size from the list.")
    before = write.before("x" * (int(size) * 1024))
    key = {name: before[name] for name in ("pk", "sk")}
    operation = "UpdateItem" if write.update else "PutItem"
    request: dict[str, Any] = {"TableName": TABLE, "Item": before}
    if write.update:
        execute(visit, "PutItem", request)
        used = {name: text for name, text in NAMES.items() if name in write.update}
        request = {
            "TableName": TABLE,
            "Key": key,
            "UpdateExpression": write.update,
            "ExpressionAttributeValues": {name: {"S": text} for name, text in write.values},
            **({"ExpressionAttributeNames": used} if used else {}),
        }
    else:
        execute(visit, "DeleteItem", {"TableName": TABLE, "Key": key})
    told = explain(visit, operation, request)
    answer = execute(visit, operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
    consumed = answer["ConsumedCapacity"]
    owners = [("the table", consumed["Table"]["CapacityUnits"])]
    index = consumed.get("GlobalSecondaryIndexes", {}).get("unfulfilled", {})
    owners.append(("the index unfulfilled", index.get("CapacityUnits", 0.0)))
    return show(visit, ran={**told, "owners": owners, "total": consumed["CapacityUnits"]})


ROUTES = (Route(f"{PATH}/writes", show), writes(f"{PATH}/writes", run))
