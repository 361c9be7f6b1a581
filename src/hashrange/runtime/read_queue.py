"""Limits how many long reads hold a snapshot at once, and chooses the next one.

A long read holds a connection of the store, its page cache and the rows that it has read. If
hundreds of them ran at once, memory would run out, and all would end late. So at most READS_MAX run
at once, and other reads wait without a snapshot. Callers take turns.
"""

from asyncio import _get_running_loop
from collections.abc import Callable
from threading import Event, Lock, Thread

from hashrange import forks
from hashrange.model.errors import ThrottlingException
from hashrange.operations.operation import Operation
from hashrange.runtime.fair_queue import FairQueue

READS_MAX = 16
"""The largest number of long reads that run at once."""

WAITING_MAX = 256
"""The largest number of reads that wait. Further reads are refused, and SDKs try them again
later."""

WAIT_SECONDS_MAX = 20.0
"""The longest time that a read may wait. A client that waits longer has probably given up."""

HELD_BYTES_MAX = 16 * 1024 * 1024
"""The largest total number of bytes that the running reads hold. Above it, one read continues and
the other reads wait."""

Admitted = Callable[[], bool]
"""Tells a waiting read that it may begin. Returns False if the read is no longer wanted."""


def throttled() -> ThrottlingException:
    return ThrottlingException("Too many reads at once. Try again later.")


class ReadQueue(forks.Forkable):
    """The places for long reads of one runtime, shared by its threads and event loops."""

    def __init__(self) -> None:
        self._prepared: set[str] = set()
        self.after_fork_in_child()
        forks.watch(self)

    def after_fork_in_child(self) -> None:
        """Forget the running and the waiting reads: they belong to the parent."""
        self._lock = Lock()
        self._running = 0
        self._waiting: FairQueue[Admitted] = FairQueue()

    def enter(self, caller: str) -> bool:
        """From any thread: wait for a free place, take it, and return True. Raises
        ThrottlingException if no place becomes free in time.

        A thread that runs an event loop does not wait. If no place is free, it gets False, and may
        read without a place: reads of its loop may hold the places, and could not end while it
        waits.
        """
        with self._lock:
            if self._running < READS_MAX:  # then no read waits
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
        """From any thread: take a place and return True. If no place is free, return False, and
        call `admitted` when the read has got one.

        Raises ThrottlingException if too many reads are waiting.
        """
        with self._lock:
            if self._running < READS_MAX:  # then no read waits
                self._running += 1
                return True
            if self._waiting.length >= WAITING_MAX:
                raise throttled()
            self._waiting.add(caller, admitted)
        return False

    def prepared(self, operation: Operation, admitted: Admitted) -> bool:
        """Whether an operation can begin. If not, a thread prepares it and then calls `admitted`.

        The waiting read already has a place. It loses the place if `admitted` returns False.
        """
        prepare = operation.prepare
        if prepare is None or operation.name in self._prepared:
            return True

        def work() -> None:
            try:
                prepare()
            finally:
                self._prepared.add(operation.name)
                if not admitted():
                    self.leave()

        Thread(target=work, name="hashrange-import").start()
        return False

    def leave(self) -> None:
        """From any thread: release a place, and give it to the next waiting read."""
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
