"""Actions of transactions, and transactions of them on one table."""

from typing import Any

from .support import Table, call, item, plain

KB = 1024

Action = dict[str, dict[str, Any]]


def put(values: dict[str, Any], **more: Any) -> Action:
    return {"Put": {"Item": item(values), **more}}


def update(expression: str, values: dict[str, Any] | None = None, **more: Any) -> Action:
    more = {"Key": item(pk="a"), **more}
    if values:
        more["ExpressionAttributeValues"] = item(values)
    return {"Update": {"UpdateExpression": expression, **more}}


def delete(**more: Any) -> Action:
    return {"Delete": {"Key": item(pk="a"), **more}}


def check(condition: str, **more: Any) -> Action:
    return {"ConditionCheck": {"Key": item(pk="a"), "ConditionExpression": condition, **more}}


def named(table: Table, action: Action) -> Action:
    return {kind: {"TableName": table.name, **details} for kind, details in action.items()}


def write(table: Table, *actions: Action, **parameters: Any) -> dict[str, Any]:
    items = [named(table, action) for action in actions]
    return call(table.client, "TransactWriteItems", TransactItems=items, **parameters)


def get(table: Table, *keys: str, **more: Any) -> list[dict[str, Any]]:
    """The response's slots, in order, as Python values: {} where there is no item."""
    items = [{"Get": {"TableName": table.name, "Key": item(pk=key), **more}} for key in keys]
    response = call(table.client, "TransactGetItems", TransactItems=items)
    return [plain(slot.get("Item", {})) for slot in response["Responses"]]
