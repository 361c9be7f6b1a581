"""Answers to requests that are not API calls: health checks, CORS preflights, unknown paths."""

import re
from collections.abc import Callable, Mapping

from hashrange.model.caller import DEFAULT_REGION
from hashrange.wire.responses import Form, respond

_REGIONAL_HOST = re.compile(rb"dynamodb\.([a-z0-9-]+)\.", re.IGNORECASE)
_PREFLIGHT_SECONDS = 172_800
_GRANTED = (
    (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
    (b"access-control-request-method", b"Access-Control-Allow-Methods"),
)


NonApi = Callable[[bytes, bytes, Mapping[bytes, bytes], Form], bytes]
"""Answers a request that is not a call of the API, from its method, its URL, its headers (names in
lower case) and the form of the answer."""


def answer_non_api(method: bytes, url: bytes, headers: Mapping[bytes, bytes], form: Form) -> bytes:
    """The answer to a health check or a CORS preflight, or 404 for any other request.

    A preflight gets 403 if `form.origin` is empty, which means that its origin is not allowed.
    """
    if method in (b"GET", b"HEAD") and url == b"/":
        health = _health(headers.get(b"host", b""))
        return respond(200, health, form, content_type=b"text/plain")
    if method == b"OPTIONS" and b"origin" in headers:
        if not form.origin:
            return respond(403, b"", form)
        return respond(200, b"", form, more=_cors_headers(headers))
    body = b"<UnknownOperationException/>\n"
    return respond(404, body, form, content_type=b"application/xml")


def _health(host: bytes) -> bytes:
    """The body of the answer to a health check. It ends with a space, as on the service."""
    regional = _REGIONAL_HOST.match(host)
    region = regional[1].decode() if regional else DEFAULT_REGION
    return f"healthy: dynamodb.{region}.amazonaws.com ".encode()


def _cors_headers(headers: Mapping[bytes, bytes]) -> bytes:
    lines = [b"Access-Control-Max-Age: %d\r\n" % _PREFLIGHT_SECONDS]
    for asked, granted in _GRANTED:
        if value := headers.get(asked):
            lines.append(b"%b: %b\r\n" % (granted, value))
    return b"".join(lines)
