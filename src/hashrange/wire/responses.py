"""Responses as bytes, with the headers that DynamoDB sends.

The headers are Server, Date, Content-Type, Content-Length, Connection, x-amzn-RequestId (52
upper-case letters and digits) and x-amz-crc32 (the decimal CRC-32 of the body as sent, which may be
compressed).
"""

import secrets
import string
from functools import lru_cache
from itertools import count
from time import gmtime, time
from typing import NamedTuple

import msgspec
from zlib_ng.zlib_ng import crc32

from hashrange.model.errors import ApiError
from hashrange.wire import codings

COMPRESSED_LARGER_THAN_BYTES = 4096  # uncertain: the threshold is not documented

JSON = b"application/x-amz-json-1.0"
APPLICATION_JSON = b"application/json"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    403: b"Forbidden",
    404: b"Not Found",
    413: b"Request Entity Too Large",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
}

# A request id is a random prefix of this process and a counter: it is unique and costs no
# randomness per request.
_ALPHABET = string.ascii_uppercase + string.digits
_PROCESS = "".join(secrets.choice(_ALPHABET) for _ in range(36))
_next_number = count(1).__next__

_RESPONSE = (
    b"HTTP/1.1 %b\r\nServer: Server\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %b\r\n"
    b"Connection: %b\r\nx-amzn-RequestId: "
    + _PROCESS.encode()
    + b"%b\r\nx-amz-crc32: %b\r\n%b\r\n%b"
)
# The response to nearly every request, with four placeholders: date, length, number and CRC.
_PLAIN_SUCCESS = _RESPONSE % (
    *(b"200 OK", b"%b", JSON, b"%d", b"keep-alive", b"%016d", b"%d", b"", b"%b"),
)

_EXPOSED = (
    b"Access-Control-Allow-Origin: %b\r\nVary: Origin\r\n"
    b"Access-Control-Expose-Headers: x-amzn-RequestId, x-amzn-ErrorType, x-amz-crc32, Date\r\n"
)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class RequestTooLargeException(ApiError):
    """The request body, before or after decoding, is larger than the server accepts."""

    status = 413
    namespace = "com.amazon.coral.service#"


class Form(NamedTuple):
    """The form of an answer, as determined by its request."""

    close: bool = False
    coding: bytes = b""
    origin: bytes = b""
    """The origin of the page that may read the answer, empty for none."""
    head_only: bool = False
    content_type: bytes = JSON


PLAIN = Form()


def succeed(body: bytes, form: Form = PLAIN) -> bytes:
    if form is PLAIN:
        date = _http_date(int(time()))
        return _PLAIN_SUCCESS % (date, len(body), _next_number(), crc32(body), body)
    return respond(200, body, form)


def fail(error: ApiError, form: Form = PLAIN) -> bytes:
    """The response to a request that fails with an error of the API."""
    return respond(error.status, error_body(error), form)


def unavailable() -> bytes:
    """The response to a client whose connection is above the limit of connections."""
    return respond(503, b"", Form(close=True))


def error_body(error: ApiError) -> bytes:
    """The JSON body of an error: `__type`, the message, and any further members."""
    return msgspec.json.encode(error.body())


def request_id() -> str:
    """A new request id: 52 upper-case letters and digits."""
    return f"{_PROCESS}{_next_number():016}"


def respond(
    status: int, body: bytes, form: Form = PLAIN, *, content_type: bytes = b"", more: bytes = b""
) -> bytes:
    """A complete response. `more` has additional header lines, each with its CRLF."""
    if form.coding and len(body) > COMPRESSED_LARGER_THAN_BYTES:
        body = codings.encode(body, form.coding)
        more += b"Content-Encoding: %b\r\n" % form.coding
    if form.origin:
        more += _EXPOSED % form.origin
    return _RESPONSE % (
        b"%d %b" % (status, _REASONS[status]),
        _http_date(int(time())),
        content_type or form.content_type,
        b"%d" % len(body),
        b"close" if form.close else b"keep-alive",
        b"%016d" % _next_number(),
        b"%d" % crc32(body),
        more,
        b"" if form.head_only else body,
    )


@lru_cache(maxsize=1)
def _http_date(seconds: int) -> bytes:
    """The time as an HTTP date (RFC 9110's IMF-fixdate), independent of the locale."""
    at = gmtime(seconds)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon]} {at.tm_year}"
        f" {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    ).encode()
