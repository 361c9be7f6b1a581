"""ARNs in requests on tags and policies, which name a table or a stream.

The messages were observed on the service in 2026, except the older one for an absent ARN.
"""

import re
from typing import NamedTuple

from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import ValidationException

_RESOURCE = re.compile(
    r"arn:[^:]+:dynamodb:[^:]*:[^:]*:table/(?P<table>[^/]+)(?:/(?P<kind>stream|index)/(?P<id>.+))?"
).fullmatch


class TableOrStream(NamedTuple):
    """A table or one of its streams. `stream` is the label of the stream; None for the table
    itself."""

    table: str
    stream: str | None


def parse(arn: str | None) -> TableOrStream:
    """Parse the ARN of a table or stream. Raises ValidationException for any other text."""
    if arn is None:
        raise ValidationException("Invalid TableArn")
    if not arn.startswith("arn:"):
        raise invalid_parameter(f"ARNs must start with 'arn:': {arn}")
    match = _RESOURCE(arn)
    if match is None:
        raise invalid_parameter(f"Provided Arn is not a DynamoDB resource arn: {arn}")
    if match["kind"] == "index":
        raise invalid_parameter(
            "Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {arn}"
        )
    return TableOrStream(match["table"], match["id"])
