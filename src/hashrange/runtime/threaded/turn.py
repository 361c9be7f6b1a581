"""The state that the reads of one event-loop turn share."""

from asyncio import get_running_loop
from collections.abc import Callable

from hashrange.runtime.threaded.snapshot import ReadSnapshot


class Turn:
    """The snapshot that the reads of one turn of an event loop share. The first read opens it.

    All requests of the turn arrived before the snapshot was opened, so no client can tell that it
    is shared. Close the turn before the loop continues.
    """

    __slots__ = ("_open", "_opened", "long_reads", "loop")

    def __init__(self, open_snapshot: Callable[[], ReadSnapshot]) -> None:
        self.loop = get_running_loop()
        """The running event loop. It is determined once for all requests of the turn, because that
        takes a system call (getpid)."""
        self.long_reads = 0
        """The number of reads of the turn that have exceeded their slice of time."""
        self._open = open_snapshot
        self._opened: ReadSnapshot | None = None

    def snapshot(self) -> ReadSnapshot:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
