"""Backups, point-in-time recovery and exports."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.errors import (
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.tables import Table
from hashrange.operations.unsupported.refusals import Request, not_supported


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


def export(request: Request, moment: Moment) -> Decide:
    arn = request["TableArn"]
    if not arn.startswith("arn:"):
        raise ValidationException("Invalid TableArn: Invalid Table ARN")
    table = yield from _table_to_back_up(arn, arn, moment)
    raise _not_recoverable(table)


def _not_recoverable(table: Table) -> PointInTimeRecoveryUnavailableException:
    return PointInTimeRecoveryUnavailableException(
        f"Point in time recovery is not enabled for table '{table.name}'"
    )


def update_continuous(request: Request, moment: Moment) -> Decide:
    """Recovery can be disabled, which it is already, but not enabled."""
    wanted = request["PointInTimeRecoverySpecification"]
    enabled = wanted["PointInTimeRecoveryEnabled"]
    if not enabled and wanted.get("RecoveryPeriodInDays") is not None:
        raise ValidationException(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time "
            "recovery."
        )
    named = request["TableName"]
    yield from _table_to_back_up(named, fetch.plain_name(named), moment)
    if enabled:
        raise not_supported("UpdateContinuousBackups")
    return (yield from describe_continuous(request, moment))


def describe_continuous(request: Request, moment: Moment) -> Decide:
    """The description of the backups of a table, which may still be being created."""
    named = fetch.plain_name(request["TableName"])
    table = yield from fetch.find_table(named)
    if table is None:
        raise TableNotFoundException(f"Table not found: {named}")
    description = {
        "ContinuousBackupsStatus": "DISABLED" if moment.now < table.active_at else "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }
    return answer({"ContinuousBackupsDescription": description})
