"""A tour step: a Query, and a Scan with a filter, read the same items."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.steps import PATH, execute, explain, step
from hashrange.tools.console.tour import DAY, SENSORS
from hashrange.tools.console.visits import Mistake, Route, Visit

TABLE = "sensor-management"
HOURS = {"": "the whole day", "08": "from 8 to 9 o'clock", "1": "from 10 to 20 o'clock"}
CHOICES = {f"s-{number}": f"s-{number}" for number in range(1, SENSORS + 1)}


def show(visit: Visit) -> Response:
    """Show the form. If the URL names a sensor, also show the cost of both requests."""
    sensor, hours = visit.parameters.get("sensor", ""), visit.parameters.get("hours", "")
    if (sensor and sensor not in CHOICES) or hours not in HOURS:
        raise Mistake("Choose a sensor and hours from the list.")
    ran = [_run(visit, name, sensor, hours) for name in ("Query", "Scan")] if sensor else []
    return step(
        visit, "reads", choices=CHOICES, hours=HOURS, sensor=sensor, chosen=hours, ran=ran, day=DAY
    )


def _run(visit: Visit, operation: str, sensor: str, hours: str) -> dict[str, Any]:
    """The request, the explanation of it, and the units that it consumed when it ran."""
    member = "KeyConditionExpression" if operation == "Query" else "FilterExpression"
    condition, values = "pk = :pk", {":pk": {"S": f"sensor#{sensor}#{DAY}"}}
    if hours:
        condition += " AND begins_with(sk, :sk)"
        values[":sk"] = {"S": hours}
    request = {"TableName": TABLE, member: condition, "ExpressionAttributeValues": values}
    told = explain(visit, operation, request)
    answer = execute(visit, operation, {**request, "ReturnConsumedCapacity": "TOTAL"})
    return {
        **told,
        "member": member,
        "condition": condition,
        "values": {name: value["S"] for name, value in values.items()},
        "consumed_units": answer["ConsumedCapacity"]["CapacityUnits"],
        "found": answer["Items"],
    }


ROUTES = (Route(f"{PATH}/reads", show),)
