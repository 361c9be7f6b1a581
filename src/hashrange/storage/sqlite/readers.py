"""The connections that read: how many there are, and which ones are idle."""

import sys
from collections.abc import Callable
from threading import Condition

import apsw

from hashrange.kv import Busy

READERS_MAX = 32
"""The largest number of connections that read at once: each has a page cache of its own."""

_DESCRIPTORS_PER_READER = 2  # the file and its log
_SHARE = 4
"""Readers take at most a quarter (1 / `_SHARE`) of the file descriptors that the process may
open."""


def readers_max() -> int:
    """The number of connections that may read, within the system's limit of open files."""
    if sys.platform == "win32":
        return READERS_MAX
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return READERS_MAX
    return max(1, min(READERS_MAX, soft // (_SHARE * _DESCRIPTORS_PER_READER)))


class Readers:
    """A pool of connections. Each is used by one thread at a time, and stays open after its use.

    SQLite keeps the file descriptors of a closed connection open while another connection of this
    process has the file open. So the pool limits the number of all connections, not only of idle
    ones.
    """

    def __init__(
        self, connect: Callable[[], apsw.Connection], path: str, busy_seconds: float
    ) -> None:
        self._connect = connect
        self._path = path
        self._busy_seconds = busy_seconds
        self._idle: list[apsw.Connection] = []
        self.after_fork_in_child()

    def after_fork_in_child(self) -> None:
        """Forget the connections in use: they belong to the parent process."""
        self._open = len(self._idle)
        self._waiting = 0
        self._stopped = False
        self._returned = Condition()

    def stop(self, seconds: float) -> bool:
        """Close all connections. Until `resume`, threads that need a connection wait.

        Returns whether all connections were returned within `seconds`.
        """
        with self._returned:
            self._stopped = True
            return self._returned.wait_for(self._close_idle, seconds)

    def resume(self) -> None:
        with self._returned:
            self._stopped = False
            self._returned.notify_all()

    def take(self) -> apsw.Connection:
        """A connection, which must be returned with `give`. Raises Busy, and the errors of
        `connect`."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._open_or_wait()

    def give(self, connection: apsw.Connection, sound: bool) -> None:
        """Return a connection to the pool. The pool keeps it if it is `sound`, and otherwise closes
        it."""
        if sound and not self._stopped:
            self._idle.append(connection)
            if self._waiting:
                with self._returned:
                    self._returned.notify()
        else:
            connection.close()
            self._closed(1)

    def _close_idle(self) -> bool:
        """Close the idle connections. Returns whether no connection is left. The caller holds the
        lock."""
        while self._idle:
            connection = self._idle.pop()
            # The store runs the last checkpoint, and reports its errors.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
            connection.close()
            self._open -= 1
        return not self._open

    def take_idle(self) -> list[apsw.Connection]:
        """Take all idle connections out of the pool. The caller has to close them."""
        idle: list[apsw.Connection] = []
        while self._idle:
            idle.append(self._idle.pop())
        self._closed(len(idle))
        return idle

    def _closed(self, count: int) -> None:
        with self._returned:
            self._open -= count
            if self._stopped:
                self._returned.notify_all()
            else:
                self._returned.notify(count)

    def _open_or_wait(self) -> apsw.Connection:
        most = readers_max()
        idle: list[apsw.Connection] = []

        def found_one() -> bool:
            """Take an idle connection, or reserve the right to open one."""
            if self._stopped:
                return False
            try:
                idle.append(self._idle.pop())
            except IndexError:
                if self._open >= most:
                    return False
                self._open += 1
            return True

        with self._returned:
            self._waiting += 1  # before looking for one, because `give` reads this afterwards
            try:
                if not self._returned.wait_for(found_one, self._busy_seconds):
                    raise Busy(f"{self._path}: {most} other readers are active; try again later")
            finally:
                self._waiting -= 1
        return idle.pop() if idle else self._connect_one()

    def _connect_one(self) -> apsw.Connection:
        try:
            return self._connect()
        except BaseException:
            self._closed(1)
            raise
