"""A tour step: a split that helps, one that isolates a hot key, and one that would not help."""

from collections import Counter
from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.simulation import Simulation
from hashrange.tools.console.pages.learn.steps import PATH, step
from hashrange.tools.console.visits import Mistake, Route, Visit
from hashrange.tools.predict.lapse import Cell, Lapse, image

KEYS = {
    "many": "fifty keys",
    "among": "one hot key among forty others",
    "one": "one key",
}
UNITS, RATE = 10, 14
HEAT_SECONDS = 30
"""The time after which a busy partition counts as hot in this simulation. For DynamoDB, five
minutes are assumed, ten times as long."""
SECONDS, STEP = 150, 10


def show(visit: Visit) -> Response:
    keys = visit.parameters.get("keys", "many")
    if keys not in KEYS:
        raise Mistake("Choose keys from the list.")
    ran = simulate(keys) if visit.parameters.get("run") else None
    return step(
        visit, "split", choices=KEYS, keys=keys, ran=ran, units=UNITS, rate=RATE,
        heat=HEAT_SECONDS, seconds=SECONDS, step_seconds=STEP,
    )  # fmt: skip


def simulate(keys: str) -> dict[str, Any]:
    settings = {"partition_write_units": UNITS, "heat_seconds": HEAT_SECONDS}
    bars: list[dict[str, float]] = []
    rows: list[tuple[str, float, list[Cell]]] = []
    with Simulation(**settings) as database:
        database.create("pages", ["id"], units=(5, 60))
        number, before = 0, Counter[int]()
        for second in range(0, SECONDS, STEP):
            refused: Counter[str] = Counter()
            passed = 0
            for _ in range(STEP):
                for _ in range(RATE):
                    number += 1
                    key = _key(keys, number)
                    if database.put("pages", id=key):
                        passed += 1
                    else:
                        refused[key] += 1
                database.wait(1)
            bars.append({"written": passed / STEP, "refused": sum(refused.values()) / STEP})
            state = database.inspect("pages")
            partitions = state["partitions"]
            now = Counter({each["number"]: each["write_units"] for each in partitions})
            lost = Counter[int]()
            for key, count in refused.items():
                lost[_partition(database, key)] += count
            label = f"{second // 60}:{second % 60:02}"
            rows.append((label, STEP, _cells(partitions, now - before, lost)))
            before = now
        reasons = database.reasons
    lapse = Lapse("Write units by partition", rows, f"{KEYS[keys]}, {RATE} writes a second")
    return {
        "bars": bars,
        "picture": image("Partitions over time", lapse),
        "partitions": len(rows[-1][2]),
        "refused": sum(reasons.values()),
        "last": bars[-1]["refused"],
        "reason": next(iter(reasons), ""),
    }


def _key(keys: str, number: int) -> str:
    if keys == "one" or (keys == "among" and number % 5):
        return "page#1"
    return f"page#{number * 7 % 50 + 2}" if keys == "many" else f"page#{number // 5 % 40 + 2}"


def _partition(database: Simulation, key: str) -> int:
    request = {"TableName": "pages", "Key": {"id": {"S": key}}}
    number: int = database.explain("GetItem", request)["consumed"][0]["partition"]
    return number


def _cells(
    partitions: list[dict[str, Any]], units: Counter[int], refused: Counter[int]
) -> list[Cell]:
    cells = []
    for each in partitions:
        used, lost = units[each["number"]], refused[each["number"]]
        share = lost / (used + lost) if lost else 0.0
        start = bytes.fromhex(each["from"])
        cells.append(Cell(start, used / (UNITS * STEP), share))
    return cells


ROUTES = (Route(f"{PATH}/split", show),)
