"""Responses as bytes, with the headers that DynamoDB sends.

Server, Date, Content-Type, Content-Length, Connection,
x-amzn-RequestId   52 upper-case letters and digits
x-amz-crc32        decimal CRC-32 of the body as sent, compressed or not
"""

import secrets
import string
import zlib
from functools import lru_cache
from itertools import count
from time import gmtime, time
from typing import NamedTuple

import msgspec

from hashrange.model.errors import ApiError

GZIP_LARGER_THAN_BYTES = 4096  # FACTS marks the threshold as uncertain
_GZIP_LEVEL = 1  # compressed on the event loop, for a client on the same machine
_GZIP_WINDOW = 31  # zlib's way of asking for a gzip header and trailer

JSON = b"application/x-amz-json-1.0"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    404: b"Not Found",
    408: b"Request Timeout",
    413: b"Request Entity Too Large",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
}
_HEAD = (
    b"HTTP/1.1 %d %b\r\nServer: Server\r\nDate: %b\r\nContent-Type: %b\r\n"
    b"Content-Length: %d\r\nConnection: %b\r\nx-amzn-RequestId: %b%016d\r\nx-amz-crc32: %d\r\n"
    b"%b\r\n"
)
_EXPOSED = (
    b"Access-Control-Allow-Origin: *\r\n"
    b"Access-Control-Expose-Headers: x-amzn-RequestId, x-amzn-ErrorType, x-amz-crc32, Date\r\n"
)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# A request id is random letters of this process and a running number: unique, and it costs no
# randomness per request.
_process = "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(36))
_process_id = _process.encode()
_requests = count(1).__next__


class Form(NamedTuple):
    """How one request wants its answer."""

    close: bool = False
    gzip: bool = False
    cross_origin: bool = False
    head_only: bool = False


PLAIN = Form()
"""Most requests: compare with `is` to skip what they do not ask for."""


def succeed(body: bytes, form: Form = PLAIN) -> bytes:
    return respond(200, body, form)


def fail(error: ApiError, form: Form = PLAIN) -> bytes:
    """The response to a request that the API refuses: `__type`, message, further members."""
    return respond(error.status, msgspec.json.encode(error.body()), form)


def respond(
    status: int, body: bytes, form: Form = PLAIN, *, content_type: bytes = JSON, more: bytes = b""
) -> bytes:
    """A whole response; `more` is further header lines, each with its CRLF."""
    connection = b"keep-alive"
    if form is not PLAIN:
        if form.gzip and len(body) > GZIP_LARGER_THAN_BYTES:
            body = zlib.compress(body, _GZIP_LEVEL, _GZIP_WINDOW)
            more += b"Content-Encoding: gzip\r\n"
        if form.cross_origin:
            more += _EXPOSED
        if form.close:
            connection = b"close"
    head = _HEAD % (
        status,
        _REASONS[status],
        _http_date(int(time())),
        content_type,
        len(body),
        connection,
        _process_id,
        _requests(),
        zlib.crc32(body),
        more,
    )
    return head if form.head_only else head + body


@lru_cache(maxsize=1)
def _http_date(seconds: int) -> bytes:
    """RFC 9110's IMF-fixdate, in English whatever the locale."""
    at = gmtime(seconds)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon]} {at.tm_year}"
        f" {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    ).encode()
