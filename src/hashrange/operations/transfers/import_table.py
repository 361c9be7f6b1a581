"""ImportTable, DescribeImport and ListImports: a new table from the objects of a bucket.

Messages marked as assumed are guesses: those of the service are not known.
"""

from functools import partial
from typing import Any

import msgspec

from hashrange.engine import fetch, jobs
from hashrange.engine.decision import Decide, Decision, JobChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model.errors import (
    ImportConflictException,
    ImportNotFoundException,
    ResourceInUseException,
    ValidationException,
)
from hashrange.model.jobs import Job
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Json, Operation
from hashrange.operations.tables import create_table, table_schema
from hashrange.operations.transfers import job_arns

IMPORTS_MAX = 50
"""The largest number of imports in progress."""
PAGE_SIZE = 25
NO_OBJECTS = "{} is not supported by this server: it was started without --objects"
CONFLICT = "Import conflict: Duplicate request detected with conflicting parameters"
"""An assumed text: that of ExportConflictException, with "Import" instead of "Export"."""

_parse = partial(validate, "ImportTable")
_encode = msgspec.json.Encoder().encode


def parse(body: bytes) -> tuple[Json, create_table.Request]:
    """The request, and its TableCreationParameters as a checked request to CreateTable."""
    request: Json = _parse(body)
    return request, create_table.parse(_encode(request["TableCreationParameters"]))


def decide(parsed: tuple[Json, create_table.Request], moment: Moment) -> Decide:
    request, created = parsed
    name = request["TableCreationParameters"]["TableName"]
    known = yield from jobs.known("import", request.get("ClientToken"), moment)
    if known.same is not None:
        if known.same.request != request:
            raise ImportConflictException(CONFLICT)
        return answer(described(known.same))
    taken = any(job.table_name == name for job in known.in_progress)
    if taken or (yield from fetch.find_table(name)) is not None:
        raise ResourceInUseException(f"Table already exists: {fetch.plain_name(name)}")
    if moment.settings.objects is None:
        raise ValidationException(NO_OBJECTS.format("ImportTable"))
    jobs.check_room(known, IMPORTS_MAX, "imports")
    job = Job(
        kind="import",
        id=jobs.new_id(moment),
        table_name=name,
        table_arn=resources.table_arn(name, moment.caller),
        table_id=job_arns.table_id(moment),
        caller=moment.caller,
        request=request,
        started_at=moment.now,
        hash=table_schema.names_of(created.body.key_schema, "HASH")[0],
    )
    return Decision([JobChange(None, job), *known.old], described(job))


def describe(request: Json, moment: Moment) -> Decide:
    arn = job_arns.check("import", request["ImportArn"])
    job = yield from jobs.find("import", arn)
    if job is None:
        raise ImportNotFoundException(f"Import not found: {arn}")
    return answer(described(job))


def listed(request: Json, moment: Moment) -> Decide:
    imports = yield from jobs.all_of("import")
    limit = request.get("PageSize") or PAGE_SIZE
    arguments = (request.get("TableArn"), limit, request.get("NextToken"))
    shown, token = jobs.page(imports, moment, *arguments)
    summaries = [_summary(job) for job in shown]
    return answer({"ImportSummaryList": summaries, **({"NextToken": token} if token else {})})


def _summary(job: Job) -> dict[str, Any]:
    ended = {} if job.ended_at is None else {"EndTime": job.ended_at}
    return {
        "ImportArn": job.arn,
        "ImportStatus": job.status,
        "TableArn": job.table_arn,
        "S3BucketSource": job.request["S3BucketSource"],
        "CloudWatchLogGroupArn": _log_group(job),
        "InputFormat": job.request["InputFormat"],
        "StartTime": job.started_at,
        **ended,
    }


def _log_group(job: Job) -> str:
    _, _, _, region, account, _ = job.table_arn.split(":", 5)
    return f"arn:aws:logs:{region}:{account}:log-group:/aws-dynamodb/imports:*"


def described(job: Job) -> dict[str, Any]:
    """The response of ImportTable and DescribeImport."""
    members = {
        **_summary(job),
        "TableId": job.table_id,
        "InputCompressionType": job.request.get("InputCompressionType", "NONE"),
        "TableCreationParameters": job.request["TableCreationParameters"],
        "ErrorCount": 0,
        "ProcessedSizeBytes": 0,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
        **job.figures,
        **job_arns.failure(job),
    }
    for name in ("ClientToken", "InputFormatOptions"):
        if name in job.request:
            members[name] = job.request[name]
    return {"ImportTableDescription": members}


_resources = resources.of_members("ImportTable", "TableCreationParameters")


OPERATIONS = {
    "ImportTable": Operation(
        "ImportTable",
        parse,
        decide,
        writes=True,
        random=True,
        resources=lambda parsed, caller: _resources(parsed[0], caller),
    ),
    "DescribeImport": Operation(
        "DescribeImport",
        partial(validate, "DescribeImport"),
        describe,
        resources=resources.of_members("DescribeImport", "ImportArn"),
    ),
    "ListImports": Operation(
        "ListImports",
        partial(validate, "ListImports"),
        listed,
        resources=resources.of_members("ListImports"),
    ),
}
