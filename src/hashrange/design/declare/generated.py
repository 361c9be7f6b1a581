"""Values that a field has by default: times of writes, and ids that sort by time."""

import os
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from pydantic import Field

from hashrange.design.errors import DeclarationError

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BYTES = 10


class WriteTime:
    """A default factory for the present time. If `update` is true, every write sets it again."""

    def __init__(self, update: bool) -> None:
        self.update = update

    def __call__(self) -> datetime:
        return datetime.now(UTC)


def now(*, create: bool = False, update: bool = False) -> Any:
    """The time at which the item was made (`create=True`) or last written (`update=True`).

    Every write except a delete sets the time of the last write. Times are in UTC with microseconds.
    """
    if create == update:
        raise DeclarationError("st.now: give either create=True or update=True")
    return Field(default_factory=WriteTime(update))


def ulid() -> Any:
    """A text of 26 letters and digits: 48 bits of the time in milliseconds, 80 random bits."""
    return Field(default_factory=_ulid)


def uuid7() -> Any:
    """A UUID of version 7 (RFC 9562): 48 bits of the time in milliseconds, 74 random bits."""
    return Field(default_factory=_uuid7)


def makes_ids(factory: object) -> bool:
    """Whether a default factory makes ids that are different every time."""
    return factory in (_ulid, _uuid7, uuid4)


def sorts_by_time(factory: object) -> bool:
    """Whether a default factory makes ids that sort by the time at which they were made."""
    return factory in (_ulid, _uuid7)


def _number() -> int:
    milliseconds = time.time_ns() // 1_000_000
    return milliseconds << 80 | int.from_bytes(os.urandom(_RANDOM_BYTES), "big")


def _ulid() -> str:
    number = _number()
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def _uuid7() -> UUID:
    number = _number()
    version = number & ~(0xF << 76) | 0x7 << 76
    return UUID(int=version & ~(0x3 << 62) | 0x2 << 62)
