"""ExportTableToPointInTime, DescribeExport and ListExports: a table to the objects of a bucket.

The table's history must cover the time that an export shows. Messages that are marked as assumed
have not been seen on the service.
"""

from datetime import UTC, datetime
from functools import partial
from typing import Any

from hashrange.engine import fetch, jobs
from hashrange.engine.decision import Decide, Decision, JobChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.model.jobs import Job
from hashrange.model.tables import Table
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Json, Operation
from hashrange.operations.queries import selection
from hashrange.operations.transfers import job_arns
from hashrange.operations.transfers.import_table import NO_OBJECTS

EXPORTS_MAX = 300
"""The largest number of exports in progress."""
PAGE_SIZE = 10
CLOCK_SECONDS = 5.0
"""How far, in seconds, a requested time may be in the future, because a client's clock may be
fast."""
CONFLICT = "Export conflict: Duplicate request detected with conflicting parameters"
NO_SPECIFICATION = (
    "Invalid Request: Incremental Export Specification expected when export type is set as "
    "Incremental Export"
)
NO_FROM_TIME = "Invalid Request: ExportFromTime must be provided for an incremental export"
"""The end of the text is assumed."""
BEFORE_TABLE = (
    "Incremental export period from time cannot be less than the table creation time : {}"
)
PERIOD = "Difference between export period from time and export period to time is {}"
"""The end of the text for more than 24 hours is assumed."""
PERIOD_SECONDS_MIN = 15 * 60
PERIOD_SECONDS_MAX = 24 * 60 * 60
INVALID_TIME = "Export Time is invalid"


def decide(request: Json, moment: Moment) -> Decide:
    arn = request["TableArn"]
    if not arn.startswith("arn:"):
        raise ValidationException("Invalid TableArn: Invalid Table ARN")
    known = yield from jobs.known("export", request.get("ClientToken"), moment)
    if known.same is not None and known.same.table_arn == arn:
        if known.same.request != request:
            raise ExportConflictException(CONFLICT)
        return answer(described(known.same))
    table = yield from fetch.find_table(arn)
    if table is None or moment.now < table.active_at or table.arn != arn:
        raise TableNotFoundException(f"Table not found: {arn}")
    if table.recovery is None:
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{table.name}'"
        )
    _check(request, table, table.recovery.earliest(moment.now), moment)
    selection.of(request.get("FilterSpecification", {}), table)
    if moment.settings.objects is None:
        raise ValidationException(NO_OBJECTS.format("ExportTableToPointInTime"))
    jobs.check_room(known, EXPORTS_MAX, "exports")
    job = _job(table, request, moment)
    return Decision([JobChange(None, job), *known.old], described(job))


def _check(request: Json, table: Table, earliest: float, moment: Moment) -> None:
    """Check the times of an export. Raises ValidationException or InvalidExportTimeException."""
    if request.get("ExportType") == "INCREMENTAL_EXPORT":
        _check_period(request, table, earliest, moment)
        return
    wanted = request.get("ExportTime", moment.now)
    if not earliest <= wanted <= moment.now + CLOCK_SECONDS:
        raise InvalidExportTimeException(INVALID_TIME)


def _check_period(request: Json, table: Table, earliest: float, moment: Moment) -> None:
    """Check the period of an incremental export. Raises ValidationException or
    InvalidExportTimeException."""
    period = request.get("IncrementalExportSpecification")
    if period is None:
        raise ValidationException(NO_SPECIFICATION)
    if "ExportFromTime" not in period:
        raise ValidationException(NO_FROM_TIME)
    since, until = period["ExportFromTime"], period.get("ExportToTime", moment.now)
    if since < table.created_at:
        created = datetime.fromtimestamp(table.created_at, UTC).isoformat(timespec="milliseconds")
        raise InvalidExportTimeException(BEFORE_TABLE.format(created.replace("+00:00", "Z")))
    if until - since < PERIOD_SECONDS_MIN:
        raise InvalidExportTimeException(PERIOD.format("less than 15 minutes"))
    if until - since > PERIOD_SECONDS_MAX:
        raise InvalidExportTimeException(PERIOD.format("more than 24 hours"))
    if since < earliest or until > moment.now + CLOCK_SECONDS:
        raise InvalidExportTimeException(INVALID_TIME)


def _job(table: Table, request: Json, moment: Moment) -> Job:
    return Job(
        kind="export",
        id=jobs.new_id(moment),
        table_name=table.name,
        table_arn=table.arn,
        table_id=table.id,
        caller=moment.caller,
        request=request,
        started_at=moment.now,
        shows=min(_shown(request, moment), moment.now),
    )


def _shown(request: Json, moment: Moment) -> float:
    """The time, in epoch seconds, that a full export shows or at which an incremental export's
    period ends."""
    if request.get("ExportType") == "INCREMENTAL_EXPORT":
        shown: float = request["IncrementalExportSpecification"].get("ExportToTime", moment.now)
        return shown
    at: float = request.get("ExportTime", moment.now)
    return at


def describe(request: Json, moment: Moment) -> Decide:
    arn = job_arns.check("export", request["ExportArn"])
    job = yield from jobs.find("export", arn)
    if job is None:
        raise ExportNotFoundException(f"Export not found: {arn}")
    return answer(described(job))


def listed(request: Json, moment: Moment) -> Decide:
    """A page of exports, without those of deleted tables."""
    exports = yield from _of_present_tables((yield from jobs.all_of("export")))
    limit = request.get("MaxResults") or PAGE_SIZE
    arguments = (request.get("TableArn"), limit, request.get("NextToken"))
    shown, token = jobs.page(exports, moment, *arguments)
    summaries = [{"ExportArn": job.arn, "ExportStatus": job.status} for job in shown]
    return answer({"ExportSummaries": summaries, **({"NextToken": token} if token else {})})


def _of_present_tables(exports: list[Job]) -> Fetch[list[Job]]:
    present = []
    for job in exports:
        table = yield from fetch.find_table(job.table_name)
        if table is not None and table.id == job.table_id:
            present.append(job)
    return present


def described(job: Job) -> dict[str, Any]:
    """The response of ExportTableToPointInTime and DescribeExport."""
    asked = (
        *("ClientToken", "FilterSpecification", "S3Bucket", "S3BucketOwner", "S3Prefix"),
        "S3SseKmsKeyId",
    )
    members = {
        "ExportArn": job.arn,
        "ExportStatus": job.status,
        "StartTime": job.started_at,
        "TableArn": job.table_arn,
        "TableId": job.table_id,
        "S3SseAlgorithm": job.request.get("S3SseAlgorithm", "AES256"),
        "ExportFormat": job.request.get("ExportFormat", "DYNAMODB_JSON"),
        **{name: job.request[name] for name in asked if name in job.request},
        **job_arns.failure(job),
    }
    if job.request.get("ExportType") == "INCREMENTAL_EXPORT":
        period = {"ExportViewType": "NEW_AND_OLD_IMAGES", "ExportToTime": job.shows}
        period |= job.request["IncrementalExportSpecification"]
        members |= {
            "ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": period,
        }
    else:
        members["ExportTime"] = job.shows
    if job.ended_at is not None:
        members |= {"EndTime": job.ended_at, **job.figures}
    if job.status == "COMPLETED":
        members["ExportManifest"] = f"{job_arns.export_folder(job)}/manifest-summary.json"
    return {"ExportDescription": members}


OPERATIONS = {
    "ExportTableToPointInTime": Operation(
        "ExportTableToPointInTime",
        partial(validate, "ExportTableToPointInTime"),
        decide,
        writes=True,
        random=True,
        resources=resources.of_members("ExportTableToPointInTime", "TableArn"),
    ),
    "DescribeExport": Operation(
        "DescribeExport",
        partial(validate, "DescribeExport"),
        describe,
        resources=resources.of_members("DescribeExport", "ExportArn"),
    ),
    "ListExports": Operation(
        "ListExports",
        partial(validate, "ListExports"),
        listed,
        resources=resources.of_members("ListExports"),
    ),
}
