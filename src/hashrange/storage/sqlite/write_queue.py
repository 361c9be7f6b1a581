"""A queue in which processes that write to one file take turns, in the order of their arrival.

SQLite does not queue for its write lock. A process that finds the lock taken has to try again after
a pause. Without a queue, a process that writes without pauses would always take the lock first.

So a process that has to wait draws a number, and tries only after the process with the previous
number has begun its transaction. While a process waits, all others have to draw numbers too. But a
process that has had its turn may go on writing for a slice of time. One turn with many short
transactions costs less than many turns, because a process can reuse the pages that it has read
until another process writes. The state of the queue is in a file beside the database:

    byte 0           1 while a process waits
    bytes 1 to 8     the number that was drawn last

and in locks on places of the file, which need not exist:

    PRESENT          shared by all that have the file open; the last one removes it
    COUNTER          while a number is drawn or given back
    ELECTED          by the process that does the common work (`elected`)
    ARCHIVING        by the process that ships the log to an archive
    FIRST + n        by the process that waits with number n, counted modulo PLACES

When a process ends, the kernel releases its locks. The bytes that it leaves in the file may be
wrong. They only make the next writer draw a number, which corrects them. The order is not
guaranteed. Only SQLite's own lock keeps writers apart, so nothing is lost if a process does not
know of the file, cannot open it, or runs on a system without such locks.
"""

import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

if sys.platform == "linux":
    # Locks of an open file description, not of a process: they survive the closing of another
    # descriptor, and two stores of one process exclude each other.
    from fcntl import F_OFD_GETLK, F_OFD_SETLK, F_RDLCK, F_UNLCK, F_WRLCK, fcntl

    _LOCKS = True
else:
    _LOCKS, F_RDLCK, F_WRLCK = False, 0, 1

_HINT = struct.Struct("<BQ")
_FLOCK = struct.Struct("@hhqqi4x")  # type, whence, start, length, pid

PRESENT = 1 << 20
ARCHIVING = PRESENT - 1
COUNTER = PRESENT + 1
ELECTED = PRESENT + 2
FIRST = PRESENT + 3
PLACES = 1 << 16

PATIENCE_SECONDS = 2.0
"""A process that has waited for this time tries to take the lock out of turn, because the process
before it may have been suspended."""

SLICE_SECONDS = 0.001
"""How long after its turn a process may begin further transactions while others wait."""

_OPENINGS = 100
"""The largest number of attempts to open the file while other processes are removing it."""

_SHARE = 1 / 8
_PAUSE_SECONDS_MIN = 0.00002
_PAUSE_SECONDS_MAX = 0.005


class Wait:
    """The pauses of a process between its attempts to take a lock, until a deadline.

    Each pause is a fraction of the time waited so far, so a wait takes little longer than
    necessary.
    """

    def __init__(self, seconds: float, timer: Callable[[], float]) -> None:
        self.timer = timer
        self._began = timer()
        self._seconds = seconds

    @property
    def waited(self) -> float:
        return self.timer() - self._began

    def is_over(self) -> bool:
        return self.waited >= self._seconds

    def pause(self) -> None:
        passed = self.waited
        pause = min(max(passed * _SHARE, _PAUSE_SECONDS_MIN), _PAUSE_SECONDS_MAX)
        time.sleep(max(0.0, min(pause, self._seconds - passed)))


class WriteQueue:
    """The place of one store in the queue of writers. Call `open` first, and again to continue
    after `close`."""

    def __init__(self, path: str) -> None:
        self._path = f"{path}-turns"
        self._file: int | None = None
        self._hint: mmap.mmap | None = None
        self._slice_end = 0.0
        self._elected: set[int] = set()
        self._without = not _LOCKS
        self._using = threading.Lock()

    def open(self) -> None:
        """Open the file of the queue. If this fails, there is no queue, and each process is
        elected."""
        with self._using:
            for _ in range(_OPENINGS if _LOCKS else 0):
                if self._file is not None:
                    break
                with suppress(OSError):
                    self._open()
            self._without = self._file is None

    def close(self) -> None:
        """Release all locks. The last process that has the file open removes it."""
        with self._using:
            if self._file is not None and self._lock(PRESENT):
                with suppress(OSError):
                    os.remove(self._path)
            self._close()

    def forget(self) -> None:
        """In a forked child: close the file without releasing its locks, which belong to the
        parent."""
        self._using = threading.Lock()
        self._close()

    def elected(self, duty: int = ELECTED) -> bool:
        """Whether this process does the work `duty`, which one process does for all.

        It does the work until it closes the file or ends. Then the next process that calls this
        method is elected.
        """
        with self._using:
            if duty not in self._elected and self._file is not None and self._lock(duty):
                self._elected.add(duty)
            return duty in self._elected or self._without

    def must_wait(self, timer: Callable[[], float]) -> bool:
        """Whether another process waits, and this process has used up its slice of time."""
        # Read through a mapping, because this is done before each transaction.
        return self._hint is not None and bool(self._hint[0]) and timer() > self._slice_end

    @contextmanager
    def turn(self, wait: Wait) -> Iterator[None]:
        """Wait for the caller's turn, but no longer than `wait` allows or `PATIENCE_SECONDS`.

        Within the `with` block, the caller repeatedly tries to take the write lock. Processes that
        came later wait until the block ends.
        """
        number = self._draw(wait)
        try:
            if number is not None:
                while self._is_locked(_place(number - 1)) and not _has_lost_patience(wait):
                    wait.pause()
            yield
        finally:
            if number is not None:
                self._give_back(number)
                self._slice_end = wait.timer() + SLICE_SECONDS

    def _draw(self, wait: Wait) -> int | None:
        """Draw a number, and lock its place. Returns None if there is no queue, or the time is
        over."""
        if self._file is None:
            return None
        while not self._lock(COUNTER):
            if _has_lost_patience(wait):
                return None
            wait.pause()
        try:
            _, last = _HINT.unpack(os.pread(self._file, _HINT.size, 0))
            number: int = (last + 1) % (1 << 63)
            self._lock(_place(number))
            os.pwrite(self._file, _HINT.pack(1, number), 0)
        finally:
            self._unlock(COUNTER)
        return number

    def _give_back(self, number: int) -> None:
        assert self._file is not None
        if self._lock(COUNTER):
            if _HINT.unpack(os.pread(self._file, _HINT.size, 0)) == (1, number):
                os.pwrite(self._file, b"\x00", 0)  # no process has drawn a number since
            self._unlock(COUNTER)
        self._unlock(_place(number))

    def _open(self) -> None:
        """Open the file, unless another process is removing it."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            there = self._lock(PRESENT, F_RDLCK)
            if not there or not os.path.samestat(os.stat(self._path), os.fstat(self._file)):
                self._close()
                return
            if os.fstat(self._file).st_size < _HINT.size:
                os.pwrite(self._file, bytes(_HINT.size), 0)
            self._hint = mmap.mmap(self._file, _HINT.size, access=mmap.ACCESS_READ)
        except OSError:
            self._close()
            raise

    def _close(self) -> None:
        self._elected = set()
        self._hint = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    # ---- locks of the kernel ----

    def _lock(self, place: int, kind: int = F_WRLCK) -> bool:
        """Take the lock. Returns whether it has succeeded."""
        assert self._file is not None
        try:
            fcntl(self._file, F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, place, 1, 0))
        except OSError:
            return False
        return True

    def _unlock(self, place: int) -> None:
        assert self._file is not None
        fcntl(self._file, F_OFD_SETLK, _FLOCK.pack(F_UNLCK, os.SEEK_SET, place, 1, 0))

    def _is_locked(self, place: int) -> bool:
        """Whether another process holds the lock."""
        assert self._file is not None
        asked = _FLOCK.pack(F_RDLCK, os.SEEK_SET, place, 1, 0)
        kind, *_ = _FLOCK.unpack(fcntl(self._file, F_OFD_GETLK, asked))
        return bool(kind != F_UNLCK)


def _place(number: int) -> int:
    return FIRST + number % PLACES


def _has_lost_patience(wait: Wait) -> bool:
    return wait.waited > PATIENCE_SECONDS or wait.is_over()
