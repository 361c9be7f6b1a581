"""Operations on what this server does not have: what there is to see, and what cannot be done.

Infrastructure tools ask for backups, replicas, exports and policies of every table. Describe and
List operations answer the true empty state. Operations that would start work are refused; none
pretends success.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.model.errors import (
    ApiError,
    BackupNotFoundException,
    ExportNotFoundException,
    GlobalTableNotFoundException,
    ImportNotFoundException,
    PolicyNotFoundException,
    ResourceNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.tables import Table
from hashrange.model.validation import validate
from hashrange.operations.operation import Operation

Request = dict[str, Any]

LISTS: dict[str, str] = {
    "ListBackups": "BackupSummaries",
    "ListBulkOperations": "BulkOperationsSummaryList",
    "ListContributorInsights": "ContributorInsightsSummaries",
    "ListExports": "ExportSummaries",
    "ListGlobalTables": "GlobalTables",
    "ListImports": "ImportSummaryList",
}
"""The member that is an empty list."""

NOT_FOUND: dict[str, tuple[type[ApiError], str, str]] = {
    "DescribeBackup": (BackupNotFoundException, "Backup not found: {}", "BackupArn"),
    "DescribeBulkOperation": (
        ResourceNotFoundException,
        "Requested resource not found: Bulk operation: {} not found",
        "BulkOperationArn",
    ),
    "DescribeExport": (ExportNotFoundException, "Export not found: {}", "ExportArn"),
    "DescribeGlobalTable": (
        GlobalTableNotFoundException,
        "Global table not found: Global table with name: '{}' does not exist",
        "GlobalTableName",
    ),
    "DescribeGlobalTableSettings": (
        GlobalTableNotFoundException,
        "Global table not found: Global table with name: '{}' does not exist",
        "GlobalTableName",
    ),
    "DescribeImport": (ImportNotFoundException, "Import not found: {}", "ImportArn"),
}
"""The error, its message, and the member that names what is not there."""

UNSUPPORTED = (
    "CancelBulkOperation",
    "CreateBackup",
    "CreateGlobalTable",
    "DeleteBackup",
    "DeleteResourcePolicy",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "ImportTable",
    "PutResourcePolicy",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "SearchVectors",
    "StartBulkPutItems",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
)


def _list(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    return answer({LISTS[name]: []})


def _not_found(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    error, message, member = NOT_FOUND[name]
    raise error(message.format(request[member]))


def _unsupported(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    raise ValidationException(f"{name} is not supported by this server")


def _continuous_backups(request: Request, moment: Moment) -> Decide:
    if (yield from fetch.find_table(request["TableName"])) is None:
        name = fetch.plain_name(request["TableName"])
        raise TableNotFoundException(f"Table not found: {name}")
    off = {"PointInTimeRecoveryStatus": "DISABLED"}
    description = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": off}
    return answer({"ContinuousBackupsDescription": description})


def _of_table(show: Callable[[Table, Request, Moment], Response]) -> Callable[..., Decide]:
    """A description that every table has."""

    def decide(request: Request, moment: Moment) -> Decide:
        table = yield from fetch.described_table(request["TableName"])
        return answer(show(table, request, moment))

    return decide


def _contributor_insights(table: Table, request: Request, moment: Moment) -> Response:
    index = request.get("IndexName")
    if index is not None and table.index(index) is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: Table: {table.name} Index: {index} not found"
        )
    of_index = {} if index is None else {"IndexName": index}
    return {"TableName": table.name, **of_index, "ContributorInsightsStatus": "DISABLED"}


def _kinesis_destinations(table: Table, request: Request, moment: Moment) -> Response:
    return {"TableName": table.name, "KinesisDataStreamDestinations": []}


def _replica_auto_scaling(table: Table, request: Request, moment: Moment) -> Response:
    description = {
        "TableName": table.name,
        "TableStatus": table.status(moment.now),
        "Replicas": [],
    }
    return {"TableAutoScalingDescription": description}


def _resource_policy(request: Request, moment: Moment) -> Decide:
    arn = request["ResourceArn"]
    if (yield from fetch.find_table(arn)) is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourceArn: {arn} not found"
        )
    raise PolicyNotFoundException(
        f"Resource-based policy not found for the provided ResourceArn: {arn}"
    )


def _all() -> dict[str, Callable[[Request, Moment], Decide]]:
    return {
        **{name: partial(_list, name) for name in LISTS},
        **{name: partial(_not_found, name) for name in NOT_FOUND},
        **{name: partial(_unsupported, name) for name in UNSUPPORTED},
        "DescribeContinuousBackups": _continuous_backups,
        "DescribeContributorInsights": _of_table(_contributor_insights),
        "DescribeKinesisStreamingDestination": _of_table(_kinesis_destinations),
        "DescribeTableReplicaAutoScaling": _of_table(_replica_auto_scaling),
        "GetResourcePolicy": _resource_policy,
    }


OPERATIONS = {
    name: Operation(name, partial(validate, name), decide) for name, decide in _all().items()
}
