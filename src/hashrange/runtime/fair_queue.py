"""A queue that is fair between callers, no matter how many requests each of them sends."""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue in which callers take turns. At its turn, a caller's oldest entry leaves the queue.
    Threads need a lock to use the queue."""

    def __init__(self) -> None:
        self._of_callers: dict[str, deque[T]] = {}  # in the order of their turns
        self.length = 0

    def __iter__(self) -> Iterator[T]:
        for queue in self._of_callers.values():
            yield from queue

    def add(self, caller: str, entry: T) -> None:
        self._of_callers.setdefault(caller, deque()).append(entry)
        self.length += 1

    def pop(self) -> T:
        """Remove the next entry and return it. Raises StopIteration if there is none."""
        caller = next(iter(self._of_callers))
        queue = self._of_callers.pop(caller)
        entry = queue.popleft()
        if queue:
            self._of_callers[caller] = queue
        self.length -= 1
        return entry

    def remove(self, caller: str, entry: T) -> bool:
        """Remove an entry. Returns whether it was still in the queue."""
        queue = self._of_callers.get(caller)
        if queue is None or entry not in queue:
            return False
        queue.remove(entry)
        if not queue:
            del self._of_callers[caller]
        self.length -= 1
        return True
