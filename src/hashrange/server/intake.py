"""Limits how much one client may send: the buffer of its next read, and the memory for its request.

A request above a certain size needs memory from the budget. The memory is reserved before the
request is read, and released when the request is answered. Nothing more is read from the client
while it waits for a reservation, or while a request with a reservation is run.
"""

from collections.abc import Callable, Sequence

from hashrange import wire
from hashrange.server.budget import (
    BODY_READ_BYTES,
    CLIENT_BYTES,
    HEAD_RESERVED_BYTES,
    Budget,
    Share,
)


def _nothing() -> None: ...


class Intake:
    """The limits of one client. `go_on` is called when the client has waited and may send again."""

    def __init__(self, budget: Budget, parser: wire.Connection, go_on: Callable[[], None]) -> None:
        self.buffer = budget.stranger_buffer
        """The buffer for the next piece of data. Buffers of all clients share their memory."""
        self.blocked = False
        """Whether reading from the client is suspended."""
        self.waits = False
        """Whether the client waits for a reservation."""
        self._budget = budget
        self._parser = parser
        self._go_on = go_on
        self._stranger = True
        self.share: Share | None = None
        """The share in which the request has its reservation, or waits for one."""
        self._size = 0
        self._owner: wire.Event | None = (
            None  # the request with the reservation, once it is complete
        )

    @property
    def contended(self) -> bool:
        """Whether this client has a reservation, and another client waits for memory from the same
        share."""
        return self.share is not None and bool(self.share.waiting)

    def admit(self) -> None:
        """Call this when the client has sent a valid request."""
        self._stranger = False
        if self.share is None:
            self.buffer = self._budget.client_buffer

    def fed(self, events: Sequence[wire.Event]) -> None:
        """Call this after data has been parsed, if a request is unfinished or has a reservation."""
        if self.share is not None and self._owner is None:
            self._owner = next((event for event in events if event is not wire.GO_ON), None)
            self.blocked = self.waits or self._owner is not None
        if self._owner is None and not self.waits and self._parser.reading:
            self._reserve()

    def answered(self, event: wire.Event) -> None:
        if event is self._owner:
            self.close()
            if self._parser.reading:
                self._reserve()

    def lost(self, running: wire.Event | None) -> None:
        """Call this when the client is gone. If its request is running, the reservation is released
        when the request is answered."""
        self._go_on = _nothing  # breaks the cycle of references between connection and intake
        if running is None or running is not self._owner:
            self.close()

    def close(self) -> None:
        """Release the reservation."""
        share, self.share = self.share, None
        self._owner = None
        self.blocked = False
        self.buffer = self._budget.stranger_buffer if self._stranger else self._budget.client_buffer
        if self.waits and share is not None:
            self.waits = False
            share.withdraw(self)
        elif share is not None:
            share.give(self._size)

    def reserved(self) -> None:
        self.waits = self.blocked = False
        self._set_buffer()
        self._go_on()

    def _reserve(self) -> None:
        needed = self._parser.needed_bytes
        if self.share is None and needed <= len(self.buffer):
            return
        if self.share is None or needed > self._size:
            self.close()
            self._size = max(needed, HEAD_RESERVED_BYTES)
            self.share = self._budget.share(self._size, self._stranger)
            self.waits = self.blocked = not self.share.take(self._size, self)
        if not self.waits:
            self._set_buffer()

    def _set_buffer(self) -> None:
        """Make the buffer no larger than the request needs, so that little of the next request is
        read."""
        left = self._size - self._parser.held_bytes
        self.buffer = self._budget.body_buffer[: min(max(left, CLIENT_BYTES), BODY_READ_BYTES)]
