"""Background threads of a database, which work in small steps.

If several processes use one database, each kind of work must be done by only one of them. The
process that does it has a lease or, for the upkeep of a file, a lock (`kv.Store.elected`).
"""

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Protocol

import msgspec

from hashrange import forks, kv
from hashrange.model.errors import ApiError

LEASE_SECONDS = 15.0
"""The duration of a lease. The holder renews its lease before it expires."""
LOOK_SECONDS = 5.0
"""The interval at which the holder of a lease checks whether another process has asked for work."""


class RunsUpkeep(Protocol):
    def call_upkeep(self, name: str, body: bytes, /) -> bytes: ...


def ask(runtime: RunsUpkeep, name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Run an operation of the upkeep, and return its response."""
    answer = runtime.call_upkeep(name, msgspec.json.encode(body))
    return msgspec.json.decode(answer, type=dict[str, Any])


class Duty(forks.Forkable):
    """Tells whether this process currently has the task named `duty`. If the database is `shared`,
    the process needs a lease for the task.

    `timer` counts seconds. The default is bound when this module is imported, so it keeps running
    if a test replaces `time.monotonic` to freeze the time.
    """

    def __init__(
        self,
        runtime: RunsUpkeep,
        duty: str,
        shared: bool = False,
        timer: Callable[[], float] = monotonic,
    ) -> None:
        self._runtime = runtime
        self._duty = duty
        self._shared = shared
        self._timer = timer
        self.after_fork_in_child()
        forks.watch(self)

    def after_fork_in_child(self) -> None:
        """In a forked child: take another name for leases than the parent's."""
        self._holder = os.urandom(8).hex() if self._shared else ""
        self._ends = self._look_at = 0.0  # times of the timer
        self.asked = 0.0
        """The time when another process last asked for work, by the clock of the database."""

    def is_ours(self, asks: bool = False) -> bool:
        """Whether this process has the duty now.

        If another process has it, and this one `asks` for work, the other process learns of this
        within seconds.
        """
        now = self._timer()
        if not self._holder or now < self._look_at:
            return True
        answer = self._take(LEASE_SECONDS, asks)
        self.asked = answer["Asked"]
        self._ends = now + answer["Seconds"] if answer["Granted"] else 0.0
        self._look_at = min(now + LOOK_SECONDS, self._ends)
        return bool(answer["Granted"])

    def end(self) -> None:
        """Give the lease back, so that another process can take over at once."""
        if self._timer() < self._ends:
            with suppress(Exception):  # another process goes on when the lease has ended
                self._take(0)

    def _take(self, seconds: float, asks: bool = False) -> dict[str, Any]:
        body = {"Duty": self._duty, "Holder": self._holder, "Seconds": seconds, "Asks": asks}
        return ask(self._runtime, "upkeep.Lease", body)


class Background(forks.Forkable):
    """A thread that works at intervals, and whenever `wake` is called; subclasses implement `work`.

    The first `wake` starts the thread, so a database that only reads has no thread.
    """

    name = "hashrange-background"

    def __init__(self) -> None:
        self.closing = False
        self.after_fork_in_child()
        forks.watch(self)

    def run_once(self) -> bool:
        """Do a part of the work that is waiting. Returns whether there may be more."""
        raise NotImplementedError

    def figures(self) -> dict[str, int]:
        """Numbers for monitoring, by name."""
        return {}

    def work(self, announced: bool) -> float:
        """Do the waiting work. Returns the number of seconds to pause; `wake` ends the pause.

        `announced` says whether `wake` was called. If `work` raises an error of the API or of the
        store, the thread pauses for `retry_seconds` and tries again.
        """
        raise NotImplementedError

    def retry_seconds(self) -> float:
        """The pause after an error, in seconds."""
        raise NotImplementedError

    def after_fork_in_child(self) -> None:
        """Forget the thread, which exists only in the parent; the next `wake` starts another."""
        self._wake = Event()
        self._thread: Thread | None = None
        self._lock = Lock()

    def at_exit(self) -> None:
        self.closing = True
        self._wake.set()
        if self._thread:
            self._thread.join(forks.wait_seconds())

    def wake(self) -> None:
        with self._lock:
            if self._thread is None and not self.closing:
                self._thread = Thread(target=self._loop, name=self.name, daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Stop the thread. Waits for the current step to end."""
        with self._lock:
            self.closing = True
        self._wake.set()
        if self._thread:
            self._thread.join()

    def _loop(self) -> None:
        while not self.closing:
            announced = self._wake.is_set()
            self._wake.clear()
            try:
                pause = self.work(announced)
            except (ApiError, kv.StoreError):
                pause = self.retry_seconds()
            self._wake.wait(pause)


class Worker(Background):
    """Works with services outside the database, and has its own lease.

    A process that has been elected for the upkeep may be unable to reach these services, so the two
    kinds of work have separate leases.
    """

    pause_seconds = 0.5
    """The interval at which the worker looks for work."""

    def __init__(self, runtime: RunsUpkeep, duty: str) -> None:
        self.runtime = runtime
        self._duty = Duty(runtime, duty, shared=True)
        super().__init__()

    def step(self, is_ours: Callable[[], bool]) -> bool:
        """Do a part of the work, if any is waiting and if this process has the duty (`is_ours`).

        Returns whether there may be more. Only one thread of a process calls it at a time.
        """
        raise NotImplementedError

    def run_once(self) -> bool:
        with self._stepping:
            return not self.closing and self.step(self._duty.is_ours)

    def work(self, announced: bool) -> float:
        while self.run_once():
            pass
        return self.pause_seconds

    def retry_seconds(self) -> float:
        return self.pause_seconds

    def after_fork_in_child(self) -> None:
        self._stepping = Lock()
        super().after_fork_in_child()

    def close(self) -> None:
        super().close()
        self._duty.end()
