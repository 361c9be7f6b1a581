"""Which operation a request calls, or why none: the checks before any operation, in order.

    method, path and content type -> JSON syntax -> target -> authentication

JSON is parsed here only to decide whether a broken body wins over a later fault: the operation
that decodes the body finds the same by itself.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, urlsplit

import msgspec

from hashrange.model.errors import ApiError, SerializationException, UnknownOperationException
from hashrange.wire.authentication import authenticate
from hashrange.wire.responses import JSON

TARGET_PREFIX = "DynamoDB_20120810."
STREAMS_TARGET_PREFIX = "DynamoDBStreams_20120810."
STREAMS_OPERATIONS = frozenset(("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"))

Targets = Mapping[bytes, str]
"""Values of the X-Amz-Target header -> names of operations."""


class NotFoundError(Exception):
    """No operation lives at this method, path or content type."""


def targets(operations: Iterable[str]) -> Targets:
    return {
        (STREAMS_TARGET_PREFIX if name in STREAMS_OPERATIONS else TARGET_PREFIX).encode()
        + name.encode(): name
        for name in operations
    }


def admit(
    targets: Targets, method: bytes, url: bytes, headers: Mapping[bytes, bytes], body: bytes
) -> tuple[str, str]:
    """The operation's name, and the region that the request is signed for.

    Names of headers are in lower case. Raises NotFoundError or an ApiError.
    """
    path, query = _split(url)
    content_type = headers.get(b"content-type", b"").partition(b";")[0].strip()
    if method != b"POST" or path != "/":
        raise NotFoundError
    if body and content_type.lower() != JSON:
        raise NotFoundError
    try:
        operation = targets.get(headers.get(b"x-amz-target", b""))
        if operation is None:
            raise UnknownOperationException("")
        return operation, authenticate(headers, query).region
    except ApiError:
        if body:
            _check_syntax(body)
        raise


def _split(url: bytes) -> tuple[str, dict[str, str]]:
    """Path and query parameters."""
    try:
        parts = urlsplit(url.decode("latin-1"))
        return parts.path, dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise NotFoundError from None


def _check_syntax(body: bytes) -> None:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise SerializationException("") from None
