"""Members that the responses of several operations share."""

from typing import Any

from hashrange.engine.capacity import Consumed, Receipt
from hashrange.engine.decision import Response
from hashrange.model.tables import Table

GB = 1 << 30


def add_consumed(response: Response, consumed: Consumed, mode: str | None, name: str) -> None:
    """ConsumedCapacity of a request on one table, under the name or ARN it was called by."""
    for entry in table_consumed(consumed, mode, name):
        response["ConsumedCapacity"] = entry


def add_write(response: Response, receipt: Receipt, table: Table, given: Any) -> None:
    """ConsumedCapacity and ItemCollectionMetrics of a write of one item."""
    mode = given.return_consumed_capacity
    if mode:
        add_consumed(response, receipt.of(table), mode, given.table_name)
    metrics = collection_metrics(receipt, table, given.return_item_collection_metrics)
    if metrics:
        response["ItemCollectionMetrics"] = metrics[0]


def collection_metrics(
    receipt: Receipt, table: Table, wanted: str | None
) -> list[dict[str, Any]] | None:
    """Per item collection that was written to: its key, and its size within whole GB."""
    if wanted != "SIZE":
        return None
    return [
        {
            "ItemCollectionKey": key,
            "SizeEstimateRangeGB": [float(size // GB), float(size // GB + 1)],
        }
        for key, size in receipt.collections.get(table.name, {}).values()
    ]


def table_consumed(consumed: Consumed, mode: str | None, name: str) -> list[dict[str, Any]]:
    """The entry of one table in a list of ConsumedCapacity."""
    return [consumed.render(mode, name)] if mode and mode != "NONE" else []


def add_batch(response: Response, receipt: Receipt, tables: dict[str, Table], given: Any) -> None:
    """ConsumedCapacity and ItemCollectionMetrics, per table under the name it was called by."""
    consumed = [
        entry
        for name, table in tables.items()
        for entry in table_consumed(receipt.of(table), given.return_consumed_capacity, name)
    ]
    if consumed:
        response["ConsumedCapacity"] = consumed
    add_collections(response, receipt, tables, given.return_item_collection_metrics)


def add_collections(
    response: Response, receipt: Receipt, tables: dict[str, Table], wanted: str | None
) -> None:
    found = {
        name: metrics
        for name, table in tables.items()
        if (metrics := collection_metrics(receipt, table, wanted))
    }
    if found:
        response["ItemCollectionMetrics"] = found


def add_transaction(
    response: Response, receipt: Receipt, names: dict[str, str], mode: str | None, split: str
) -> None:
    """ConsumedCapacity of a transaction: units once more as read or write units."""
    if mode and mode != "NONE":
        response["ConsumedCapacity"] = [
            consumed.render(mode, names[name], split) for name, consumed in receipt.consumed.items()
        ]
