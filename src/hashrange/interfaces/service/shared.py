"""A file without a name that all workers inherit: the numbers of their clients, and a lock.

    4 bytes for each worker: how many clients it has, or VACANT while nothing runs in its place

The lock is fcntl's, which belongs to a process and ends with it.
"""

import mmap
import tempfile
from fcntl import LOCK_EX, LOCK_UN, lockf
from types import TracebackType
from typing import IO, Any, Self

VACANT = 0x7FFFFFFF

_BYTES = 4


class Shared:
    """One process's view. Workers are numbered from 1, and the supervisor is number 0."""

    def __init__(self, descriptor: int, workers: int, number: int = 0) -> None:
        self.descriptor = descriptor
        self._file: IO[Any] | None = None
        self._clients = memoryview(mmap.mmap(descriptor, _size(workers))).cast("i")
        self._number = number

    @classmethod
    def new(cls, workers: int) -> Self:
        # The file is written, not only made longer: on a full disk that is an error here, and
        # not a signal that ends the process when it touches the memory.
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
        """In the place of this worker nothing runs."""
        self._clients[number] = VACANT

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
    return _BYTES * (workers + 1)
