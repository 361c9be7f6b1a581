"""The server: DynamoDB's HTTP interface on a listener."""

import asyncio
import gc
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import time

from hashrange import wire
from hashrange.interfaces.calls import Outcome, Runtime
from hashrange.interfaces.connection import ClientConnection
from hashrange.interfaces.listener import Listener, room_for_connections
from hashrange.interfaces.turns import Turns

DRAIN_SECONDS_MAX = 10
"""How long a stopping server waits for requests that are running."""

CONNECTIONS_MAX = 4096
"""How many clients are connected at once; further ones are told that there is no room."""

HANDSHAKE_SECONDS_MAX = 10
"""How long a client may take to agree on TLS."""

_SWEEP_SECONDS = 10
_BACKLOG = 1024


class Server:
    def __init__(self, runtime: Runtime, listener: Listener) -> None:
        self.runtime = runtime
        self.listener = listener
        self.targets = wire.targets(runtime.operations)
        self.verifier = None if listener.keys is None else wire.Verifier(listener.keys, time)
        self._aside = ThreadPoolExecutor(1, "hashrange-aside")
        self.connections: set[ClientConnection] = set()
        self.connections_max = room_for_connections(CONNECTIONS_MAX)

    async def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turns = Turns(self.loop, self.runtime)
        sock, _, tls = self.listener
        self._listener = await self.loop.create_server(
            lambda: ClientConnection(self),
            sock=sock,
            backlog=_BACKLOG,
            ssl=tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX if tls else None,
        )
        self._sweeper = self.loop.create_task(self._sweep())

    def call_aside(self, call: wire.Call, done: Callable[[Outcome], None]) -> None:
        """Answer a call in the one thread that is for calls that may take long."""
        answer = self.loop.run_in_executor(
            self._aside, self.runtime.call, call.operation, call.body, call.region
        )

        def tell(answer: asyncio.Future[bytes]) -> None:
            if not answer.cancelled():  # by `stop`, when nobody waits any more
                done(answer.exception() or answer.result())

        answer.add_done_callback(tell)

    async def stop(self) -> None:
        """Take no more requests and return when those that were running are answered."""
        self._listener.close()
        self._sweeper.cancel()
        for connection in tuple(self.connections):
            connection.stop()
        deadline = self.loop.time() + DRAIN_SECONDS_MAX
        while self.connections and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        self._aside.shutdown(wait=False, cancel_futures=True)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            for connection in tuple(self.connections):
                connection.sweep(_SWEEP_SECONDS)


def serve(runtime: Runtime, listener: Listener, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called when clients are answered."""
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(_serve(Server(runtime, listener), ready))


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where that installs."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(server: Server, ready: Callable[[], None]) -> None:
    await server.start()
    try:
        ended = _ended()
        gc.freeze()  # what is loaded by now stays: no request shall wait for its being looked at
        ready()
        await ended.wait()
    finally:
        await server.stop()


def _ended() -> asyncio.Event:
    """Set by the first signal; where loops take none (Windows), Ctrl-C cancels the task."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
    return ended
