"""Content codings: which one a response gets, and bodies of requests that come in one.

The service knows gzip and deflate in responses, gzip in requests; a signature is over the body
as sent. Source: behaviour observed on the service.
"""

import zlib
from collections.abc import Iterator
from functools import lru_cache

GZIP = b"gzip"
_ZLIB_WINDOWS = {GZIP: 31, b"deflate": 15}
"""Which of its formats zlib is asked for; among equals the first is preferred."""

_GZIP_MAGIC = b"\x1f\x8b"
_LEVEL = 1  # compressed on the event loop, for a client on the same machine
_MEMBERS_MAX = 100  # each costs a copy of what is behind it


class CodingError(Exception):
    """A body that is not in the coding that it is said to be in, or in one that is not known."""


class TooLargeError(Exception):
    """A body that is too large once it is decoded."""


@lru_cache(maxsize=64)
def preferred(accepted: bytes) -> bytes:
    """The coding that an Accept-Encoding header prefers, empty for none.

    Of equal ones the first; `*` stands for those that are not named.
    """
    qualities: dict[bytes, float] = {}
    for entry in accepted.lower().split(b","):
        name, *parameters = (part.strip() for part in entry.split(b";"))
        qualities[name] = max(qualities.get(name, 0.0), _quality(parameters))
    others = qualities.pop(b"*", 0.0)
    known = {name: quality for name, quality in qualities.items() if name in _ZLIB_WINDOWS}
    known |= {name: others for name in _ZLIB_WINDOWS if name not in known}
    best = max(known, key=known.__getitem__)
    return best if known[best] > 0 else b""


def _quality(parameters: list[bytes]) -> float:
    """The first `q` counts; what is no number is as good as 1, what is below 0 as bad as 0."""
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                break
    return 1.0


def encode(body: bytes, coding: bytes) -> bytes:
    return zlib.compress(body, _LEVEL, _ZLIB_WINDOWS[coding])


def decode(body: bytes, coding: bytes, bytes_max: int) -> bytes:
    """Raises CodingError or TooLargeError; never makes more than `bytes_max` of a body."""
    if coding.strip().lower() != GZIP:
        raise CodingError
    try:
        decoded = b"".join(_members(body, bytes_max))
    except zlib.error:
        raise CodingError from None
    return decoded


def _members(body: bytes, bytes_max: int) -> Iterator[bytes]:
    """A gzip file may be several, one behind the other; what else follows is passed over."""
    for _ in range(_MEMBERS_MAX):
        member = zlib.decompressobj(_ZLIB_WINDOWS[GZIP])
        content = member.decompress(body, bytes_max + 1)
        bytes_max -= len(content)
        if bytes_max < 0:
            raise TooLargeError
        if not member.eof:
            raise CodingError
        yield content
        body = member.unused_data
        if not body.startswith(_GZIP_MAGIC):
            return
    raise CodingError
