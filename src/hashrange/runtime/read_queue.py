"""The queue of reads that may take long: how many hold a snapshot at once, and which comes next.

Such a read holds a connection of the store, its page cache and the rows that it has read. If
hundreds did so at once, memory would run out, and each would be done when all are. So a few run,
and the others wait without a snapshot. Callers take turns.
"""

from asyncio import _get_running_loop
from collections.abc import Callable
from threading import Event, Lock

from hashrange import forks
from hashrange.model.errors import ThrottlingException
from hashrange.runtime.fair_queue import FairQueue

READS_MAX = 16
"""How many reads that may take long run at once."""

WAITING_MAX = 256
"""How many more may wait. Others are refused at once, and SDKs try them again later."""

WAIT_SECONDS_MAX = 20.0
"""How long a read may wait. A client that waits longer has probably given up."""

HELD_BYTES_MAX = 16 * 1024 * 1024
"""If the reads under way have read more than this together, one of them goes on alone."""

Admitted = Callable[[], bool]
"""Tells a waiting read that it may begin. Returns False if it is no longer wanted."""


def throttled() -> ThrottlingException:
    return ThrottlingException("Too many requests read at once. Try again later.")


class ReadQueue(forks.Forkable):
    """The places of one runtime, for its threads and its event loops together."""

    def __init__(self) -> None:
        self.after_fork_in_child()
        forks.watch(self)

    def after_fork_in_child(self) -> None:
        """The reads that have begun are the parent's."""
        self._lock = Lock()
        self._running = 0
        self._waiting: FairQueue[Admitted] = FairQueue()

    def enter(self, caller: str) -> bool:
        """From any thread: wait for a place. Raises ThrottlingException.

        Returns False for a thread that runs an event loop, which goes on without a place: if it
        waited, the reads of that loop could not end.
        """
        with self._lock:
            if self._running < READS_MAX:  # so none waits
                self._running += 1
                return True
        if _get_running_loop() is not None:
            return False
        granted = Event()

        def admitted() -> bool:
            granted.set()
            return True

        if not self.request(caller, admitted):
            self._wait(caller, granted, admitted)
        return True

    def request(self, caller: str, admitted: Admitted) -> bool:
        """Take a place, or call `admitted` when there is one, from any thread.

        Returns whether there is one now. Raises ThrottlingException if too many wait.
        """
        with self._lock:
            if self._running < READS_MAX:  # so none waits
                self._running += 1
                return True
            if self._waiting.length >= WAITING_MAX:
                raise throttled()
            self._waiting.add(caller, admitted)
        return False

    def leave(self) -> None:
        """From any thread: give a place to the next read that waits."""
        while True:
            with self._lock:
                if not self._waiting.length:
                    self._running -= 1
                    return
                admitted = self._waiting.pop()
            if admitted():
                return

    def _wait(self, caller: str, granted: Event, admitted: Admitted) -> None:
        try:
            if granted.wait(WAIT_SECONDS_MAX):
                return
        except BaseException:  # Ctrl-C
            self._withdraw(caller, admitted)
            raise
        self._withdraw(caller, admitted)
        raise throttled()

    def _withdraw(self, caller: str, admitted: Admitted) -> None:
        with self._lock:
            if self._waiting.remove(caller, admitted):
                return
        self.leave()  # it was admitted meanwhile
