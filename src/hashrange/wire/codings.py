"""Content codings: chooses the coding of a response, and decodes compressed request bodies.

The service supports gzip and deflate, in responses and in requests. A signature covers the body as
it was sent. Source: the service's behaviour as observed, also with malformed headers.
"""

import zlib
from collections.abc import Iterator
from functools import lru_cache

GZIP = b"gzip"
_ZLIB_WINDOWS = {GZIP: 31, b"deflate": 15}
"""The known codings in order of preference, each with the window bits that zlib needs for it."""

_GZIP_MAGIC = b"\x1f\x8b"
_LEVEL = 1  # fast: bodies are compressed on the event loop
_MEMBERS_MAX = 100  # each member costs a copy of the rest


class CodingError(Exception):
    """The header names an unknown coding, or the body does not have the named coding."""


class TooLargeError(Exception):
    """The decoded body is too large."""


@lru_cache(maxsize=64)
def preferred(accepted: bytes) -> bytes:
    """The preferred coding of an Accept-Encoding header; empty if there is none.

    If gzip and deflate have the same quality, the first in the header is chosen. `*` stands for all
    codings that are not named.
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
    """The quality of a coding, from its first parameter. Later parameters are ignored.

    The value of `q` is limited to the range 0 to 1. It counts as 1 if it is not a number or if a
    space precedes the equals sign. Any parameter other than `q` counts as 0.
    """
    if not parameters or not parameters[0]:
        return 1.0
    name, _, value = parameters[0].partition(b"=")
    if name.strip() != b"q":
        return 0.0
    try:
        return min(max(float(value), 0.0), 1.0) if name == b"q" else 1.0
    except ValueError:
        return 1.0


def encode(body: bytes, coding: bytes) -> bytes:
    return zlib.compress(body, _LEVEL, _ZLIB_WINDOWS[coding])


def decode(body: bytes, coding: bytes, bytes_max: int) -> bytes:
    """The decoded body. Raises CodingError, or TooLargeError as soon as more than `bytes_max` bytes
    are decoded."""
    coding = coding.strip().lower()
    if coding not in _ZLIB_WINDOWS:
        raise CodingError
    try:
        decoded = b"".join(_members(body, coding, bytes_max))
    except zlib.error:
        raise CodingError from None
    return decoded


def _members(body: bytes, coding: bytes, bytes_max: int) -> Iterator[bytes]:
    """The decoded members of a body. Only gzip may have several. Bytes after the last member are
    ignored."""
    for _ in range(_MEMBERS_MAX):
        member = zlib.decompressobj(_ZLIB_WINDOWS[coding])
        content = member.decompress(body, bytes_max + 1)
        bytes_max -= len(content)
        if bytes_max < 0:
            raise TooLargeError
        if not member.eof:
            raise CodingError
        yield content
        body = member.unused_data
        if coding != GZIP or not body.startswith(_GZIP_MAGIC):
            return
    raise CodingError
