"""Waits a moment for requests that can be handled together."""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Coroutine, Sized
from time import perf_counter
from typing import Any

from hashrange.runtime.drive import SLICE_SECONDS

GATHERING_SECONDS_MAX = SLICE_SECONDS
"""The longest time for which requests are gathered. A commit or a round trip costs nearly the same
for one request as for sixteen. Gathering also ends after a turn without new requests, but while a
long read runs, each turn includes a slice of the read."""

PATIENCE_SECONDS = 0.005
"""If a store has several machines, how long requests for one of them wait, at most, for a batch
that is under way there. Without this wait the batches of each machine would be small, and a batch
has a cost of its own."""

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Starts a task, such as a batch."""


class Gathering:
    """Calls `start` after the first turn of the loop that adds nothing to `waiting`."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        waiting: Sized,
        size_max: int,
        start: Callable[[], object],
        patient: bool = False,
        timer: Callable[[], float] = perf_counter,
    ) -> None:
        self._loop = loop
        self._waiting = waiting
        self._size_max = size_max
        self._start = start
        self._patient = patient
        self._timer = timer
        self._scheduled = False
        self._patience: TimerHandle | None = None

    def begin(self, under_way: int = 0) -> None:
        """Gather requests, then call `start`. `under_way` is the number of batches under way."""
        if self._patient and under_way and len(self._waiting) < self._size_max:
            if self._patience is None:
                self._patience = self._loop.call_later(PATIENCE_SECONDS, self.begin)
            return
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._go_on, 0, self._timer() + GATHERING_SECONDS_MAX)

    def _go_on(self, before: int, end: float) -> None:
        waiting = len(self._waiting)
        if before < waiting < self._size_max and self._timer() < end:
            self._loop.call_soon(self._go_on, waiting, end)
        else:
            self._scheduled = False
            self._start()
