"""A clock that never goes back, even if the wall clock does or several processes use the database.

Every commit stores the time of its decision, if this time is later than the stored one. A process
that opens the database later, or commits after another process, continues from the stored time.
"""

import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol, Self

from hashrange import forks


class TimeSource(Protocol):
    """Any object that tells the time, such as `hashrange.testing.TestClock`."""

    def now(self) -> float:
        """Epoch seconds. May jump forwards or backwards."""


def wall_clock() -> float:
    """Epoch seconds. `time.time` is looked up at each call, so that tools can replace it."""
    return time.time()


class Clock(forks.Forkable):
    """The clock of a runtime. `source` gives epoch seconds and may jump; `now()` never goes back.

    `timer` measures how long something takes, in seconds from an arbitrary start.
    """

    def __init__(
        self,
        source: Callable[[], float] = wall_clock,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.timer = timer
        self._source = source
        self._latest = 0.0
        self.after_fork_in_child()
        forks.watch(self)

    @classmethod
    def of(cls, source: TimeSource | None) -> Self:
        """A clock that follows `source` or, if it is None, the wall clock."""
        if isinstance(source, cls):
            return source
        return cls() if source is None else cls(source.now)

    def after_fork_in_child(self) -> None:
        self._lock = Lock()

    def now(self) -> float:
        with self._lock:
            self._latest = max(self._latest, self._source())
            return self._latest

    def not_before(self, milliseconds: int) -> float:
        """The current time in epoch seconds. From now on, the clock never shows a time before
        `milliseconds`."""
        with self._lock:
            self._latest = max(self._latest, milliseconds / 1000, self._source())
            return self._latest
