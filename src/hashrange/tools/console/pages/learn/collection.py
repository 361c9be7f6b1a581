"""A tour step: an item collection has a limit with a local index, and is divided without one."""

from typing import Any

from starlette.responses import Response

from hashrange.model.errors import ApiError
from hashrange.tools.console.pages.learn.simulation import Simulation
from hashrange.tools.console.pages.learn.steps import PATH, step
from hashrange.tools.console.visits import Mistake, Route, Visit
from hashrange.tools.predict.lapse import Cell, Lapse, image

LIMIT_BYTES = 100_000
"""The largest size of a partition in this simulation, and of an item collection in a table with
local indexes. On DynamoDB, both limits are 10 GB."""
ITEM_BYTES = 8_000
ITEMS = 30
KINDS = {"local": "with a local index", "none": "without one"}


def show(visit: Visit) -> Response:
    kind = visit.parameters.get("kind", "local")
    if kind not in KINDS:
        raise Mistake("Choose a table from the list.")
    ran = simulate(kind) if visit.parameters.get("run") else None
    return step(visit, "collection", choices=KINDS, kind=kind, ran=ran, items=ITEMS)


def simulate(kind: str) -> dict[str, Any]:
    """Put `ITEMS` messages of one chat, until one is refused. `kind` is a key of `KINDS`."""
    settings = {"partition_bytes": LIMIT_BYTES, "collection_bytes_max": LIMIT_BYTES}
    rows: list[tuple[str, float, list[Cell]]] = []
    refused = ""
    written = 0
    with Simulation(**settings) as database:
        local = {"by_author": "author"} if kind == "local" else None
        database.create("chat", ["pk", "sk"], local=local)
        for chat in range(8):
            database.put("chat", pk=f"CHAT#{chat}", sk="MSG#00", author="ann", text="hello")
        for number in range(1, ITEMS + 1):
            text = "x" * (ITEM_BYTES - 100)
            try:
                database.put("chat", pk="CHAT#1", sk=f"MSG#{number:02}", author="bob", text=text)
                written += 1
            except ApiError as error:
                refused = f"{error.code}: {error.message}"
                break
            database.wait(10)
            if number % 3 == 0:
                rows.append(_row(database, number))
        if written % 3:
            rows.append(_row(database, written))
        state = database.inspect("chat")
    largest = state["collections"]["largest"][0]
    note = "colour: the size of a partition, as a share of the limit"
    lapse = Lapse("The table's partitions while CHAT#1 grows", rows, note)
    return {
        "written": written,
        "refused": refused,
        "bytes": largest["bytes"],
        "partitions": len(state["partitions"]),
        "picture": image("One chat that grows", lapse),
        "inside": sum(1 for each in state["partitions"] if each["from_key"]),
    }


def _row(database: Simulation, number: int) -> tuple[str, float, list[Cell]]:
    state = database.inspect("chat")
    cells = [
        Cell(bytes.fromhex(each["from"]), each["bytes"] / LIMIT_BYTES)
        for each in state["partitions"]
    ]
    return f"{number} items", 1.0, cells


ROUTES = (Route(f"{PATH}/collection", show),)
