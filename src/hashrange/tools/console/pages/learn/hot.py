"""A tour step: writes to one key all go to one partition, writes to several keys are spread."""

from collections import Counter
from typing import Any

from starlette.responses import Response

from hashrange.database.connecting import connect
from hashrange.model.errors import ApiError
from hashrange.model.settings import Settings
from hashrange.testing import TestClock
from hashrange.tools.console.pages.learn.steps import PATH, step
from hashrange.tools.console.tour import strings
from hashrange.tools.console.visits import Mistake, Route, Visit

SECONDS = 60
PARTITION_UNITS = 10
"""The units per second of a partition in this simulation. On DynamoDB, it has 100 times as many."""
KEYS = {
    "1": "one: CHAT#1",
    "4": "four: CHAT#1.0 to CHAT#1.3",
    "16": "sixteen: CHAT#1.0 to CHAT#1.15",
}
RATES = {"8": "8", "16": "16", "30": "30"}
TABLE = {
    "TableName": "chat",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def show(visit: Visit) -> Response:
    """Show the form. If the URL has `run`, also show the result of a minute of messages."""
    keys, rate = visit.parameters.get("keys", "1"), visit.parameters.get("rate", "16")
    if keys not in KEYS or rate not in RATES:
        raise Mistake("Choose keys and a rate from the list.")
    ran = simulate(int(keys), int(rate)) if visit.parameters.get("run") else None
    return step(
        visit,
        "hot",
        choices=KEYS,
        rates=RATES,
        keys=keys,
        rate=rate,
        ran=ran,
        seconds=SECONDS,
        units=PARTITION_UNITS,
    )


def simulate(keys: int, rate: int) -> dict[str, Any]:
    """Write `rate` messages a second, spread over `keys` partition keys, for a minute of simulated
    time. The messages are in a database of their own."""
    clock = TestClock("2026-11-21")
    settings = Settings(throughput="enforced", partition_write_units=PARTITION_UNITS)
    written: list[int] = []
    reasons: Counter[str] = Counter()
    with connect(clock=clock, settings=settings) as database:
        database.execute("CreateTable", TABLE)
        for second in range(SECONDS):
            passed = 0
            for number in range(rate):
                shard = (second * rate + number) % keys
                key = "CHAT#1" if keys == 1 else f"CHAT#1.{shard}"
                item = strings(pk=key, sk=f"MSG#{second:04}#{number:04}")
                try:
                    database.execute("PutItem", {"TableName": "chat", "Item": item})
                    passed += 1
                except ApiError as error:
                    reasons[_reason(error)] += 1
            written.append(passed)
            clock.advance(1)
        [state] = database.inspect("chat")
    return {
        "written": written,
        "rate": rate,
        "passed": sum(written),
        "refused": sum(reasons.values()),
        "reason": next(iter(reasons), ""),
        "partitions": state["partitions"],
        "hottest": state["load"]["accessed"]["partition_keys"][:4],
    }


def _reason(error: ApiError) -> str:
    """The reason why a write was refused. Different errors have it in different members."""
    body = error.body()
    [reason] = body.get("ThrottlingReasons") or body.get("throttlingReasons") or [{"reason": ""}]
    return str(reason["reason"])


ROUTES = (Route(f"{PATH}/hot", show),)
