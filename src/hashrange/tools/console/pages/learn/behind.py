"""A tour step: an index that falls behind, so that its table refuses writes."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.simulation import Simulation
from hashrange.tools.console.pages.learn.steps import PATH, step
from hashrange.tools.console.visits import Mistake, Route, Visit

TABLE_UNITS, INDEX_UNITS, RATE = 40, 5, 15
BACKLOG = 150
"""The largest backlog of an index in this simulation, in write units. DynamoDB's limit is not
published."""
LOADS = {"10": "ten seconds", "30": "thirty seconds"}
STEP = 2


def show(visit: Visit) -> Response:
    load = visit.parameters.get("load", "10")
    if load not in LOADS:
        raise Mistake("Choose a load from the list.")
    ran = simulate(int(load)) if visit.parameters.get("run") else None
    return step(
        visit, "behind", choices=LOADS, load=load, ran=ran, rate=RATE, backlog=BACKLOG,
        index_units=INDEX_UNITS, table_units=TABLE_UNITS, step_seconds=STEP,
    )  # fmt: skip


def simulate(load: int) -> dict[str, Any]:
    """Simulate `load` seconds of writes, and then a pause until the index has all entries."""
    rows: list[dict[str, Any]] = []
    written = refused = second = 0
    with Simulation(index_backlog_units=BACKLOG) as database:
        database.create(
            "orders",
            ["id"],
            units=(5, TABLE_UNITS),
            index={"by_customer": ("customer", INDEX_UNITS)},
        )
        scan = {"TableName": "orders", "IndexName": "by_customer", "Select": "COUNT"}
        while second < load or rows[-1]["shown"] < written:
            for number in range(RATE if second < load else 0):
                if database.put("orders", id=f"{second}-{number}", customer=f"{number % 4}"):
                    written += 1
                else:
                    refused += 1
            database.wait(1)
            second += 1
            if second % STEP == 0:
                shown = database.execute("Scan", scan)["Count"]
                state = database.inspect("orders")
                lag = state["indexes"][0]["lag_seconds"] or 0
                rows.append({"second": second, "written": written, "shown": shown, "lag": lag})
        reasons = database.reasons
    return {
        "rows": rows,
        "written": written,
        "refused": refused,
        "seconds": second,
        "lag": max(row["lag"] for row in rows),
        "reason": next(iter(reasons), ""),
    }


ROUTES = (Route(f"{PATH}/behind", show),)
