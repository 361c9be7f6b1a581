"""Decoders of typed JSON, built one at a time.

When msgspec sees a type for the first time, it analyses the type and stores the result in it, step
by step, while other threads can run. If another thread uses the type during that time, the process
crashes. So pass a type to msgspec only through `decoder`, or call `prepare` before any other use.
"""

from functools import cache
from threading import Lock
from typing import Protocol, TypeVar, cast

import msgspec

from hashrange import forks

T = TypeVar("T")


class _Building(forks.Forkable):
    """A lock that is held while a decoder is built. A fork waits for it: otherwise the child could
    inherit a half-built type."""

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
        """The decoder of this type. May be called from any thread."""
        ...


def _decoder(type: type[T]) -> msgspec.json.Decoder[T]:
    with _building.lock:
        return msgspec.json.Decoder(type)


decoder = cast(_Decoders, cache(_decoder))


def prepare(type: type[T]) -> type[T]:
    """The type itself, after msgspec has analysed all of it."""
    decoder(type)
    return type
