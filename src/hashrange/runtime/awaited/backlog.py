"""Limits the number, the size and the age of unanswered requests.

If a database is slow or cannot be reached, the number of requests that wait in this process must
stay limited. When too many are waiting, new ones are refused, and SDKs try them again later.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Hashable, Sequence

from hashrange.model.errors import ThrottlingException

REQUESTS_MAX = 4096
BYTES_MAX = 64 * 1024 * 1024
"""The largest total size of the bodies of all unanswered requests."""

REQUEST_SECONDS_MAX = 20.0
"""The time limit of a request. A client that waits longer has probably given up."""

_SWEEP_SECONDS = 1.0


def throttled() -> ThrottlingException:
    return ThrottlingException("The database is slow: too many requests wait. Try again later.")


class Backlog:
    """The unanswered requests of one event loop, oldest first.

    If a request has taken too long, it is removed, and `overdue` is called with it.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        overdue: Callable[[Hashable], None],
        timer: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._overdue = overdue
        self._timer = timer
        self._requests: dict[Hashable, tuple[int, float]] = {}
        self._bytes = 0
        self._sweeping = False

    def __len__(self) -> int:
        return len(self._requests)

    def enter(self, request: Hashable, size: int) -> None:
        """Add a request with a body of `size` bytes. Raises ThrottlingException if too many
        requests, or too many bytes, are unanswered."""
        if len(self._requests) >= REQUESTS_MAX or self._bytes + size > BYTES_MAX:
            raise throttled()
        self._add(request, size)

    def divide(self, request: Hashable, parts: Sequence[tuple[Hashable, int]]) -> None:
        """Replace a request by its parts, with the sizes of their bodies in bytes. No part is
        refused, because the request has been admitted."""
        self.leave(request)
        for part, size in parts:
            self._add(part, size)

    def _add(self, request: Hashable, size: int) -> None:
        self._requests[request] = size, self._timer()
        self._bytes += size
        if not self._sweeping:
            self._sweeping = True
            self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def __contains__(self, request: Hashable) -> bool:
        return request in self._requests

    def leave(self, request: Hashable) -> bool:
        """Remove a request. Returns whether it was still in the backlog."""
        entry = self._requests.pop(request, None)
        if entry is None:
            return False
        self._bytes -= entry[0]
        return True

    def _sweep(self) -> None:
        oldest = self._timer() - REQUEST_SECONDS_MAX
        while self._requests:
            request, (_, since) = next(iter(self._requests.items()))
            if since > oldest:
                break
            self.leave(request)
            self._overdue(request)
        self._sweeping = bool(self._requests)
        if self._sweeping:
            self._loop.call_later(_SWEEP_SECONDS, self._sweep)
