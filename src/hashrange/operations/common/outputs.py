"""Response members that several operations share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, json

from hashrange.engine import fetch
from hashrange.engine.capacity import Charge, Receipt, VectorCharge
from hashrange.engine.decision import Respond, Response
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.rows import Row
from hashrange.model.tables import Table
from hashrange.model.values import Item

GB = 1 << 30

LARGE_BYTES = 4 * 1024
"""The size in bytes above which an item is not kept in its decoded form. That form takes up to
thirty times as much memory."""


def shown(row: Row, project: Callable[[Item], Item]) -> Fetch[Any]:
    """The projection of one of several rows. After a large row, other requests may run."""
    attributes = projected(row, project)
    if row.size > LARGE_BYTES:
        row.forget()
        yield from fetch.pause()
    return attributes


def projected(row: Row, project: Callable[[Item], Item]) -> Any:
    """The projection of a row: JSON text if the row is large, otherwise the decoded attributes."""
    picked = project(row.item)
    return Raw(json.encode(picked)) if row.size > LARGE_BYTES and picked else picked


def add_consumed(
    response: Response, receipt: Receipt | Charge, mode: str | None, name: str
) -> None:
    """Add ConsumedCapacity of a request on one table. `name` is the table's name or ARN in the
    request."""
    if mode and mode != "NONE":
        vectors = receipt.vector_bytes or ()
        response["ConsumedCapacity"] = _consumed(receipt.charges, mode, name, False, vectors)


def add_consumed_list(
    response: Response, receipt: Receipt, mode: str | None, tables: Mapping[str, Table]
) -> None:
    """Add ConsumedCapacity of a request on several tables. `tables` is keyed by the tables' names
    or ARNs in the request."""
    if not mode or mode == "NONE":
        return
    names = {table.name: name for name, table in tables.items()}
    by_table: dict[str, list[Charge]] = {}
    for charge in receipt.charges:
        by_table.setdefault(charge.table.name, []).append(charge)
    if by_table:
        response["ConsumedCapacity"] = [
            _consumed(
                charges, mode, names[table_name], receipt.transactional, receipt.vector_bytes or ()
            )
            for table_name, charges in by_table.items()
        ]


def _consumed(
    charges: list[Charge],
    mode: str,
    name: str,
    split: bool,
    vectors: Sequence[VectorCharge],
) -> dict[str, Any]:
    """The ConsumedCapacity of one table; `mode` is TOTAL or INDEXES.

    `vectors` are the charges of the vector indexes of all tables. They are shown only with INDEXES.

    With `split`, which only transactions use, units are repeated as ReadCapacityUnits or
    WriteCapacityUnits.
    """
    table = charges[0].table
    kind = "WriteCapacityUnits" if charges[0].written else "ReadCapacityUnits"

    def arm(units: float) -> dict[str, float]:
        return {"CapacityUnits": units, kind: units} if split else {"CapacityUnits": units}

    shown: dict[str, Any] = {"TableName": name, **arm(sum(charge.units for charge in charges))}
    if mode == "INDEXES":
        shown["Table"] = arm(sum(charge.units for charge in charges if charge.index is None))
        for index in table.indexes:
            units = [charge.units for charge in charges if charge.index is index]
            if units:
                member = "LocalSecondaryIndexes" if index.local else "GlobalSecondaryIndexes"
                shown.setdefault(member, {})[index.name] = arm(sum(units))
        for charge in vectors:
            if charge.table.name == table.name:
                arms = shown.setdefault("VectorIndexes", {})
                written = arms.setdefault(charge.index.name, {"VectorWriteRequestBytes": 0.0})
                written["VectorWriteRequestBytes"] += charge.bytes
    return shown


def of_write(response: Response, table: Table, request: Any) -> Response | Respond:
    """The response of a write of one item, with all members that the request asks for.

    ConsumedCapacity and ItemCollectionMetrics are added later, when the written rows are known.
    """
    mode, metrics_wanted = request.return_consumed_capacity, request.return_item_collection_metrics
    if not mode and not metrics_wanted:
        return response

    def respond(receipt: Receipt) -> Response:
        complete = dict(response)
        add_consumed(complete, receipt, mode, request.table_name)
        if metrics_wanted == "SIZE" and (metrics := _collection_metrics(receipt, table)):
            complete["ItemCollectionMetrics"] = metrics[0]
        return complete

    return respond


def add_collections(
    response: Response, receipt: Receipt, tables: Mapping[str, Table], wanted: str | None
) -> None:
    """Add ItemCollectionMetrics of writes to several tables. `tables` is keyed by the tables' names
    or ARNs in the request."""
    if wanted != "SIZE":
        return
    sizes = {
        name: metrics
        for name, table in tables.items()
        if (metrics := _collection_metrics(receipt, table))
    }
    if sizes:
        response["ItemCollectionMetrics"] = sizes


def _collection_metrics(receipt: Receipt, table: Table) -> list[dict[str, Any]]:
    """The ItemCollectionMetrics of each item collection that was written to: its key, and its size
    as a range of whole GB."""
    return [
        {
            "ItemCollectionKey": key,
            "SizeEstimateRangeGB": [float(size // GB), float(size // GB + 1)],
        }
        for key, size in (receipt.collections or {}).get(table.name, {}).values()
    ]
