"""A file without a name that all workers inherit: the numbers of their clients, their heartbeats,
and a lock.

    4 bytes for each place: the number of clients of the worker, or VACANT if no worker runs
    4 bytes for each place: the number of its last heartbeat, or 0 before the first one

There is a place for each worker. Places are numbered from 1; place 0 is not used. The lock is an
fcntl lock, so the system releases it when its process ends.
"""

import mmap
import tempfile
from fcntl import LOCK_EX, LOCK_UN, lockf
from types import TracebackType
from typing import IO, Any, Self

VACANT = 0x7FFFFFFF
BEATS = 1 << 30

_BYTES = 4


class Shared:
    """The file, as used by one process. Workers are numbered from 1, and the supervisor is number
    0."""

    def __init__(self, descriptor: int, workers: int, number: int = 0) -> None:
        self.descriptor = descriptor
        self._file: IO[Any] | None = None
        numbers = memoryview(mmap.mmap(descriptor, _size(workers))).cast("i")
        self._clients, self._beats = numbers[: workers + 1], numbers[workers + 1 :]
        self._number = number

    @classmethod
    def new(cls, workers: int) -> Self:
        # The file is written, not only extended: a full disk then causes an error here, and not a
        # signal that ends the process when it accesses the memory.
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  inherited, and never closed
        file.write(bytes(_size(workers)))
        shared = cls(file.fileno(), workers)
        shared._file = file
        for number in range(1, workers + 1):
            shared.vacate(number)
        return shared

    def publish(self, clients: int, /) -> None:
        self._clients[self._number] = clients

    def vacate(self, number: int) -> None:
        """Mark the place of this worker as empty."""
        self._clients[number] = VACANT
        self._beats[number] = 0

    def beat(self) -> None:
        """Send a heartbeat. After its first heartbeat, a worker is expected to send more."""
        self._beats[self._number] = self._beats[self._number] % BEATS + 1

    def beat_no_more(self) -> None:
        self._beats[self._number] = 0

    def last_beat(self, number: int) -> int:
        return self._beats[number]

    def fewest(self) -> int:
        return min(self._clients[1:])

    def __enter__(self) -> None:
        """Take the lock."""
        lockf(self.descriptor, LOCK_EX)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        lockf(self.descriptor, LOCK_UN)


def _size(workers: int) -> int:
    return 2 * _BYTES * (workers + 1)
