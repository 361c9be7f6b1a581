"""The ARNs of imports and exports, and members that are common to the descriptions of both."""

import re
from typing import Any
from uuid import UUID

from hashrange.engine.fetch import Moment
from hashrange.model.errors import ValidationException
from hashrange.model.jobs import Job

_TABLE_ARN = r"arn:aws[^:]*:dynamodb:.+:table/[a-zA-Z0-9_.-]{3,255}"


def check(kind: str, arn: str) -> str:
    """Return the ARN. Raises ValidationException if no job of this kind can have it."""
    if not re.fullmatch(rf"{_TABLE_ARN}/{kind}/.+", arn):
        raise ValidationException(f"Invalid {kind.replace('-', ' ').title()} ARN")
    return arn


def table_id(moment: Moment) -> str:
    return str(UUID(bytes=moment.entropy, version=4))


def failure(job: Job) -> dict[str, Any]:
    """The FailureCode and FailureMessage of a job; none if it has not failed."""
    if job.failure_code is None:
        return {}
    return {"FailureCode": job.failure_code, "FailureMessage": job.failure_message}


def export_folder(job: Job) -> str:
    """The prefix of the keys of all objects of an export."""
    prefix = job.request.get("S3Prefix")
    return f"{prefix}/AWSDynamoDB/{job.id}" if prefix else f"AWSDynamoDB/{job.id}"
