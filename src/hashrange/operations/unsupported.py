"""Operations of features that this server does not have.

Infrastructure tools ask for the backups, replicas, exports and policies of every table. Describe
and List operations answer truthfully that there are none. Operations that would start work are
refused; none of them pretends to succeed. First they report the faults that the service would
report: a missing table, or one without point-in-time recovery, which no table has here.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.engine.log import streams
from hashrange.model.errors import (
    ApiError,
    BackupNotFoundException,
    ExportNotFoundException,
    GlobalTableNotFoundException,
    ImportNotFoundException,
    PointInTimeRecoveryUnavailableException,
    PolicyNotFoundException,
    ResourceInUseException,
    ResourceNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.limits import TOP_K_MAX
from hashrange.model.tables import Table
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Operation
from hashrange.operations.tables import resource_arns

Request = dict[str, Any]

LISTS: dict[str, str] = {
    "ListBackups": "BackupSummaries",
    "ListBulkOperations": "BulkOperationsSummaryList",
    "ListExports": "ExportSummaries",
    "ListGlobalTables": "GlobalTables",
    "ListImports": "ImportSummaryList",
}
"""The member of the response that is an empty list."""

_NO_BACKUP = (BackupNotFoundException, "Backup not found: {}", "BackupArn")
_NO_BULK_OPERATION = (
    ResourceNotFoundException,
    "Requested resource not found: Bulk operation: {} not found",
    "BulkOperationArn",
)
_NOT_GLOBAL = "Global table with name: '{}' does not exist."
_NO_GLOBAL_TABLE = (GlobalTableNotFoundException, _NOT_GLOBAL, "GlobalTableName")
_NO_REPLICAS = (ResourceNotFoundException, _NOT_GLOBAL, "TableName")
NOT_FOUND: dict[str, tuple[type[ApiError], str, str]] = {
    "CancelBulkOperation": _NO_BULK_OPERATION,
    "DeleteBackup": _NO_BACKUP,
    "DescribeBackup": _NO_BACKUP,
    "DescribeBulkOperation": _NO_BULK_OPERATION,
    "DescribeExport": (ExportNotFoundException, "Export not found: {}", "ExportArn"),
    "DescribeGlobalTable": (
        GlobalTableNotFoundException,
        f"Global table not found: {_NOT_GLOBAL}",
        "GlobalTableName",
    ),
    "DescribeGlobalTableSettings": _NO_GLOBAL_TABLE,
    "DescribeImport": (ImportNotFoundException, "Import not found: {}", "ImportArn"),
    "DescribeTableReplicaAutoScaling": _NO_REPLICAS,
    "RestoreTableFromBackup": _NO_BACKUP,
    "UpdateGlobalTableSettings": _NO_GLOBAL_TABLE,
    "UpdateTableReplicaAutoScaling": _NO_REPLICAS,
}
"""The error, its message, and the member that names the absent resource."""
_KINDS = {
    "BackupArn": "backup",
    "BulkOperationArn": "bulk-operation",
    "ExportArn": "export",
    "ImportArn": "import",
}
"""The part of an ARN after the table's name."""
_TABLE_ARN = r"arn:aws[^:]*:dynamodb:.+:table/[a-zA-Z0-9_.-]{3,255}"
_BACKUP = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:table/[a-zA-Z0-9_.-]{3,255}/backup/.*").fullmatch
_VALID_BACKUP = re.compile(
    r"arn:aws(?:-[a-z-]+)?:dynamodb:"
    r"(?i:(?:af|ap|ca|cn|eu|il|me|mx|sa|us)-(?:gov-)?"
    r"(?:north|south|central)?(?:east|west|north|south|central)-[1-9]):"
    r".*/backup/[0-9]{14}-[0-9a-fA-F]{8}"
).fullmatch
"""The ARN of a backup that could exist. The number in it is a time in milliseconds."""

UNSUPPORTED = (
    "CreateBackup",
    "EnableKinesisStreamingDestination",
    "ImportTable",
    "PutResourcePolicy",
    "SearchVectors",
    "StartBulkPutItems",
)
"""Operations that are always refused. Some of them look for the table or stream first."""


def _list(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise invalid_parameter("Time range lower bound must be less than or equal to upper bound")
    if "NextToken" in request:  # no page has ever had one
        token = request["NextToken"]
        raise ValidationException(f"Invalid Request: Provided nextToken is invalid: {token}")
    return answer({LISTS[name]: []})


def _not_found(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    error, message, member = NOT_FOUND[name]
    kind, named = _KINDS.get(member), request[member]
    if kind is None:
        raise error(message.format(fetch.plain_name(named)))
    if kind == "backup":
        _check_backup(named)
    elif not re.fullmatch(rf"{_TABLE_ARN}/{kind}/.+", named):
        raise ValidationException(f"Invalid {kind.replace('-', ' ').title()} ARN")
    raise error(message.format(named))


def _check_backup(arn: str) -> None:
    """Raises ValidationException for an ARN that no backup could have."""
    if not _BACKUP(arn):
        raise ValidationException("Invalid Backup ARN")
    if not _VALID_BACKUP(arn):
        raise ValidationException("Invalid Request: BackupArn is not valid")


def _update_global_table(request: Request, moment: Moment) -> Decide:
    """There is no global table of the old version, to add a replica to or to remove one from."""
    if not all(request["ReplicaUpdates"]) or not request["ReplicaUpdates"]:
        raise ValidationException("One or more parameter values were invalid")
    if any("Create" in update for update in request["ReplicaUpdates"]):
        yield from _create_global_table(request, moment)
    raise GlobalTableNotFoundException(_NOT_GLOBAL.format(request["GlobalTableName"]))


def _create_global_table(request: Request, moment: Moment) -> Decide:
    """The service has given up this version of global tables."""
    yield from ()
    raise invalid_parameter(
        "DynamoDB global tables version 2017.11.29 is not supported. We recommend using DynamoDB "
        "global tables version 2019.11.21, instead of version 2017.11.29 (Legacy)."
    )


def _not_supported(name: str) -> ValidationException:
    return ValidationException(f"{name} is not supported by this server")


def _unsupported(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    raise _not_supported(name)


# ---- backups and point-in-time recovery ----


def _table_to_back_up(named: str, shown: str, moment: Moment) -> Fetch[Table]:
    """The table with this name or ARN, whose creation has ended.

    Raises TableNotFoundException, whose message names the table as `shown`.
    """
    table = yield from fetch.find_table(named)
    if table is None or moment.now < table.active_at:
        raise TableNotFoundException(f"Table not found: {shown}")
    return table


def _create_backup(request: Request, moment: Moment) -> Decide:
    named = request["TableName"]
    yield from _table_to_back_up(named, fetch.plain_name(named), moment)
    raise _not_supported("CreateBackup")


def _import_table(request: Request, moment: Moment) -> Decide:
    """An import creates its table, so the name must not be taken."""
    name = request["TableCreationParameters"]["TableName"]
    if (yield from fetch.find_table(name)) is not None:
        raise ResourceInUseException(f"Table already exists: {fetch.plain_name(name)}")
    raise _not_supported("ImportTable")


def _restore_to_point_in_time(request: Request, moment: Moment) -> Decide:
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


def _export(request: Request, moment: Moment) -> Decide:
    arn = request["TableArn"]
    if not arn.startswith("arn:"):
        raise ValidationException("Invalid TableArn: Invalid Table ARN")
    table = yield from _table_to_back_up(arn, arn, moment)
    raise _not_recoverable(table)


def _not_recoverable(table: Table) -> PointInTimeRecoveryUnavailableException:
    return PointInTimeRecoveryUnavailableException(
        f"Point in time recovery is not enabled for table '{table.name}'"
    )


def _update_continuous_backups(request: Request, moment: Moment) -> Decide:
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
        raise _not_supported("UpdateContinuousBackups")
    return (yield from _continuous_backups(request, moment))


def _continuous_backups(request: Request, moment: Moment) -> Decide:
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


# ---- vectors ----


def _search_vectors(request: Request, moment: Moment) -> Decide:
    if request["TopK"] > TOP_K_MAX:
        raise ValidationException(
            f"Provided TopK value '{request['TopK']}' is out of valid range. The value must be "
            f"between 1 and {TOP_K_MAX} inclusive"
        )
    yield from fetch.table(request["TableName"], moment)
    raise _not_supported("SearchVectors")


# ---- Kinesis destinations and policies ----


def _of_table(show: Callable[[Table, Request, Moment], Response]) -> Callable[..., Decide]:
    """Returns the decide function of an operation that describes a table."""

    def decide(request: Request, moment: Moment) -> Decide:
        table = yield from fetch.described_table(request["TableName"])
        return answer(show(table, request, moment))

    return decide


def _kinesis_destinations(table: Table, request: Request, moment: Moment) -> Response:
    return {"TableName": table.name, "KinesisDataStreamDestinations": []}


def _enable_destination(table: Table, request: Request, moment: Moment) -> Response:
    raise _not_supported("EnableKinesisStreamingDestination")


def _no_destination(state: str) -> Callable[[Table, Request, Moment], Response]:
    """Refuses operations that need an active Kinesis destination."""

    def show(table: Table, request: Request, moment: Moment) -> Response:
        raise ValidationException(
            "Table is not in a valid state to enable Kinesis Streaming Destination: "
            + state.format(table=table.name, stream=request["StreamArn"])
        )

    return show


def _resource_policy(request: Request, moment: Moment) -> Decide:
    arn = request["ResourceArn"]
    yield from _with_policy(arn)
    raise PolicyNotFoundException(
        f"Resource-based policy not found for the provided ResourceArn: {arn}"
    )


def _put_resource_policy(request: Request, moment: Moment) -> Decide:
    yield from _with_policy(request["ResourceArn"])
    raise _not_supported("PutResourcePolicy")


def _delete_resource_policy(request: Request, moment: Moment) -> Decide:
    """Deleting a policy that does not exist succeeds."""
    yield from _with_policy(request["ResourceArn"])
    return answer({})


def _with_policy(arn: str) -> Fetch[None]:
    """Raises an error if the table or stream that might have a policy does not exist."""
    name, label = resource_arns.parse(arn)
    table = yield from fetch.described_table(name)
    if label is not None and (yield from streams.find(f"{table.arn}/stream/{label}")) is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: Stream: {label} not found for Table: {name}"
        )


def _all() -> dict[str, Callable[[Request, Moment], Decide]]:
    return {
        **{name: partial(_list, name) for name in LISTS},
        **{name: partial(_not_found, name) for name in NOT_FOUND},
        **{name: partial(_unsupported, name) for name in UNSUPPORTED},
        "CreateBackup": _create_backup,
        "ImportTable": _import_table,
        "SearchVectors": _search_vectors,
        "CreateGlobalTable": _create_global_table,
        "UpdateGlobalTable": _update_global_table,
        "DescribeContinuousBackups": _continuous_backups,
        "UpdateContinuousBackups": _update_continuous_backups,
        "ExportTableToPointInTime": _export,
        "RestoreTableToPointInTime": _restore_to_point_in_time,
        "EnableKinesisStreamingDestination": _of_table(_enable_destination),
        "DescribeKinesisStreamingDestination": _of_table(_kinesis_destinations),
        "DisableKinesisStreamingDestination": _of_table(
            _no_destination(
                "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
            )
        ),
        "UpdateKinesisStreamingDestination": _of_table(
            _no_destination(
                "No streaming destination with streamArn: {stream} found for table with "
                "tableName: {table}"
            )
        ),
        "GetResourcePolicy": _resource_policy,
        "PutResourcePolicy": _put_resource_policy,
        "DeleteResourcePolicy": _delete_resource_policy,
    }


RESOURCES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(LISTS, ()),
    **{name: (member,) for name, (_, _, member) in NOT_FOUND.items()},
    "CreateGlobalTable": ("GlobalTableName",),
    "UpdateGlobalTable": ("GlobalTableName",),
    "DeleteResourcePolicy": ("ResourceArn",),
    "ExportTableToPointInTime": ("TableArn",),
    "GetResourcePolicy": ("ResourceArn",),
    "ImportTable": ("TableCreationParameters",),
    "PutResourcePolicy": ("ResourceArn",),
    "RestoreTableFromBackup": ("BackupArn", "TargetTableName"),
    "RestoreTableToPointInTime": ("SourceTableArn", "SourceTableName", "TargetTableName"),
}
"""The members that name the resources of a request. For other operations it is TableName."""


def _operation(name: str, decide: Callable[[Request, Moment], Decide]) -> Operation:
    members = RESOURCES.get(name, ("TableName",))
    return Operation(
        name,
        partial(validate, name),
        decide,
        resources=resources.of_members(name, *members),
    )


OPERATIONS = {name: _operation(name, decide) for name, decide in _all().items()}
