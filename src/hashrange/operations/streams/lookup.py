"""Checks and lookups that the operations on streams share.

The messages were seen on the service, except TRIMMED and EXPIRED, which are from the service model.
"""

import re

from hashrange.engine.fetch import Fetch
from hashrange.engine.log import streams
from hashrange.engine.log.shards import Shard, find_shard
from hashrange.model.errors import ResourceNotFoundException, ValidationException
from hashrange.model.streams import Stream

INVALID_ARN = "Invalid StreamArn"
TRIMMED = "The data you are trying to access has been trimmed"
EXPIRED = "The provided iterator exceeds the maximum age allowed"
"""The message for an iterator that is too old. This text and TRIMMED are from the service model."""

_is_stream_arn = re.compile(r"arn:[^:]+:dynamodb:[^:]*:[^:]*:table/[^/]+/stream/[^/]+").fullmatch


def check_arn(arn: str) -> None:
    """Raises ValidationException if the text is not the ARN of a stream."""
    if not _is_stream_arn(arn):
        raise ValidationException(INVALID_ARN)


def check_limit(limit: int | None, most: int) -> None:
    """Raises ValidationException if the limit is above `most`. The service model has only the
    minimum."""
    if limit is not None and limit > most:
        raise ValidationException(
            f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy "
            f"constraint: Member must have value less than or equal to {most}"
        )


def find(arn: str) -> Fetch[Stream]:
    """The stream with this ARN. Raises ResourceNotFoundException."""
    stream = yield from streams.find(arn)
    if stream is None:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
    return stream


def shard_of(stream: Stream, id_: str, latest: int) -> Shard:
    """The shard with this id. `latest` is the time of the latest commit in epoch milliseconds.

    Raises ResourceNotFoundException.
    """
    shard = find_shard(stream, id_, max(latest, stream.enabled_at))
    if shard is None:
        raise ResourceNotFoundException("Requested resource not found: Shard does not exist")
    return shard
