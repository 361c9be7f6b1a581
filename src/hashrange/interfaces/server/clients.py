"""The clients of one server: which are connected, and what their connections share."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import msgspec

from hashrange import wire
from hashrange.interfaces.calls import Outcome, Runtime
from hashrange.interfaces.server.turns import Turns


class Answered(msgspec.Struct, gc=False):
    """A call that has been answered. `client` is the address that it came from, as `host:port`."""

    client: str
    call: wire.Call
    outcome: Outcome
    response: bytes
    seconds: float


Observer = Callable[[Answered], None]
"""Called on the event loop for each answered call; it must be quick."""


def together(observers: Sequence[Observer]) -> Observer | None:
    """One observer that calls all of them, or None if there is none."""
    if len(observers) <= 1:
        return observers[0] if observers else None

    def observe(answered: Answered) -> None:
        for observer in observers:
            observer(answered)

    return observe


class Client(Protocol):
    """The part of a connection that the server uses."""

    def stop(self) -> None: ...
    def sweep(self, seconds: float, /) -> None: ...


class Clients:
    """`parser()` makes the HTTP side of a new connection; `connections_max` bounds how many
    connections are served at once. The `observer` is told of each answered call.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        runtime: Runtime,
        parser: Callable[[], wire.Connection],
        connections_max: int,
        observer: Observer | None = None,
    ) -> None:
        self.loop = loop
        self.turns = Turns(loop, runtime)
        self.parser = parser
        self.connected: set[Client] = set()
        self.runtime = runtime
        self.connections_max = connections_max
        self.observer = observer
        self._aside = ThreadPoolExecutor(1, "hashrange-aside")

    def admit(self, client: Client) -> bool:
        """Register a client if there is room for one more. Returns whether there is."""
        if len(self.connected) >= self.connections_max:
            return False
        self.connected.add(client)
        return True

    def call_aside(self, call: wire.Call, done: Callable[[Outcome], None]) -> None:
        """Answer a call that may take long in the one thread kept for such calls."""
        answer = self.loop.run_in_executor(
            self._aside, self.runtime.call, call.operation, call.body, call.caller
        )

        def tell(answer: asyncio.Future[bytes]) -> None:
            if not answer.cancelled():  # `close` cancels calls that no client waits for
                done(answer.exception() or answer.result())

        answer.add_done_callback(tell)

    async def drain(self, seconds_max: float) -> None:
        """Wait until every client's running request is finished, but at most `seconds_max`."""
        for client in tuple(self.connected):
            client.stop()
        deadline = self.loop.time() + seconds_max
        while self.connected and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        self._aside.shutdown(wait=False, cancel_futures=True)
