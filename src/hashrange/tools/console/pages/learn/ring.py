"""A tour step: the hash of an item's partition key decides where the item is stored."""

from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.steps import PATH, database, execute, explain, step
from hashrange.tools.console.rings import ring
from hashrange.tools.console.tour import new_project
from hashrange.tools.console.visits import Route, Visit, writes

TABLE, INDEX = "projects", "by_owner"
UPDATED = "2018-08-08"


def show(visit: Visit) -> Response:
    """Show the rings of the table and of its global index, with the partitions of the last put."""
    [table] = database(visit).inspect(TABLE)
    index = next(each for each in table["indexes"] if each["name"] == INDEX)
    organisation, owner = (visit.parameters.get(name, "") for name in ("organisation", "owner"))
    return step(
        visit,
        "ring",
        table=ring(table),
        index=ring(index),
        organisation=organisation,
        owner=owner,
        in_table=_partition(visit, "organisation_id", organisation),
        in_index=_partition(visit, "owner", owner, INDEX),
    )


def put(visit: Visit) -> Response:
    names = ("organisation", "name", "owner")
    organisation, name, owner = (visit.parameters.get(each, "").strip() for each in names)
    item = new_project(organisation, name, owner, UPDATED)
    execute(visit, "PutItem", {"TableName": TABLE, "Item": item})
    return visit.go(f"{PATH}/ring", organisation=organisation, owner=owner)


def _partition(visit: Visit, name: str, key: str, index: str | None = None) -> int | None:
    """The number of the partition that a Query for this key reads; None without a key."""
    if not key:
        return None
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeyConditionExpression": "#key = :key",
        "ExpressionAttributeNames": {"#key": name},
        "ExpressionAttributeValues": {":key": {"S": key}},
    }
    if index:
        request["IndexName"] = index
    number: int = explain(visit, "Query", request)["consumed"][0]["partition"]
    return number


ROUTES = (Route(f"{PATH}/ring", show), writes(f"{PATH}/ring", put))
