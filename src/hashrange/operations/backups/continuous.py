"""UpdateContinuousBackups and DescribeContinuousBackups: point-in-time recovery of a table.

While point-in-time recovery is enabled, the table has a history (`engine.history`).
"""

from typing import Any

from msgspec.structs import replace

from hashrange.engine import backups, fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.errors import TableNotFoundException, ValidationException
from hashrange.model.recovery import History, Recovery
from hashrange.model.tables import Table
from hashrange.operations.backups import sources
from hashrange.operations.operation import Json

DAYS = 35
"""The default recovery period of a table, in days."""
LATENESS_SECONDS = 300


def latest(recovery: Recovery, now: float) -> float:
    """The latest time to which a table can be restored, in epoch seconds."""
    return max(recovery.since, now - LATENESS_SECONDS)


def update(request: Json, moment: Moment) -> Decide:
    wanted = request["PointInTimeRecoverySpecification"]
    enabled, days = wanted["PointInTimeRecoveryEnabled"], wanted.get("RecoveryPeriodInDays")
    if not enabled and days is not None:
        raise ValidationException(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time "
            "recovery."
        )
    table = yield from sources.table_to_back_up(request["TableName"], moment)
    changed = yield from (_enabled(table, days, moment) if enabled else _disabled(table))
    response = _description(changed.recovery, moment, "ENABLED")
    if changed == table:
        return answer(response)
    return Decision([TableChange(table, changed)], response)


def _recovery(table: Table, days: int | None, moment: Moment) -> Recovery:
    """The recovery settings of a table after a request that enables recovery.

    If recovery was enabled before, a longer period does not bring back changes that are older than
    the former period.
    """
    before = table.recovery
    if before is None:
        return Recovery(moment.now, days or DAYS)
    return Recovery(before.earliest(moment.now), days) if days else before


def _enabled(table: Table, days: int | None, moment: Moment) -> Fetch[Table]:
    recovery = _recovery(table, days, moment)
    if table.history is not None:
        return replace(table, recovery=recovery)
    [space] = yield from fetch.new_spaces(1)
    past = History(space, 0)
    return replace(table, recovery=replace(recovery, since=moment.now), history=past)


def _disabled(table: Table) -> Fetch[Table]:
    """The table without point-in-time recovery. Its history is kept while a backup of the table is
    being copied."""
    if table.history is None or (yield from backups.is_copied(table)):
        return replace(table, recovery=None)
    return replace(table, recovery=None, history=None)


def describe(request: Json, moment: Moment) -> Decide:
    """The description of a table's continuous backups. The table may still be CREATING."""
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
            "EarliestRestorableDateTime": round(recovery.earliest(moment.now), 3),
            "LatestRestorableDateTime": round(latest(recovery, moment.now), 3),
            "RecoveryPeriodInDays": recovery.days,
        }
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": status,
            "PointInTimeRecoveryDescription": described,
        }
    }
