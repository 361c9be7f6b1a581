"""Code that operations on backups share: lookups of tables and backups, checks of ARNs,
descriptions."""

import re
from typing import Any

from hashrange.engine import backups, fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.backups import Backup
from hashrange.model.errors import (
    AccessDeniedException,
    BackupInUseException,
    BackupNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.tables import Table
from hashrange.operations.tables.table_description import describe

_BACKUP = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:table/[a-zA-Z0-9_.-]{3,255}/backup/.*").fullmatch
_VALID_BACKUP = re.compile(
    r"arn:aws(?:-[a-z-]+)?:dynamodb:"
    r"(?i:(?:af|ap|ca|cn|eu|il|me|mx|sa|us)-(?:gov-)?"
    r"(?:north|south|central)?(?:east|west|north|south|central)-[1-9]):"
    r".*/backup/[0-9]{14}-[0-9a-fA-F]{8}"
).fullmatch
"""Matches the ARN of a backup that could exist. The number in the ARN is a time in milliseconds."""
_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")


def table_to_back_up(named: str, moment: Moment) -> Fetch[Table]:
    """The table with this name or ARN.

    Raises TableNotFoundException if there is no such table, or if it is still being created.
    """
    table = yield from fetch.find_table(named)
    if table is None or moment.now < table.active_at:
        raise TableNotFoundException(f"Table not found: {fetch.plain_name(named)}")
    return table


def check_arn(arn: str) -> None:
    """Raises ValidationException for an ARN that no backup could have."""
    if not _BACKUP(arn):
        raise ValidationException("Invalid Backup ARN")
    if not _VALID_BACKUP(arn):
        raise ValidationException("Invalid Request: BackupArn is not valid")


def backup(arn: str, moment: Moment) -> Fetch[Backup]:
    """The backup with this ARN.

    Raises AccessDeniedException if it belongs to another account, and BackupNotFoundException if it
    does not exist.
    """
    if arn.split(":")[4] != moment.caller.account:
        raise AccessDeniedException("Access is denied")
    stored = yield from backups.find(arn)
    if stored is None or stored.kind == "RESTORE":
        raise BackupNotFoundException(f"Backup not found: {arn}")
    return stored


def unused(arn: str, moment: Moment) -> Fetch[Backup]:
    """The backup with this ARN. Raises BackupInUseException if a restore is using it; the message
    is a guess."""
    stored = yield from backup(arn, moment)
    if stored.restoring is not None:
        raise BackupInUseException(f"Backup is being restored: {arn}")
    return stored


def details(backup: Backup, status: str) -> dict[str, Any]:
    """The BackupDetails of a backup. A BackupSummary also has the name, id and ARN of the table."""
    shown: dict[str, Any] = {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size_bytes,
        "BackupStatus": status,
        "BackupType": backup.kind,
        "BackupCreationDateTime": round(backup.created_at, 3),
    }
    if backup.expires_at is not None:
        shown["BackupExpiryDateTime"] = round(backup.expires_at, 3)
    return shown


def description(backup: Backup, status: str) -> dict[str, Any]:
    table = backup.table
    described = describe(table, backup.created_at, "ACTIVE")
    source: dict[str, Any] = {
        "TableName": table.name,
        "TableId": table.id,
        "TableArn": table.arn,
        "TableSizeBytes": backup.size_bytes,
        "KeySchema": described["KeySchema"],
        "TableCreationDateTime": round(table.created_at, 3),
        "ProvisionedThroughput": units(described),
        "ItemCount": backup.items,
        "BillingMode": table.billing_mode,
    }
    if table.on_demand_limits:
        source["OnDemandThroughput"] = table.on_demand_limits
    return {
        "BackupDetails": details(backup, status),
        "SourceTableDetails": source,
        "SourceTableFeatureDetails": _features(backup, described),
    }


def units(described: dict[str, Any]) -> dict[str, int]:
    """The ProvisionedThroughput of a request, made from the description of a table or index."""
    return {name: described["ProvisionedThroughput"][name] for name in _UNITS}


def shape(index: dict[str, Any]) -> dict[str, Any]:
    """The parts of an index's description that determine the content of the index."""
    names = ("KeySchema", "VectorAttribute", "SearchSchema", "Projection", "Dimensions")
    return {name: index[name] for name in (*names, "DistanceFunction") if name in index}


def _features(backup: Backup, described: dict[str, Any]) -> dict[str, Any]:
    table = backup.table
    features: dict[str, Any] = {}
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes"):
        if member in described:
            features[member] = [_index(index) for index in described[member]]
    if "StreamSpecification" in described:
        features["StreamDescription"] = described["StreamSpecification"]
    if table.ttl is not None:
        features["TimeToLiveDescription"] = {
            "TimeToLiveStatus": "ENABLED",
            "AttributeName": table.ttl.attribute,
        }
    if "SSEDescription" in described:
        features["SSEDescription"] = described["SSEDescription"]
    return features


def _index(index: dict[str, Any]) -> dict[str, Any]:
    shown = {"IndexName": index["IndexName"], **shape(index)}
    if "ProvisionedThroughput" in index:
        shown["ProvisionedThroughput"] = units(index)
    if "OnDemandThroughput" in index:
        shown["OnDemandThroughput"] = index["OnDemandThroughput"]
    return shown
