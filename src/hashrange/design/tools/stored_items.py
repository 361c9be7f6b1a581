"""Reading the items of a real table, for tools that show or examine them."""

from typing import Any

from hashrange.design.errors import DesignError
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps, run
from hashrange.design.table import Table
from hashrange.design.tools.create import TableDiffers, compare
from hashrange.model.values import Item as WireItem


def stored_items(table: Table, handed: Any, name: str, most: int) -> list[WireItem]:
    """At most `most` items of the table `name`, in wire form.

    `handed` is a database or a boto3 client. Raises TableDiffers if the table does not fit the
    model, DesignError if there is no such table.
    """
    return run(_read(table, name, most), connect(handed))


def describe(name: str) -> Steps[dict[str, Any]]:
    """The description of a table. Raises DesignError if there is none."""
    try:
        response = yield ApiCall("DescribeTable", {"TableName": name})
    except ApiFailure as failure:
        if failure.code == "ResourceNotFoundException":
            raise DesignError(f"there is no table {name!r}") from None
        raise
    described: dict[str, Any] = response["Table"]
    return described


def _read(table: Table, name: str, most: int) -> Steps[list[WireItem]]:
    there = yield from describe(name)
    differences = compare(table.model, there)
    if differences:
        raise TableDiffers(name, differences)
    items: list[WireItem] = []
    request: dict[str, Any] = {"TableName": name}
    while len(items) < most:
        response = yield ApiCall("Scan", {**request, "Limit": most - len(items)})
        items += response["Items"]
        if "LastEvaluatedKey" not in response:
            break
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
    return items
