"""Backups and point-in-time recovery."""

from typing import Any

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.errors import (
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.tables import Recovery, Table
from hashrange.operations.unsupported.refusals import Request, not_supported

DAYS = 35
"""The recovery period of a table, if none is given."""
LATENESS_SECONDS = 300
_NOTE = (
    "point-in-time recovery of {} is kept as told, since unsupported features are accepted: it "
    "allows exports, and nothing can be restored"
)


def _table_to_back_up(named: str, shown: str, moment: Moment) -> Fetch[Table]:
    """The table with this name or ARN, whose creation has ended.

    Raises TableNotFoundException, whose message names the table as `shown`.
    """
    table = yield from fetch.find_table(named)
    if table is None or moment.now < table.active_at:
        raise TableNotFoundException(f"Table not found: {shown}")
    return table


def create(request: Request, moment: Moment) -> Decide:
    named = request["TableName"]
    yield from _table_to_back_up(named, fetch.plain_name(named), moment)
    raise not_supported("CreateBackup")


def restore_to_point_in_time(request: Request, moment: Moment) -> Decide:
    given = [request[each] for each in ("SourceTableArn", "SourceTableName") if each in request]
    if not given:
        raise ValidationException(
            "The parameter 'TableName' is required but was not present in the request"
        )
    if len(given) == 2:
        raise ValidationException("Must provide exactly one of: sourceTableArn, sourceTableName")
    _check_time(request)
    [named] = given
    table = yield from _table_to_back_up(named, fetch.plain_name(named), moment)
    if table.recovery is not None:
        raise not_supported("RestoreTableToPointInTime")
    raise _not_recoverable(table)


def _check_time(request: Request) -> None:
    """Raises ValidationException unless the request gives a time, or asks for the latest."""
    latest, given = request.get("UseLatestRestorableTime"), request.get("RestoreDateTime")
    if not latest and given is None:
        raise ValidationException(
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be "
            "specified, but not both"
        )
    if latest and given is not None:
        raise ValidationException(
            "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for "
            "point-in-time restore request. Please specify either RestoreDateTime time or "
            "UseLatestRestorableTime"
        )


def _not_recoverable(table: Table) -> PointInTimeRecoveryUnavailableException:
    return PointInTimeRecoveryUnavailableException(
        f"Point in time recovery is not enabled for table '{table.name}'"
    )


def update_continuous(request: Request, moment: Moment) -> Decide:
    """Recovery can be enabled only if what the database does not have is accepted.

    Then it allows exports, and nothing can be restored.
    """
    wanted = request["PointInTimeRecoverySpecification"]
    enabled, days = wanted["PointInTimeRecoveryEnabled"], wanted.get("RecoveryPeriodInDays")
    if not enabled and days is not None:
        raise ValidationException(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time "
            "recovery."
        )
    named = request["TableName"]
    table = yield from _table_to_back_up(named, fetch.plain_name(named), moment)
    if enabled and not moment.settings.accept_unsupported:
        raise not_supported("UpdateContinuousBackups")
    before, after = table.recovery, None
    if enabled:
        kept = before.days if before else DAYS
        after = Recovery(before.since if before else moment.now, days or kept)
    response = _description(after, moment, "ENABLED")
    if after == before:
        return answer(response)
    note = None if after is None else _NOTE.format(table.name)
    return Decision([TableChange(table, replace(table, recovery=after))], response, note=note)


def describe_continuous(request: Request, moment: Moment) -> Decide:
    """The description of the backups of a table, which may still be being created."""
    named = fetch.plain_name(request["TableName"])
    table = yield from fetch.find_table(named)
    if table is None:
        raise TableNotFoundException(f"Table not found: {named}")
    status = "DISABLED" if moment.now < table.active_at else "ENABLED"
    return answer(_description(table.recovery, moment, status))


def _description(recovery: Recovery | None, moment: Moment, status: str) -> dict[str, Any]:
    described: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None:
        described = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "EarliestRestorableDateTime": recovery.since,
            "LatestRestorableDateTime": max(recovery.since, moment.now - LATENESS_SECONDS),
            "RecoveryPeriodInDays": recovery.days,
        }
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": status,
            "PointInTimeRecoveryDescription": described,
        }
    }
