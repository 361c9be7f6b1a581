"""StartBulkPutItems and the operations on bulk operations, which put objects of a bucket into a
table.

The service's texts are not known, except those in its model. All other texts here are guesses.
"""

from functools import partial
from typing import Any

from hashrange.engine import fetch, jobs
from hashrange.engine.decision import Decide, Decision, JobChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model.errors import (
    IdempotentParameterMismatchException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.jobs import Job
from hashrange.model.tables import Table
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Json, Operation
from hashrange.operations.transfers import job_arns
from hashrange.operations.transfers.import_table import NO_OBJECTS

BULK_PUTS_MAX = 50
"""The largest number of bulk operations in progress (an assumption)."""
PAGE_SIZE = 10
MISMATCH = "The request uses the same client token as an earlier request with other parameters"
NO_OUTPUT = "OutputType must name at least one of ERROR and CONDITION_CHECK_FAILURE"


def decide(request: Json, moment: Moment) -> Decide:
    known = yield from jobs.known("bulk-operation", request.get("ClientToken"), moment)
    if known.same is not None:
        if known.same.request != request:
            raise IdempotentParameterMismatchException(MISMATCH)
        return answer(described(known.same))
    table = yield from fetch.described_table(request["TableName"])
    _check_idle(table, moment)
    if not request["OutputS3Configuration"]["OutputType"]:
        raise ValidationException(NO_OUTPUT)
    if moment.settings.objects is None:
        raise ValidationException(NO_OBJECTS.format("StartBulkPutItems"))
    jobs.check_room(known, BULK_PUTS_MAX, "bulk operations")
    job = Job(
        kind="bulk-operation",
        id=jobs.new_id(moment),
        table_name=table.name,
        table_arn=table.arn,
        table_id=table.id,
        caller=moment.caller,
        request=request,
        started_at=moment.now,
        hash=table.hash[0],
    )
    return Decision([JobChange(None, job), *known.old], described(job))


def _check_idle(table: Table, moment: Moment) -> None:
    """Raises ResourceInUseException while the table or an index is being created. This rule is
    assumed."""
    if moment.now < table.active_at or any(index.building for index in table.declared_indexes):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: Table is being created or "
            f"updated: {table.name}"
        )


def describe(request: Json, moment: Moment) -> Decide:
    job = yield from jobs.find("bulk-operation", _arn(request))
    if job is None:
        raise _absent(request)
    return answer(described(job))


def cancel(request: Json, moment: Moment) -> Decide:
    """Cancel a bulk operation. Items that have been put remain. It is assumed that an operation
    which has already ended does not change."""
    job = yield from jobs.find("bulk-operation", _arn(request))
    if job is None:
        raise _absent(request)
    changed = jobs.cancelled(job)
    changes = [JobChange(job, changed)] if changed != job else []
    return Decision(changes, {"BulkOperationArn": job.arn, "BulkOperationStatus": changed.status})


def _arn(request: Json) -> str:
    return job_arns.check("bulk-operation", request["BulkOperationArn"])


def _absent(request: Json) -> ResourceNotFoundException:
    return ResourceNotFoundException(
        f"Requested resource not found: Bulk operation: {request['BulkOperationArn']} not found"
    )


def listed(request: Json, moment: Moment) -> Decide:
    all_jobs = yield from jobs.all_of("bulk-operation")
    limit = request.get("MaxResults") or PAGE_SIZE
    shown, token = jobs.page(all_jobs, moment, None, limit, request.get("NextToken"))
    summaries = [_summary(job) for job in shown]
    response = {"BulkOperationsSummaryList": summaries}
    return answer({**response, **({"NextToken": token} if token else {})})


def _summary(job: Job) -> dict[str, Any]:
    ended = {} if job.ended_at is None else {"EndTime": job.ended_at}
    return {
        "BulkOperationArn": job.arn,
        "BulkOperationStatus": job.status,
        "StartTime": job.started_at,
        **ended,
    }


def described(job: Job) -> dict[str, Any]:
    """The response of StartBulkPutItems and DescribeBulkOperation."""
    asked = ("ClientToken", "InputS3Configuration", "OutputS3Configuration", "MaxWriteRequestUnits")
    figures = {"ProcessedItemCount": 0, "ProcessedInputBytes": 0, "FailedItemCount": 0}
    figures |= job.figures
    put = figures.pop("BulkPutBytes", 0)
    members = {
        **_summary(job),
        "TableDetails": [{"TableName": job.table_name, "TableId": job.table_id}],
        **{name: job.request[name] for name in asked if name in job.request},
        "PerformanceTier": job.request.get("PerformanceTier", "STANDARD"),
        **figures,
        "BulkOperationUsage": [
            {"TableName": job.table_name, "BulkPutBytes": put, "Table": {"BulkPutBytes": put}}
        ],
        **job_arns.failure(job),
    }
    return {"BulkOperationDescription": members}


def _operation(name: str, decide: Any, *members: str, writes: bool = False) -> Operation:
    uses = resources.of_members(name, *members)
    parse = partial(validate, name)
    return Operation(name, parse, decide, writes=writes, random=writes, resources=uses)


OPERATIONS = {
    operation.name: operation
    for operation in (
        _operation("StartBulkPutItems", decide, "TableName", writes=True),
        _operation("DescribeBulkOperation", describe, "BulkOperationArn"),
        _operation("CancelBulkOperation", cancel, "BulkOperationArn", writes=True),
        _operation("ListBulkOperations", listed),
    )
}
