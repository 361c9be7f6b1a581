"""RestoreTableFromBackup and RestoreTableToPointInTime: a new table with the items of another.

The new table has the keys of the source and, unless the request overrides them, its indexes,
billing mode, throughput and encryption. It is CREATING until all items have been put into it, in
steps. Messages marked as assumed are guesses: those of DynamoDB are not known.
"""

from datetime import UTC, datetime
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace

from hashrange.engine import backups, fetch
from hashrange.engine.decision import AnyChange, BackupChange, Decide, Decision, TableChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.backups import Backup, Restoring
from hashrange.model.errors import (
    InvalidRestoreTimeException,
    LimitExceededException,
    PointInTimeRecoveryUnavailableException,
    TableAlreadyExistsException,
    TableInUseException,
    ValidationException,
)
from hashrange.model.recovery import Recovery, Restored
from hashrange.model.tables import Table
from hashrange.operations.backups import sources
from hashrange.operations.backups.continuous import latest
from hashrange.operations.operation import Json
from hashrange.operations.tables import create_table
from hashrange.operations.tables.table_description import describe

RESTORES_MAX = 50
"""The largest number of restores in progress. Source: developer guide, service quotas."""
RESTORING = 253_402_300_799.0
"""The time, in the year 9999, at which a table that is being restored would become ACTIVE. The end
of the restore makes it ACTIVE before then."""
_INDEXES = {
    "LocalSecondaryIndexes": "LocalSecondaryIndexOverride",
    "GlobalSecondaryIndexes": "GlobalSecondaryIndexOverride",
    "VectorIndexes": "VectorIndexOverride",
}


def from_backup(request: Json, moment: Moment) -> Decide:
    backup = yield from sources.unused(request["BackupArn"], moment)
    yield from _check_target(request["TargetTableName"])
    creation = _creation(backup.table, request)
    at = Restored(backup.table.arn, backup.arn, backup.created_at)
    table, changes = yield from _created(creation, at, moment)
    restored = replace(backup, restoring=Restoring(table.name, table.id))
    return _answer(table, [*changes, BackupChange(backup, restored)], moment)


def to_point_in_time(request: Json, moment: Moment) -> Decide:
    members = [request[each] for each in ("SourceTableArn", "SourceTableName") if each in request]
    if not members:
        raise ValidationException(
            "The parameter 'TableName' is required but was not present in the request"
        )
    if len(members) == 2:
        raise ValidationException("Must provide exactly one of: sourceTableArn, sourceTableName")
    _check_time(request)
    source = yield from sources.table_to_back_up(members[0], moment)
    if source.recovery is None:
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{source.name}'"
        )
    at = _time(request, source.recovery, moment)
    yield from _check_target(request["TargetTableName"])
    creation = _creation(source, request)
    table, changes = yield from _created(creation, Restored(source.arn, None, at), moment)
    copied = yield from _state(source, at, table, create_table.spaces_needed(creation.body), moment)
    return _answer(table, [*changes, *copied], moment)


def _state(
    source: Table, at: float, target: Table, spaces: int, moment: Moment
) -> Fetch[list[AnyChange]]:
    """The changes that begin a hidden backup of the source as of the time `at`.

    The present rows of the source are copied, and then all changes after `at` are undone in the
    copy.
    """
    restoring = Restoring(target.name, target.id)
    backup, changed, _ = yield from backups.begin(
        source, target.name, "RESTORE", moment, restoring, spaces
    )
    assert backup.copying is not None, "a backup must begin with a copy"
    copying = replace(backup.copying, after=ceil(at * 1000))
    hidden: Backup = replace(backup, copying=copying)
    return [BackupChange(None, hidden, (hidden.space,)), TableChange(source, changed)]


def _check_time(request: Json) -> None:
    """Raises ValidationException unless the request has either RestoreDateTime or
    UseLatestRestorableTime."""
    newest, chosen = request.get("UseLatestRestorableTime"), request.get("RestoreDateTime")
    if not newest and chosen is None:
        raise ValidationException(
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be "
            "specified, but not both"
        )
    if newest and chosen is not None:
        raise ValidationException(
            "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for "
            "point-in-time restore request. Please specify either RestoreDateTime time or "
            "UseLatestRestorableTime"
        )


def _time(request: Json, recovery: Recovery, moment: Moment) -> float:
    first, last = recovery.earliest(moment.now), latest(recovery, moment.now)
    at = float(request.get("RestoreDateTime", last))
    if not round(first, 3) <= round(at, 3) <= round(last, 3):
        raise InvalidRestoreTimeException(
            f"RestoreDateTime '{_text(at)}' must be within EarliestRestorableDateTime "
            f"'{_text(first)}' and LatestRestorableDateTime '{_text(last)}'"
        )
    return at


def _text(time: float) -> str:
    try:
        shown = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):  # a year out of range
        return f"{time:.3f}"
    return f"{shown.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


# ---- the new table ----


def _check_target(name: str) -> Fetch[None]:
    there = yield from fetch.find_table(name)
    if there is not None:
        if there.restored is not None:
            raise TableInUseException(f"Table is being restored: {name}")  # assumed
        raise TableAlreadyExistsException(f"Table already exists: {name}")
    listed = yield from backups.listed()
    if sum(each.restoring is not None for each in listed) >= RESTORES_MAX:
        raise LimitExceededException(
            f"Subscriber limit exceeded: at most {RESTORES_MAX} restores at once"  # assumed
        )


def _created(
    creation: Any, restored: Restored, moment: Moment
) -> Fetch[tuple[Table, list[AnyChange]]]:
    """The new table, which is CREATING until the restore ends, and the changes that create it."""
    created = yield from create_table.decide(creation, moment)
    changes = list(created.changes)
    [change] = [each for each in changes if isinstance(each, TableChange)]
    assert change.new is not None, "the change must create a table"
    table = replace(change.new, active_at=RESTORING, restored=restored)
    return table, [TableChange(None, table)]


def _answer(table: Table, changes: list[AnyChange], moment: Moment) -> Decision:
    return Decision(changes, {"TableDescription": describe(table, moment.now, "CREATING")})


def _creation(source: Table, request: Json) -> create_table.Request:
    """The request to CreateTable that makes the new table. Raises ValidationException if it is
    invalid."""
    described = describe(source, source.created_at, "ACTIVE")
    mode = request.get("BillingModeOverride") or source.billing_mode
    on_demand = mode == "PAY_PER_REQUEST"
    body: dict[str, Any] = {
        "TableName": request["TargetTableName"],
        "KeySchema": described["KeySchema"],
        "BillingMode": mode,
    }
    if "ProvisionedThroughputOverride" in request:
        body["ProvisionedThroughput"] = request["ProvisionedThroughputOverride"]
    elif not on_demand and not source.on_demand:
        body["ProvisionedThroughput"] = sources.units(described)
    limits = request.get("OnDemandThroughputOverride") or (on_demand and source.on_demand_limits)
    if limits:
        body["OnDemandThroughput"] = limits
    for member, override in _INDEXES.items():
        if indexes := _indexes(described.get(member, []), request.get(override), on_demand):
            body[member] = indexes
    if "SSESpecificationOverride" in request:
        body["SSESpecification"] = request["SSESpecificationOverride"]
    elif source.kms_key_arn:
        body["SSESpecification"] = {
            "Enabled": True,
            "SSEType": "KMS",
            "KMSMasterKeyId": source.kms_key_arn,
        }
    body["AttributeDefinitions"] = _definitions(source, body)
    return create_table.parse(msgspec.json.encode(body))


def _indexes(
    described: list[dict[str, Any]], override: list[dict[str, Any]] | None, on_demand: bool
) -> list[dict[str, Any]]:
    """The indexes of the new table: those of `override`, or all indexes of the source if it is
    None.

    Raises ValidationException if an index in `override` matches no index of the source.
    """
    if override is None:
        return [_kept(index, on_demand) for index in described]
    there = [_normal(sources.shape(index)) for index in described]
    for number, index in enumerate(override):
        if _normal(sources.shape(index)) not in there:
            raise ValidationException(
                f"Index {number} does not match a secondary index that existed in the source table"
            )
    return override


def _kept(index: dict[str, Any], on_demand: bool) -> dict[str, Any]:
    kept = {"IndexName": index["IndexName"], **sources.shape(index)}
    capacity = index.get("ProvisionedThroughput")
    if capacity and not on_demand and capacity["ReadCapacityUnits"]:
        kept["ProvisionedThroughput"] = sources.units(index)
    if on_demand and "OnDemandThroughput" in index:
        kept["OnDemandThroughput"] = index["OnDemandThroughput"]
    return kept


def _normal(shape: dict[str, Any]) -> dict[str, Any]:
    """An index's shape with sorted NonKeyAttributes, so that shapes can be compared."""
    projection = dict(shape.get("Projection") or {})
    if "NonKeyAttributes" in projection:
        projection["NonKeyAttributes"] = sorted(projection["NonKeyAttributes"])
    return {**shape, "Projection": projection}


def _definitions(source: Table, body: dict[str, Any]) -> list[dict[str, str]]:
    """The definitions of the attributes in the keys of the new table and its indexes."""
    schemas = [body["KeySchema"]]
    for member in _INDEXES:
        for index in body.get(member, ()):
            schemas += [index.get("KeySchema") or [], index.get("SearchSchema") or []]
    names = {element["AttributeName"] for schema in schemas for element in schema}
    return [
        {"AttributeName": name, "AttributeType": type_}
        for name, type_ in source.types.items()
        if name in names
    ]
