"""Decides which web pages may call the server.

A browser sends the requests of any page, even to servers that only its own machine can reach. Two
rules keep foreign pages out:

    preflight  A browser asks the server before a cross-origin call. The server permits calls from
               allowed origins only.
    Host       A page can make its own host name resolve to a loopback address (DNS rebinding).
               Then its calls are not cross-origin, but their Host is that name. So a Host that an
               outsider could own is refused, unless its origin is allowed.

If signatures are verified, any Host is accepted, because a page cannot sign requests.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address

FOREIGN_HOST = (
    b'{"__type":"com.amazon.coral.service#AccessDeniedException","message":'
    b'"The Host header names another server. Use an address or localhost as the endpoint, or '
    b'start the server with keys or with --cors http://NAME."}'
)
"""The body of the answer to a request whose Host header is foreign."""

_ORIGIN = re.compile(
    r"[a-z][a-z0-9+.-]*://(?P<name>\[[0-9a-f:.]+\]|[^\s/?#@:\[\]*]+)(?::[0-9]{1,5})?"
)
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]*)(?::[0-9]*)?")
_REGION = r"[a-z]+(-[a-z]+)+-[0-9]+"
_OURS = re.compile(
    r"[a-z0-9_-]*"  # a single label, such as the name of a container
    r"|.+\.(localhost|local|internal|test)"  # never delegated to anybody
    rf"|(streams\.)?dynamodb\.{_REGION}\.amazonaws\.com"
    rf"|[a-z0-9-]+\.ddb\.{_REGION}\.amazonaws\.com"
)


class OriginError(Exception):
    """The text does not have the form of an origin."""


class ForeignHostError(Exception):
    """The Host header has a name that an outsider could own."""


class Origins:
    """The origins whose pages may call the server, such as `http://localhost:3000`.

    Raises OriginError if a text is not an origin.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        origins = {origin: _ORIGIN.fullmatch(origin) for origin in map(str.lower, allowed)}
        for origin, match in origins.items():
            if not match:
                raise OriginError(f"{origin!r} is not an origin, such as http://localhost:3000")
        self._allowed = {origin.encode() for origin in origins}
        self._names = {match["name"] for match in origins.values() if match}

    def allowed(self, origin: bytes) -> bytes:
        """The origin itself if its pages may call the server, otherwise empty bytes."""
        return origin if origin in self._allowed else b""

    def check_host(self, host: bytes) -> None:
        """Check a Host header. Raises ForeignHostError unless the name is local or that of an
        allowed origin."""
        match = _HOST.fullmatch(host.decode("latin-1").strip().lower())
        if not match:
            raise ForeignHostError
        name = match["name"].removesuffix(".")
        if not (_OURS.fullmatch(name) or name in self._names or _is_address(name)):
            raise ForeignHostError


NO_ORIGINS = Origins()


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        ip_address(name.strip("[]"))
        return True
    return False
