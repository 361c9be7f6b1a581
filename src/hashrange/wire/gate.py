"""Which operation a request calls, or why none: the checks before any operation, in order.

    method, path and content type -> JSON syntax -> target -> authentication

A request signed like the last one of its connection passes by comparing a few strings; any
other is looked at closely. JSON is parsed here only to decide whether a broken body wins over
a later fault: the operation that decodes the body finds the same by itself.
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


class NotFoundError(Exception):
    """No operation lives at this method, path or content type."""


def targets(operations: Iterable[str]) -> dict[bytes, str]:
    """Values of the X-Amz-Target header -> names of operations."""
    return {
        (STREAMS_TARGET_PREFIX if name in STREAMS_OPERATIONS else TARGET_PREFIX).encode()
        + name.encode(): name
        for name in operations
    }


class Gate:
    """Lets the requests of one connection in."""

    def __init__(self, targets: Mapping[bytes, str]) -> None:
        self._targets = targets
        # The last Authorization header that passed, up to its signature, and what came with it.
        self._signer = b""
        self._date: bytes | None = None
        self._region = ""

    def admit(
        self, method: bytes, url: bytes, headers: Mapping[bytes, bytes], body: bytes
    ) -> tuple[str, str]:
        """The operation's name, and the region that the request is signed for.

        Names of headers are in lower case. Raises NotFoundError or an ApiError.
        """
        operation = self._targets.get(headers.get(b"x-amz-target", b""))
        authorization = headers.get(b"authorization", b"")
        if (
            operation
            and self._signer
            and authorization.startswith(self._signer)
            and authorization[len(self._signer) :].isalnum()
            and headers.get(b"x-amz-date") == self._date
            and url == b"/"
            and method == b"POST"
            and headers.get(b"content-type") == JSON
        ):
            return operation, self._region
        operation, self._region = self._admit_closely(method, url, headers, body)
        self._date = headers.get(b"x-amz-date")
        before, name, _ = authorization.rpartition(b"Signature=")
        self._signer = before + name
        return operation, self._region

    def _admit_closely(
        self, method: bytes, url: bytes, headers: Mapping[bytes, bytes], body: bytes
    ) -> tuple[str, str]:
        path, query = _split(url)
        content_type = headers.get(b"content-type", b"").partition(b";")[0].strip()
        if method != b"POST" or path != "/":
            raise NotFoundError
        if body and content_type.lower() != JSON:
            raise NotFoundError
        try:
            operation = self._targets.get(headers.get(b"x-amz-target", b""))
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
