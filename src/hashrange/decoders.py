"""Decoders of typed JSON, built one at a time.

When msgspec sees a type for the first time, it stores what it learns in the type itself, step by
step, while other threads can run. If another thread uses the type before msgspec is done, the
process crashes. So a type is given to msgspec only by `decoder`, or by `prepare` before any other
use.
"""

from functools import cache
from threading import Lock
from typing import Protocol, TypeVar, cast

import msgspec

from hashrange import forks

T = TypeVar("T")


class _Building(forks.Forkable):
    """A lock that is held while a decoder is built. A fork waits for it: otherwise a type might
    stay half-built in the child."""

    def __init__(self) -> None:
        self.lock = Lock()
        forks.watch(self)

    def before_fork(self) -> None:
        self.lock.acquire()

    def after_fork_in_parent(self) -> None:
        self.lock.release()

    after_fork_in_child = after_fork_in_parent


_building = _Building()


class _Decoders(Protocol):
    def __call__(self, type: type[T], /) -> msgspec.json.Decoder[T]:
        """The decoder of this type, from any thread."""
        ...


def _decoder(type: type[T]) -> msgspec.json.Decoder[T]:
    with _building.lock:
        return msgspec.json.Decoder(type)


decoder = cast(_Decoders, cache(_decoder))


def prepare(type: type[T]) -> type[T]:
    """The type itself, after msgspec has learned everything about it."""
    decoder(type)
    return type
