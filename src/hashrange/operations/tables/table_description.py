"""The TableDescription of responses, made from a stored definition and its counters.

Source: shape TableDescription of the service model. Members that DynamoDB omits are absent.
"""

from collections.abc import Sequence
from typing import Any

from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.recovery import Restored
from hashrange.model.tables import (
    Index,
    Table,
    TableOrIndex,
    Throughput,
    VectorIndex,
    WarmThroughput,
)


def described(table: Table, moment: Moment) -> Fetch[dict[str, Any]]:
    """The description of a table as it is now."""
    statistics = yield from fetch.statistics([table, *table.declared_indexes])
    return describe(table, moment.now, table.status(moment.now), statistics)


def describe(
    table: Table, now: float, status: str, statistics: Sequence[tuple[int, int]] | None = None
) -> dict[str, Any]:
    """The description of a table, with this status.

    `statistics` has the item count and the size in bytes of the table and of each index. While a
    table is being created, its description lacks the members that the service computes later.
    """
    counts = statistics or [(0, 0)] * (1 + len(table.declared_indexes))
    description: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": type_} for name, type_ in table.types.items()
        ],
        "TableName": table.name,
        "KeySchema": _key_schema(table),
        "TableStatus": status,
        "CreationDateTime": round(table.created_at, 3),
        "ProvisionedThroughput": _throughput(table.throughput, now),
        "TableSizeBytes": counts[0][1],
        "ItemCount": counts[0][0],
        "TableArn": table.arn,
        "TableId": table.id,
        "DeletionProtectionEnabled": table.deletion_protection,
    }
    if status != "CREATING":
        description["WarmThroughput"] = warm_throughput(table.warm, "ACTIVE")
    if table.on_demand_since is not None:
        description["BillingModeSummary"] = {"BillingMode": table.billing_mode}
        if status != "CREATING":
            since = round(table.on_demand_since, 3)
            description["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] = since
    repeat_mode(description)
    if table.restored is not None:
        description["RestoreSummary"] = _restore_summary(table.restored)
    _add_settings(description, table)
    _add_indexes(description, table, now, counts[1:])
    return description


def _restore_summary(restored: Restored) -> dict[str, Any]:
    backup = {} if restored.backup_arn is None else {"SourceBackupArn": restored.backup_arn}
    return {
        **backup,
        "SourceTableArn": restored.table_arn,
        "RestoreDateTime": round(restored.at, 3),
        "RestoreInProgress": True,
    }


def repeat_mode(description: dict[str, Any]) -> None:
    """Repeat BillingModeSummary as TableThroughputModeSummary, a second name that no SDK knows."""
    if summary := description.get("BillingModeSummary"):
        described = dict(summary)
        mode = described.pop("BillingMode")
        description["TableThroughputModeSummary"] = {"TableThroughputMode": mode, **described}


def _add_settings(description: dict[str, Any], table: Table) -> None:
    if table.on_demand_limits:
        description["OnDemandThroughput"] = table.on_demand_limits
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
    if table.kms_key_arn:
        description["SSEDescription"] = {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": table.kms_key_arn,
        }


def _add_indexes(
    description: dict[str, Any], table: Table, now: float, counts: Sequence[tuple[int, int]]
) -> None:
    for index, (items, size) in zip(table.declared_indexes, counts, strict=True):
        shown: dict[str, Any] = {"IndexName": index.name}
        status = description["TableStatus"]
        if isinstance(index, VectorIndex):
            member = "VectorIndexes"
            shown |= _vector_index(index)
            shown |= _status(index, status)
        else:
            member = "LocalSecondaryIndexes" if index.local else "GlobalSecondaryIndexes"
            shown |= _index(index, status, now)
        shown["IndexArn"] = f"{table.arn}/index/{index.name}"
        shown["IndexSizeBytes"], shown["ItemCount"] = size, items
        description.setdefault(member, []).append(shown)


def _vector_index(index: VectorIndex) -> dict[str, Any]:
    schema = [(name, "HASH") for name in index.hash]
    schema += [(name, "INLINE_FILTER") for name in index.filters]
    shown: dict[str, Any] = {"VectorAttribute": {"AttributeName": index.attribute}}
    if schema:
        shown["SearchSchema"] = [
            {"AttributeName": name, "SearchSchemaElementType": kind} for name, kind in schema
        ]
    shown["Projection"] = _projection(index)
    shown["Dimensions"] = index.dimensions
    shown["DistanceFunction"] = index.distance
    return shown


def _projection(index: Index | VectorIndex) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.include:
        projection["NonKeyAttributes"] = list(index.include)
    return projection


def _status(index: Index | VectorIndex, table_status: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "IndexStatus": "CREATING" if table_status == "CREATING" else index.status
    }
    if index.backfilling is not None:
        shown["Backfilling"] = index.backfilling
    return shown


def _index(index: Index, table_status: str, now: float) -> dict[str, Any]:
    shown: dict[str, Any] = {"KeySchema": _key_schema(index), "Projection": _projection(index)}
    if index.local:
        return shown
    shown |= _status(index, table_status)
    status = shown["IndexStatus"]
    shown["ProvisionedThroughput"] = _throughput(index.throughput, now)
    if index.on_demand:
        shown["OnDemandThroughput"] = index.on_demand
    if table_status != "CREATING":
        state = "UPDATING" if status == "CREATING" else "ACTIVE"
        shown["WarmThroughput"] = warm_throughput(index.warm, state)
    return shown


def _key_schema(source: TableOrIndex) -> list[dict[str, str]]:
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in source.hash),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in source.range),
    ]


def _throughput(throughput: Throughput, now: float) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "NumberOfDecreasesToday": throughput.decreases_on_day_of(now),
        "ReadCapacityUnits": throughput.read,
        "WriteCapacityUnits": throughput.write,
    }
    if throughput.increased_at is not None:
        shown["LastIncreaseDateTime"] = round(throughput.increased_at, 3)
    if throughput.decreased_at is not None:
        shown["LastDecreaseDateTime"] = round(throughput.decreased_at, 3)
    return shown


def warm_throughput(warm: WarmThroughput, status: str) -> dict[str, Any]:
    return {
        "ReadUnitsPerSecond": warm.read,
        "WriteUnitsPerSecond": warm.write,
        "Status": status,
    }
