"""A tour step: a provisioned table saves unused units, and spends them in a burst."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.simulation import Simulation
from hashrange.tools.console.pages.learn.steps import PATH, step
from hashrange.tools.console.visits import Mistake, Route, Visit

UNITS = 10
RATE = 30
RESTS = {"0": "not at all", "60": "for one minute", "300": "for five minutes", "600": "for ten"}
LOADED, REGAINED = 120, 120
STEP = 5
"""The number of seconds that a bar of the picture represents."""


def show(visit: Visit) -> Response:
    rest = visit.parameters.get("rest", "60")
    if rest not in RESTS:
        raise Mistake("Choose from the list how long the table rests.")
    ran = simulate(int(rest)) if visit.parameters.get("run") else None
    return step(
        visit, "burst", choices=RESTS, rest=rest, ran=ran, units=UNITS, rate=RATE, loaded=LOADED
    )


def simulate(rest: int) -> dict[str, Any]:
    """Simulate a rest of `rest` seconds, two minutes of load, two more minutes of rest, and half a
    minute of load."""
    bars: list[dict[str, float]] = []
    with Simulation() as database:
        database.create("orders", ["id"], units=(5, UNITS))
        seconds = [*[False] * rest, *[True] * LOADED, *[False] * REGAINED, *[True] * 30]
        for second, loaded in enumerate(seconds):
            if second % STEP == 0:
                state = database.inspect("orders")
                credit = state["load"]["write_credit"]
                bars.append({"credit": max(credit, 0), "written": 0, "refused": 0})
            for number in range(RATE if loaded else 0):
                passed = database.put("orders", id=f"{second}-{number}")
                bars[-1]["written" if passed else "refused"] += 1 / STEP
            database.wait(1)
        reasons = database.reasons
    first = next((at for at, bar in enumerate(bars) if bar["refused"]), None)
    begins = rest // STEP
    return {
        "bars": bars,
        "most": max(bar["credit"] for bar in bars),
        "held": None if first is None else max(0, (first - begins) * STEP),
        "refused": sum(reasons.values()),
        "reason": next(iter(reasons), ""),
    }


ROUTES = (Route(f"{PATH}/burst", show),)
