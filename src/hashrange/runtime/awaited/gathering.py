"""Waiting, for a moment, for requests that can be handled together."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine, Sized
from time import perf_counter
from typing import Any

GATHERING_SECONDS_MAX = 0.0005
"""The longest wait. A round trip costs nearly the same for one request as for sixteen, and a turn
without new requests ends the wait."""

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Begins what runs as a task of its own, such as a batch."""


class Gathering:
    """Calls `start` when a turn of the loop has added nothing to `waiting`."""

    def __init__(
        self, loop: AbstractEventLoop, waiting: Sized, size_max: int, start: Callable[[], Any]
    ) -> None:
        self._loop = loop
        self._waiting = waiting
        self._size_max = size_max
        self._start = start
        self._scheduled = False

    def begin(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._go_on, 0, perf_counter() + GATHERING_SECONDS_MAX)

    def _go_on(self, before: int, end: float) -> None:
        waiting = len(self._waiting)
        if before < waiting < self._size_max and perf_counter() < end:
            self._loop.call_soon(self._go_on, waiting, end)
        else:
            self._scheduled = False
            self._start()
