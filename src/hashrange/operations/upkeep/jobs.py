"""Requests of the processes that transfer data: the jobs in progress, and the beginning or end of a
job."""

from typing import Any

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import fetch, jobs
from hashrange.engine.decision import AnyChange, Decide, Decision, JobChange, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model.jobs import Job, Kind

FAULTY = "Some of the items failed validation checks. Please check the log for more details."
"""An assumed text. The text of the service refers to the log in CloudWatch instead."""
CANCELLED = "The operation was cancelled by a request"
"""An assumed text: the text of the service is not known."""


class Request(msgspec.Struct, rename="pascal"):
    kind: Kind
    id: str = ""
    failure: tuple[str, str] | None = None
    """The code and the message, if the job fails."""
    figures: dict[str, int] = {}


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide_listed(request: Request, moment: Moment) -> Decide:
    """The jobs of a kind that are in progress, oldest first."""
    listed = yield from jobs.in_progress(request.kind)
    return answer({"Jobs": [_shown(job) for job in listed]})


def _shown(job: Job) -> dict[str, Any]:
    return {
        "Id": job.id,
        "Arn": job.arn,
        "TableArn": job.table_arn,
        "TableId": job.table_id,
        "TableName": job.table_name,
        "Request": job.request,
        "Begun": job.begun,
        "Status": job.status,
        "Hash": job.hash,
        "Reports": job.reports,
        "Pending": job.pending,
        "Position": (job.key, job.records, job.group, job.done),
        "BytesBefore": job.bytes_before,
        "StartedAt": job.started_at,
        "Shows": job.shows,
    }


def decide_begin_export(request: Request, moment: Moment) -> Decide:
    """Begin an export. From now on, each commit has a later time than the export shows, so the
    content of the export cannot change any more.

    In a store with many writers, only a change of the table's definition ensures this.
    """
    job = yield from jobs.by_id("export", request.id)
    if job is None or not job.in_progress or job.begun:
        return answer({})
    changes: list[AnyChange] = [JobChange(job, replace(job, begun=True))]
    table = yield from fetch.find_table(job.table_name)
    if table is not None and table.history is not None:
        past = replace(table.history, epoch=table.history.epoch + 1)
        changes.append(TableChange(table, replace(table, history=past)))
    return Decision(changes, {})


def decide_ended(request: Request, moment: Moment) -> Decide:
    """Ends a job. The table of an import becomes ACTIVE with the items that were imported."""
    job = yield from jobs.by_id(request.kind, request.id)
    if job is None or not job.in_progress:
        return answer({})
    failure = request.failure
    if failure is None and job.figures.get("ErrorCount"):
        failure = ("ItemValidationError", FAULTY)
    status = "FAILED" if failure else "COMPLETED"
    if job.status == "CANCELLING":
        status, failure = "CANCELLED", ("Cancelled", CANCELLED)
    elif not failure and job.figures.get("FailedItemCount"):
        status = "COMPLETED_WITH_ERRORS"
    code, message = failure or (None, None)
    ended = replace(
        job,
        status=status,
        ended_at=moment.now,
        failure_code=code,
        failure_message=message,
        figures={**job.figures, **request.figures},
        pending={},
    )
    changes: list[AnyChange] = [JobChange(job, ended)]
    table = yield from fetch.find_table(job.table_name)
    if job.kind == "import" and job.begun and table is not None and table.id == job.table_id:
        changes.append(TableChange(table, replace(table, active_at=moment.now)))
    return Decision(changes, {})
