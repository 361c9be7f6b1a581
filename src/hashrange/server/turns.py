"""Requests that arrive in one turn of the event loop are handled together.

A system call between two requests evicts the code that handles requests from the processor's
caches. If the requests of sixteen clients are handled together, each GetItem takes a quarter less
time, and 50 % more are answered per second. A request waits at most for the other requests of its
turn. The reads of a turn share one snapshot, and the answers are sent together at its end. If a
turn has received more data than it handles, the connections of the excess data stop reading until
their data is handled.
"""

from asyncio import AbstractEventLoop
from collections import deque
from time import perf_counter
from typing import Protocol

from hashrange.clients.calls import Runtime, Turn

ARRIVALS_PER_TURN = 64
"""The largest number of pieces of data that are handled before answers are sent."""

TURN_SECONDS_MAX = 0.01
"""The time after which answers are sent before more data is handled."""


class Connection(Protocol):
    def handle(self, data: bytes, /) -> None: ...
    def flush(self) -> None: ...


class Turns:
    """The turns of one event loop."""

    def __init__(self, loop: AbstractEventLoop, runtime: Runtime) -> None:
        self.turn: Turn | None = None
        """The state that the requests of the current turn share; None between turns."""
        self._loop = loop
        self._runtime = runtime
        self._arrived: deque[tuple[Connection, bytes]] = deque()
        self._departing: list[Connection] = []
        self._scheduled = False

    def arrive(self, connection: Connection, data: bytes) -> bool:
        """Call `connection.handle(data)` once all data of this turn has arrived.

        Returns False if a turn cannot handle more data. The connection must then read nothing until
        its data is handled.
        """
        self._arrived.append((connection, data))
        if not self._scheduled:
            self._schedule()
        return len(self._arrived) <= ARRIVALS_PER_TURN

    def depart(self, connection: Connection) -> None:
        """Call `connection.flush()` once all requests of this turn are handled."""
        self._departing.append(connection)
        if not self._scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._scheduled = True
        self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        try:
            if self._arrived:  # otherwise only answers of writes have to be sent
                self._handle()
        finally:  # the failure of one connection must not end the others
            self._scheduled = False
            departing, self._departing = self._departing, []
            try:
                for connection in departing:
                    connection.flush()
            finally:
                if self._arrived and not self._scheduled:
                    self._schedule()

    def _handle(self) -> None:
        turn = self.turn = self._runtime.turn()
        try:
            end = perf_counter() + TURN_SECONDS_MAX
            for _ in range(min(len(self._arrived), ARRIVALS_PER_TURN)):
                connection, data = self._arrived.popleft()
                connection.handle(data)
                if perf_counter() > end:
                    break
        finally:
            self.turn = None
            turn.close()
