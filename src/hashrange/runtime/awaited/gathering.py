"""Waiting, for a moment, for requests that can be handled together."""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Coroutine, Sized
from time import perf_counter
from typing import Any

GATHERING_SECONDS_MAX = 0.0005
"""The longest wait. A round trip costs nearly the same for one request as for sixteen, and a turn
without new requests ends the wait."""

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Starts a task, such as a batch."""


PATIENCE_SECONDS = 0.005
"""Requests for one of several machines wait this long for the batch under way there. Each machine
gets only a part of the requests, and a batch has a cost of its own."""


class Gathering:
    """Calls `start` after a turn of the loop that has added nothing to `waiting`."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        waiting: Sized,
        size_max: int,
        start: Callable[[], Any],
        patient: bool = False,
    ) -> None:
        self._loop = loop
        self._waiting = waiting
        self._size_max = size_max
        self._start = start
        self._patient = patient
        self._scheduled = False
        self._timer: TimerHandle | None = None

    def begin(self, under_way: int) -> None:
        """`under_way` is the number of batches that have not ended yet."""
        if self._patient and under_way and len(self._waiting) < self._size_max:
            if self._timer is None:
                self._timer = self._loop.call_later(PATIENCE_SECONDS, self._begin)
        else:
            self._begin()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
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
