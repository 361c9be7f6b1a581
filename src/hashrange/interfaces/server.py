"""The server: DynamoDB's HTTP interface on a loopback address."""

import asyncio
import errno
import ipaddress
import signal
from collections.abc import Callable
from contextlib import suppress

from hashrange import wire
from hashrange.interfaces.calls import Runtime
from hashrange.interfaces.connection import ClientConnection
from hashrange.interfaces.turns import Turns

DRAIN_SECONDS_MAX = 10
"""How long a stopping server waits for requests that are running."""

_SWEEP_SECONDS = 10


class ServerError(Exception):
    """The server cannot start, in one line for the operator."""


class Server:
    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.targets = wire.targets(runtime.operations)
        self.connections: set[ClientConnection] = set()

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port, chosen by the system if 0 was asked. Raises ServerError."""
        address = loopback_address(host)
        self.loop = asyncio.get_running_loop()
        self.turns = Turns(self.loop)
        try:
            self._listener = await self.loop.create_server(
                lambda: ClientConnection(self), address, port
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ServerError(f"port {port} of {host} is in use") from None
            raise ServerError(f"cannot listen on {host}:{port}: {error.strerror}") from None
        self._sweeper = self.loop.create_task(self._sweep())
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Take no more requests and return when those that were running are answered."""
        self._listener.close()
        self._sweeper.cancel()
        for connection in tuple(self.connections):
            connection.stop()
        deadline = self.loop.time() + DRAIN_SECONDS_MAX
        while self.connections and self.loop.time() < deadline:
            await asyncio.sleep(0.01)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            for connection in tuple(self.connections):
                connection.sweep(_SWEEP_SECONDS)


def loopback_address(host: str) -> str:
    """Raises ServerError for any address that others than this machine could reach."""
    if host == "localhost":
        return "127.0.0.1"
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return host
    raise ServerError(f"{host} is not a loopback address; others need signed keys, yet to come")


def serve(runtime: Runtime, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the port. Raises ServerError."""
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(_serve(Server(runtime), host, port, ready))


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where that installs."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(server: Server, host: str, port: int, ready: Callable[[int], None]) -> None:
    bound = await server.start(host, port)
    try:
        ended = _ended()
        ready(bound)
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
