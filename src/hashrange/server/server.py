"""Starting and stopping the server: DynamoDB's HTTP interface on a listener."""

import asyncio
import ctypes
import gc
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from time import time
from typing import Protocol

from hashrange import wire
from hashrange.clients.calls import Runtime
from hashrange.server.accepting import Accepting, Alone, Balance
from hashrange.server.clients import Clients, Observer
from hashrange.server.connection import ClientConnection
from hashrange.server.listener import Listener, connections_possible

DRAIN_SECONDS_MAX = 10
"""The longest time for which a stopping server waits for running requests."""

CONNECTIONS_MAX = 4096
"""The largest number of connected clients. Further clients get status 503 and are disconnected."""

_SWEEP_SECONDS = 5

LARGE_BLOCK_BYTES = 1024 * 1024
_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h

SWITCH_SECONDS = 0.0005
"""The time for which a thread may hold the interpreter lock while the event loop waits. It is a
tenth of Python's default, so that requests that run in threads do not delay the loop."""


class Server:
    """One listener and its clients. `non_api` answers requests that are not calls of the API.

    The `observer` is called for each answered call. `balance` is needed only if several processes
    share the listener. With `tells_attempts`, each `Caller` has the number of the request's
    attempt.
    """

    clients: Clients

    def __init__(
        self,
        runtime: Runtime,
        listener: Listener,
        non_api: wire.NonApi = wire.answer_non_api,
        observer: Observer | None = None,
        balance: Balance | None = None,
        tells_attempts: bool = False,
    ) -> None:
        self._balance = balance or Alone()
        self._runtime = runtime
        self._listener = listener
        self._non_api = non_api
        self._observer = observer
        self._tells_attempts = tells_attempts

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        sock, ring, tls, origins, _ = self._listener
        verifier = None if ring is None else wire.Verifier(ring, time)
        parser = partial(
            wire.Connection,
            wire.targets(self._runtime.operations),
            verifier,
            self._non_api,
            origins,
            self._tells_attempts,
        )
        connections_max = connections_possible(CONNECTIONS_MAX)
        self.clients = Clients(loop, self._runtime, parser, connections_max, self._observer)
        self._accepting = Accepting(
            *(self._balance, sock, tls),
            factory=lambda: ClientConnection(self.clients),
            connected=lambda: len(self.clients.connected),
        )
        self._sweeper = loop.create_task(self._sweep())

    async def stop(self, drain_seconds: float = DRAIN_SECONDS_MAX) -> None:
        """Accept no more requests, and return when the running requests are answered."""
        self._accepting.close()
        self._sweeper.cancel()
        await self.clients.drain(drain_seconds)

    def figures(self) -> dict[str, int]:
        """Numbers for monitoring, by name. Called from any thread while the server runs."""
        return {
            "connections": len(self.clients.connected),
            "connections_max": self.clients.connections_max,
            **self.clients.budget.figures(),
        }

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            for client in tuple(self.clients.connected):
                client.sweep(_SWEEP_SECONDS)


class Beside(Protocol):
    """A service that runs on the server's event loop, beside the server."""

    async def start(self) -> None: ...
    def stop(self) -> None: ...


def serve(
    server: Server,
    ready: Callable[[], None],
    beside: Sequence[Beside] = (),
    runner: asyncio.Runner | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called when the server accepts clients.

    If the database was opened on the loop of a `runner`, pass that runner.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    _give_large_blocks_back()
    with nullcontext(runner) if runner else new_runner() as used:
        used.run(_serve(server, beside, ready))


def _give_large_blocks_back() -> None:
    """Let glibc take each large block of memory from the system, and give it back when it is freed.

    Otherwise, after the first few large blocks, glibc would allocate them among small ones, and a
    process would hold several times the memory that it uses.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def new_runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=new_event_loop)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's event loop if uvloop is installed, otherwise asyncio's `SelectorEventLoop`."""
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


async def _serve(server: Server, beside: Sequence[Beside], ready: Callable[[], None]) -> None:
    await server.start()
    try:
        for service in beside:
            await service.start()
        ended = _ended()
        gc.freeze()  # the garbage collector need not scan the modules loaded so far
        ready()
        await ended.wait()
    finally:
        for service in beside:
            service.stop()
        await server.stop()


def _ended() -> asyncio.Event:
    """An event that the first signal sets. On Windows the loop takes no signals, and Ctrl-C cancels
    the task instead."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
    return ended
