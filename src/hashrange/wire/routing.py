"""Routing: finds the operation that a request calls. The checks have this order:

    method, path and content type -> JSON syntax -> target -> authentication

If the target or the authentication is wrong, the JSON syntax is checked as well, because the error
for invalid JSON comes first. Otherwise the operation finds invalid JSON when it decodes the body.
The syntax of a large body is not checked here, because that would take long.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from hashrange.model.errors import ApiError, SerializationException, UnknownOperationException
from hashrange.wire.authentication import Signer, authenticate
from hashrange.wire.responses import APPLICATION_JSON, JSON
from hashrange.wire.signature import Digest, Query, SignedRequest, Verifier

TARGET_PREFIX = "DynamoDB_20120810."
STREAMS_TARGET_PREFIX = "DynamoDBStreams_20120810."
STREAMS_OPERATIONS = frozenset(("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"))

CONTENT_TYPES = (JSON, APPLICATION_JSON)
"""The content types of requests. An answer has the content type of its request."""

SYNTAX_BYTES_MAX = 1024 * 1024
"""The largest body whose syntax is checked here."""

Targets = Mapping[bytes, str]
"""The names of operations, by the values of the X-Amz-Target header."""


class NotFoundError(Exception):
    """No operation has this method, path or content type."""


def targets(operations: Iterable[str]) -> Targets:
    return {
        (STREAMS_TARGET_PREFIX if name in STREAMS_OPERATIONS else TARGET_PREFIX).encode()
        + name.encode(): name
        for name in operations
    }


class Sent(NamedTuple):
    """A request as it was sent. The names in `headers` are in lower case. `digest` is the SHA-256
    hash of the body, if already known."""

    method: bytes
    url: bytes
    headers: Mapping[bytes, bytes]
    body: bytes
    digest: Digest | None = None


def admit(targets: Targets, verifier: Verifier | None, sent: Sent) -> tuple[str, Signer]:
    """The operation that a request calls, and the signer of the request.

    Raises NotFoundError or an ApiError.
    """
    method, url, headers, body, digest = sent
    path, query = _split(url)
    if method != b"POST" or path != "/":
        raise NotFoundError
    if body and content_type(headers) not in CONTENT_TYPES:
        raise NotFoundError
    try:
        operation = targets.get(headers.get(b"x-amz-target", b""))
        if operation is None:
            raise UnknownOperationException("")
        return operation, authenticate(SignedRequest(query, headers, body, digest), verifier)
    except ApiError:
        if len(body) <= SYNTAX_BYTES_MAX and b"content-encoding" not in headers:
            _check_syntax(body)
        raise


def content_type(headers: Mapping[bytes, bytes]) -> bytes:
    """The content type in lower case, without its parameters."""
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower()


def _split(url: bytes) -> tuple[str, Query]:
    """The path and the query parameters. Each byte becomes one character, so that different queries
    stay different."""
    try:
        parts = urlsplit(url.decode("latin-1"))
    except ValueError:
        raise NotFoundError from None
    pairs = (part.partition("=")[::2] for part in parts.query.split("&") if part)
    return parts.path, [(unquote(k, "latin-1"), unquote(v, "latin-1")) for k, v in pairs]


def _check_syntax(body: bytes) -> None:
    """Check the JSON syntax of the whole body, without creating objects. Raises
    SerializationException."""
    try:
        if body:
            body.decode()
            msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SerializationException("") from None
