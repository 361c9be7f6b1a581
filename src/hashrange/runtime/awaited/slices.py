"""Divides an event loop's time among answers that take long to evaluate and encode."""

from asyncio import AbstractEventLoop, Future
from collections import deque

from hashrange import kv
from hashrange.paging import bytes_of
from hashrange.runtime.source import LARGE_BYTES


class Slices:
    """Lets one waiting task continue in each turn of the loop, in the order of arrival.

    If all of them continued in one turn, this turn would take too long.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Future[None]] = deque()

    async def next(self) -> None:
        """Wait for the next slice."""
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._wake)
        await waiter

    def _wake(self) -> None:
        waiter = self._waiting.popleft()
        if not waiter.done():  # it has not been cancelled
            waiter.set_result(None)
        if self._waiting:
            self._loop.call_soon(self._wake)


def is_large(answer: kv.Answer) -> bool:
    return bytes_of(answer) > LARGE_BYTES
