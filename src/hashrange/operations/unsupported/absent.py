"""Backups and global tables: there are none.

Lists of them are empty, and a request for one of them gets the error that it does not exist.
"""

import re

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import (
    ApiError,
    BackupNotFoundException,
    GlobalTableNotFoundException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.operations.unsupported.refusals import Request

LISTS: dict[str, str] = {
    "ListBackups": "BackupSummaries",
    "ListGlobalTables": "GlobalTables",
}
"""The member of the response that is an empty list."""

_NO_BACKUP = (BackupNotFoundException, "Backup not found: {}", "BackupArn")
NOT_GLOBAL = "Global table with name: '{}' does not exist."
_NO_GLOBAL_TABLE = (GlobalTableNotFoundException, NOT_GLOBAL, "GlobalTableName")
_NO_REPLICAS = (ResourceNotFoundException, NOT_GLOBAL, "TableName")
NOT_FOUND: dict[str, tuple[type[ApiError], str, str]] = {
    "DeleteBackup": _NO_BACKUP,
    "DescribeBackup": _NO_BACKUP,
    "DescribeGlobalTable": (
        GlobalTableNotFoundException,
        f"Global table not found: {NOT_GLOBAL}",
        "GlobalTableName",
    ),
    "DescribeGlobalTableSettings": _NO_GLOBAL_TABLE,
    "DescribeTableReplicaAutoScaling": _NO_REPLICAS,
    "RestoreTableFromBackup": _NO_BACKUP,
    "UpdateGlobalTableSettings": _NO_GLOBAL_TABLE,
    "UpdateTableReplicaAutoScaling": _NO_REPLICAS,
}
"""The error, its message, and the member that names the absent resource."""
_BACKUP = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:table/[a-zA-Z0-9_.-]{3,255}/backup/.*").fullmatch
_VALID_BACKUP = re.compile(
    r"arn:aws(?:-[a-z-]+)?:dynamodb:"
    r"(?i:(?:af|ap|ca|cn|eu|il|me|mx|sa|us)-(?:gov-)?"
    r"(?:north|south|central)?(?:east|west|north|south|central)-[1-9]):"
    r".*/backup/[0-9]{14}-[0-9a-fA-F]{8}"
).fullmatch
"""The ARN of a backup that could exist. The number in it is a time in milliseconds."""


def listed(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise invalid_parameter("Time range lower bound must be less than or equal to upper bound")
    if "NextToken" in request:  # no page has ever had one
        token = request["NextToken"]
        raise ValidationException(f"Invalid Request: Provided nextToken is invalid: {token}")
    return answer({LISTS[name]: []})


def not_found(name: str, request: Request, moment: Moment) -> Decide:
    yield from ()
    error, message, member = NOT_FOUND[name]
    named = request[member]
    if member != "BackupArn":
        raise error(message.format(fetch.plain_name(named)))
    _check_backup(named)
    raise error(message.format(named))


def _check_backup(arn: str) -> None:
    """Raises ValidationException for an ARN that no backup could have."""
    if not _BACKUP(arn):
        raise ValidationException("Invalid Backup ARN")
    if not _VALID_BACKUP(arn):
        raise ValidationException("Invalid Request: BackupArn is not valid")
