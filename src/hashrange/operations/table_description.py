"""The TableDescription of responses: what a stored definition and its counters look like.

Source: shape TableDescription of the service model; members are absent where DynamoDB has none.
"""

from collections.abc import Sequence
from typing import Any

from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model import limits
from hashrange.model.tables import Index, Table, Throughput, View


def described(table: Table, moment: Moment) -> Fetch[dict[str, Any]]:
    """The description of a table as it is."""
    statistics = yield from fetch.statistics([table, *table.indexes])
    return describe(table, table.status(moment.now), statistics)


def describe(
    table: Table, status: str, statistics: Sequence[tuple[int, int]] | None = None
) -> dict[str, Any]:
    """`statistics` are (item count, size in bytes) of the table and each of its indexes."""
    counts = statistics or [(0, 0)] * (1 + len(table.indexes))
    description: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": type_} for name, type_ in table.types.items()
        ],
        "TableName": table.name,
        "KeySchema": _key_schema(table),
        "TableStatus": status,
        "CreationDateTime": round(table.created_at, 3),
        "ProvisionedThroughput": _throughput(table.throughput),
        "TableSizeBytes": counts[0][1],
        "ItemCount": counts[0][0],
        "TableArn": table.arn,
        "TableId": table.id,
        "DeletionProtectionEnabled": table.deletion_protection,
    }
    if table.on_demand:
        description["BillingModeSummary"] = {
            "BillingMode": "PAY_PER_REQUEST",
            "LastUpdateToPayPerRequestDateTime": round(
                table.on_demand_since or table.created_at, 3
            ),
        }
    elif table.on_demand_since is not None:
        description["BillingModeSummary"] = {
            "BillingMode": "PROVISIONED",
            "LastUpdateToPayPerRequestDateTime": round(table.on_demand_since, 3),
        }
    _add_settings(description, table, status)
    _add_indexes(description, table, status, counts[1:])
    return description


def _add_settings(description: dict[str, Any], table: Table, status: str) -> None:
    if table.on_demand_limits:
        description["OnDemandThroughput"] = table.on_demand_limits
    description["WarmThroughput"] = _warm(table, table.warm, table.throughput, status)
    if table.table_class:
        description["TableClassSummary"] = {"TableClass": table.table_class}
        if table.table_class_since is not None:
            description["TableClassSummary"]["LastUpdateDateTime"] = round(
                table.table_class_since, 3
            )
    if table.stream:
        if table.stream.disabled_at is None:
            description["StreamSpecification"] = {
                "StreamEnabled": True,
                "StreamViewType": table.stream.view,
            }
        description["LatestStreamLabel"] = table.stream.label
        description["LatestStreamArn"] = table.stream.arn
    if table.sse:
        description["SSEDescription"] = table.sse


def _add_indexes(
    description: dict[str, Any],
    table: Table,
    status: str,
    counts: Sequence[tuple[int, int]],
) -> None:
    for index, (items, size) in zip(table.indexes, counts, strict=True):
        member = "LocalSecondaryIndexes" if index.local else "GlobalSecondaryIndexes"
        shown = _index(table, index, status)
        shown["IndexSizeBytes"], shown["ItemCount"] = size, items
        description.setdefault(member, []).append(shown)


def _index(table: Table, index: Index, table_status: str) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.include:
        projection["NonKeyAttributes"] = list(index.include)
    shown: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": _key_schema(index),
        "Projection": projection,
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if index.local:
        return shown
    status = "CREATING" if table_status == "CREATING" else index.status
    shown["IndexStatus"] = status
    if index.backfilling is not None:
        shown["Backfilling"] = index.backfilling
    shown["ProvisionedThroughput"] = _throughput(index.throughput)
    if index.on_demand:
        shown["OnDemandThroughput"] = index.on_demand
    shown["WarmThroughput"] = _warm(table, index.warm, index.throughput, status)
    return shown


def _key_schema(view: View) -> list[dict[str, str]]:
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in view.hash),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in view.range),
    ]


def _throughput(throughput: Throughput) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "NumberOfDecreasesToday": throughput.decreases_today,
        "ReadCapacityUnits": throughput.read,
        "WriteCapacityUnits": throughput.write,
    }
    if throughput.increased_at is not None:
        shown["LastIncreaseDateTime"] = round(throughput.increased_at, 3)
    if throughput.decreased_at is not None:
        shown["LastDecreaseDateTime"] = round(throughput.decreased_at, 3)
    return shown


def _warm(
    table: Table, warm: dict[str, int] | None, throughput: Throughput, status: str
) -> dict[str, Any]:
    """What the table can serve at once: as asked for, or what its capacity mode starts with."""

    start = (
        {
            "ReadUnitsPerSecond": limits.ON_DEMAND_READ_UNITS_START,
            "WriteUnitsPerSecond": limits.ON_DEMAND_WRITE_UNITS_START,
        }
        if table.on_demand
        else {
            "ReadUnitsPerSecond": throughput.read,
            "WriteUnitsPerSecond": throughput.write,
        }
    )
    return {**start, **(warm or {}), "Status": "UPDATING" if status == "CREATING" else "ACTIVE"}
