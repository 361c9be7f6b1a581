"""CreateBackup, DescribeBackup, ListBackups and DeleteBackup.

A backup has the table's items as of the commit of CreateBackup. They are copied afterwards, in
steps. The backup is AVAILABLE at once, because a restore waits for the copy.
"""

from hashrange.engine import backups, fetch
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model.backups import Backup
from hashrange.model.errors import ValidationException
from hashrange.operations.backups import sources
from hashrange.operations.operation import Json

LIST_MAX = 100


def create(request: Json, moment: Moment) -> Decide:
    table = yield from sources.table_to_back_up(request["TableName"], moment)
    name = request["BackupName"]
    backup, _, changes = yield from backups.begin(table, name, "USER", moment, None, 0)
    return Decision(changes, {"BackupDetails": sources.details(backup, "CREATING")})


def describe(request: Json, moment: Moment) -> Decide:
    backup = yield from sources.backup(request["BackupArn"], moment)
    return answer({"BackupDescription": sources.description(backup, "AVAILABLE")})


def delete(request: Json, moment: Moment) -> Decide:
    backup = yield from sources.unused(request["BackupArn"], moment)
    if backup.kind == "SYSTEM":
        # The service refuses it too; its message is not known.
        raise ValidationException("Invalid Request: A system backup cannot be deleted")
    changes = yield from backups.delete(backup)
    return Decision(changes, {"BackupDescription": sources.description(backup, "DELETED")})


def listed(request: Json, moment: Moment) -> Decide:
    """A page of backups. The lower bound of the creation time is inclusive, the upper bound
    exclusive."""
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise invalid_parameter("Time range lower bound must be less than or equal to upper bound")
    wanted = [each for each in (yield from backups.listed()) if _is_wanted(each, request)]
    start = request.get("ExclusiveStartBackupArn")
    if start is not None:
        sources.check_arn(start)
        wanted = [each for each in wanted if _place(each.arn) > _place(start)]
    limit = request.get("Limit", LIST_MAX)
    shown = wanted[:limit]
    summaries = [
        {
            "TableName": each.table.name,
            "TableId": each.table.id,
            "TableArn": each.table.arn,
            **sources.details(each, "AVAILABLE"),
        }
        for each in shown
    ]
    last = {"LastEvaluatedBackupArn": shown[-1].arn} if len(wanted) > limit else {}
    return answer({"BackupSummaries": summaries, **last})


def _is_wanted(backup: Backup, request: Json) -> bool:
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    created = round(backup.created_at, 3)
    kind = request.get("BackupType", "USER")
    return (
        backup.kind != "RESTORE"
        and kind in (backup.kind, "ALL")
        and fetch.plain_name(request.get("TableName", backup.table.name)) == backup.table.name
        and (lower is None or created >= lower)
        and (upper is None or created < upper)
    )


def _place(arn: str) -> tuple[str, str]:
    """The sort key of a backup in lists: its id, which begins with its time, then its table's
    name."""
    table_arn, _, id_ = arn.rpartition("/backup/")
    return id_, fetch.plain_name(table_arn)
