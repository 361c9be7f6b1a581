"""A tour step: an item is written and read at once, and the read returns the old item."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from starlette.responses import Response

from hashrange.model.consistency import Eventual
from hashrange.tools.console.pages.learn.simulation import Simulation
from hashrange.tools.console.pages.learn.steps import PATH, step
from hashrange.tools.console.visits import Mistake, Route, Visit

READS = 12
KINDS = {
    "eventual": "eventually consistent, the default",
    "strong": "strongly consistent",
    "index": "eventually consistent, of a global index",
}
LAG_SECONDS = 0.04
"""The median of a replica's lag in this simulation. DynamoDB's is usually shorter."""


@dataclass(frozen=True)
class Read:
    """A read, `milliseconds` after the write. `stale` tells whether it returned the old value."""

    milliseconds: int
    value: str
    stale: bool


def show(visit: Visit) -> Response:
    kind, again = visit.parameters.get("kind", "eventual"), visit.parameters.get("again", "1")
    if kind not in KINDS or not again.isdecimal():
        raise Mistake("Choose a kind of read from the list.")
    seed = int(again[:6])
    ran = simulate(kind, seed) if visit.parameters.get("run") else None
    return step(visit, "stale", choices=KINDS, kind=kind, ran=ran, again=seed + 1)


def simulate(kind: str, seed: int) -> dict[str, Any]:
    """Change an order's status from open to paid, and read it every ten milliseconds. `kind` is a
    key of `KINDS`, and `seed` makes a run repeatable."""
    eventual = Eventual(seed=seed, lag=LAG_SECONDS, index_lag=LAG_SECONDS)
    reads: list[Read] = []
    with Simulation(consistency=eventual) as database:
        index = {"by_customer": ("customer", 0)}
        database.create("orders", ["id"], index=index)
        database.put("orders", id="o-1", customer="ann", status="open")
        database.wait(5)
        database.put("orders", id="o-1", customer="ann", status="paid")
        for number in range(READS):
            value = _read(database, kind)
            reads.append(Read(10 * number, value, value != "paid"))
            database.clock.advance(0.01)
    stale = [read for read in reads if read.stale]
    back = any(b.stale and not a.stale for a, b in pairwise(reads))
    return {"reads": reads, "stale": len(stale), "back": back}


def _read(database: Simulation, kind: str) -> str:
    if kind == "index":
        request: dict[str, Any] = {
            "TableName": "orders",
            "IndexName": "by_customer",
            "KeyConditionExpression": "customer = :c",
            "ExpressionAttributeValues": {":c": {"S": "ann"}},
        }
        [item] = database.execute("Query", request)["Items"]
    else:
        request = {"TableName": "orders", "Key": {"id": {"S": "o-1"}}}
        item = database.execute("GetItem", {**request, "ConsistentRead": kind == "strong"})["Item"]
    return str(item["status"]["S"])


ROUTES = (Route(f"{PATH}/stale", show),)
