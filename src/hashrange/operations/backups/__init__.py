"""Operations on on-demand backups, point-in-time recovery and restores of tables."""

from collections.abc import Callable
from functools import partial

from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.backups import continuous, on_demand, restore, sources
from hashrange.operations.operation import Json, Operation

Decision = Callable[[Json, Moment], Decide]


def _parse(name: str, body: bytes) -> Json:
    request: Json = validate(name, body)
    if "BackupArn" in request:
        sources.check_arn(request["BackupArn"])
    return request


def _operation(name: str, decide: Decision, *members: str, writes: bool = False) -> Operation:
    """An operation on backups. `members` are the members of a request that name its resources. For
    a restore, the last one names the new table."""
    find = resources.of_restore if name.startswith("Restore") else resources.of_members
    return Operation(
        name,
        partial(_parse, name),
        decide,
        writes=writes,
        random=writes,
        resources=find(name, *members),
    )


_SOURCES = ("SourceTableArn", "SourceTableName", "TargetTableName")
OPERATIONS = {
    operation.name: operation
    for operation in (
        _operation("CreateBackup", on_demand.create, "TableName", writes=True),
        _operation("DescribeBackup", on_demand.describe, "BackupArn"),
        _operation("DeleteBackup", on_demand.delete, "BackupArn", writes=True),
        _operation("ListBackups", on_demand.listed),
        _operation(
            "RestoreTableFromBackup",
            restore.from_backup,
            "BackupArn",
            "TargetTableName",
            writes=True,
        ),
        _operation("DescribeContinuousBackups", continuous.describe, "TableName"),
        _operation("UpdateContinuousBackups", continuous.update, "TableName", writes=True),
        _operation("RestoreTableToPointInTime", restore.to_point_in_time, *_SOURCES, writes=True),
    )
}
