"""The clients of one server, and the state that their connections share."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

import msgspec

from hashrange import wire
from hashrange.clients.calls import Runtime
from hashrange.runtime.ending import Outcome
from hashrange.server.budget import Budget, check_values
from hashrange.server.turns import Turns


class Answered(msgspec.Struct, gc=False):
    """An answered request. `client` is the address from which it came, as `host:port`.

    `call` is None if the request did not become a call: if it was a health check, or was refused,
    for example because of its signature. Its `outcome` is empty. For a refused request, `error` is
    the reason, and `access_key` is the key that the request claims to use.
    """

    client: str
    call: wire.Call | None
    outcome: Outcome
    response: bytes
    seconds: float
    error: str = ""
    access_key: str = ""


Observer = Callable[[Answered], None]
"""A function that is called for each answered request. It must be quick: the event loop waits."""


def together(observers: Sequence[Observer]) -> Observer | None:
    """One observer that calls all `observers`, or None if there are none."""
    if len(observers) <= 1:
        return observers[0] if observers else None

    def observe(answered: Answered) -> None:
        for observer in observers:
            observer(answered)

    return observe


class Client(Protocol):
    """The part of a connection that the server uses."""

    @property
    def idle_seconds(self) -> float: ...
    def stop(self) -> None: ...
    def abort(self) -> None: ...
    def sweep(self, seconds: float, /) -> None: ...


class Clients:
    """The clients of a server.

    `parser()` makes the HTTP parser of a new connection, and `connections_max` limits the number of
    connections. The `observer` is called for each answered call.
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
        self.budget = Budget()
        self.connected: set[Client] = set()
        self.strangers: dict[Client, None] = {}
        """The clients that have not sent a valid request yet, in the order in which they
        connected."""
        self.runtime = runtime
        self.connections_max = connections_max
        self.observer = observer
        self._aside = ThreadPoolExecutor(1, "hashrange-aside")
        self._compressing = ThreadPoolExecutor(1, "hashrange-compress")

    def admit(self, client: Client) -> bool:
        """Register a client. Returns whether the client may stay.

        If the limit of connections is reached, another client is disconnected: the stranger (a
        client that has not sent a valid request yet) that connected first. If there is none, the
        longest idle client.
        """
        if len(self.connected) >= self.connections_max and not self._send_one_away():
            return False
        self.connected.add(client)
        self.strangers[client] = None
        return True

    def forget(self, client: Client) -> None:
        self.connected.discard(client)
        self.strangers.pop(client, None)

    def _send_one_away(self) -> bool:
        if self.strangers:
            client = next(iter(self.strangers))
        else:
            client = max(self.connected, key=lambda one: one.idle_seconds)
            if not client.idle_seconds:
                return False
        self.forget(client)
        client.abort()
        return True

    def call_aside(self, call: wire.Call, done: Callable[[Outcome], None]) -> Future[bytes]:
        """Answer a call that may take long, in a thread that only such calls use.

        `done` is called on the event loop when the call is answered, unless the returned future is
        cancelled before the thread begins with the call.
        """
        answer = self._aside.submit(self._call, call)
        self._when_done(answer, lambda: done(answer.exception() or answer.result()))
        return answer

    def compress_aside(self, body: bytes, form: wire.Form, done: Callable[[bytes], None]) -> None:
        """Compress a large response in a thread, then call `done` with it on the event loop."""
        answer = self._compressing.submit(wire.succeed, body, form)
        self._when_done(answer, lambda: done(answer.result()))

    def _call(self, call: wire.Call) -> bytes:
        body = wire.decoded(call)
        check_values(body)
        return self.runtime.call(call.operation, body, call.caller)

    def _when_done(self, answer: Future[bytes], tell: Callable[[], None]) -> None:
        def call_back(answer: Future[bytes]) -> None:
            if not answer.cancelled():
                with suppress(RuntimeError):  # the loop has been closed meanwhile
                    self.loop.call_soon_threadsafe(tell)

        answer.add_done_callback(call_back)

    async def drain(self, seconds_max: float) -> None:
        """Wait until every client's running request is finished, for at most `seconds_max`.

        Then disconnect the clients that are still connected.
        """
        for client in tuple(self.connected):
            client.stop()
        deadline = self.loop.time() + seconds_max
        while self.connected and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        for client in tuple(self.connected):
            client.abort()
        for executor in (self._aside, self._compressing):
            executor.shutdown(wait=False, cancel_futures=True)
