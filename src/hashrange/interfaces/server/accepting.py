"""How connections are accepted: all of them, or a fair share if several processes listen."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Protocol

BACKLOG = 1024

HANDSHAKE_SECONDS_MAX = 10
"""How long a client may take for the TLS handshake."""

HEAD_START_SECONDS = 0.001
"""For how long a process leaves a connection to others that have fewer clients."""

FULL_SECONDS = 1.0
"""How long nothing is accepted when the system has no room for another connection."""

_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_log = logging.getLogger("hashrange")

Factory = Callable[[], asyncio.BaseProtocol]


class Accepting(Protocol):
    """An object that accepts connections until it is closed."""

    def close(self) -> None: ...


Accept = Callable[
    [socket.socket, ssl.SSLContext | None, Factory, Callable[[], int]], Awaitable[Accepting]
]
"""Begins to accept connections on a socket; each gets a protocol of the factory. The last argument
returns how many clients are connected."""


async def accept_all(
    sock: socket.socket,
    tls: ssl.SSLContext | None,
    factory: Factory,
    connected: Callable[[], int],
) -> Accepting:
    """For a process that has the socket for itself."""
    return await asyncio.get_running_loop().create_server(
        factory,
        sock=sock,
        backlog=BACKLOG,
        ssl=tls,
        ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX if tls else None,
    )


class Balance(Protocol):
    """The numbers of clients of all processes that listen on one socket."""

    def publish(self, clients: int, /) -> None:
        """Tell the others how many clients this process has."""
        ...

    def fewest(self) -> int:
        """The number of clients of the process that has fewest."""
        ...


class SharedAccepting:
    """Accepts connections one by one, and lets a process with fewer clients go first.

    The system wakes every process that waits for a connection, and whichever comes first could
    take all that have arrived. Then one process would serve most of the clients, and the others
    would be idle.
    """

    def __init__(
        self,
        balance: Balance,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        factory: Factory,
        connected: Callable[[], int],
    ) -> None:
        self._balance = balance
        self._sock = sock
        self._tls = tls
        self._factory = factory
        self._connected = connected
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[None]] = set()
        self._paused: asyncio.TimerHandle | None = None
        sock.listen(BACKLOG)
        sock.setblocking(False)
        self._balance.publish(0)
        self._resume()

    def close(self) -> None:
        if self._paused is None:
            self._loop.remove_reader(self._sock)
        else:
            self._paused.cancel()
        self._sock.close()

    def _resume(self) -> None:
        self._paused = None
        self._loop.add_reader(self._sock, self._arrived)

    def _pause(self, seconds: float, then: Callable[[], None]) -> None:
        self._loop.remove_reader(self._sock)
        self._paused = self._loop.call_later(seconds, then)

    def _arrived(self) -> None:
        clients = self._clients()
        self._balance.publish(clients)
        if clients > self._balance.fewest():
            self._pause(HEAD_START_SECONDS, self._after_head_start)
        else:
            self._accept()

    def _after_head_start(self) -> None:
        self._resume()
        self._accept()

    def _clients(self) -> int:
        return self._connected() + len(self._connecting)

    def _accept(self) -> None:
        try:
            connection, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was quicker, or the client has gone
        except OSError as error:
            if error.errno not in _FULL:
                raise
            _log.error("no connection can be accepted: %s", error.strerror)
            self._pause(FULL_SECONDS, self._resume)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._connect(connection))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        self._balance.publish(self._clients())

    async def _connect(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._factory,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX if self._tls else None,
            )
        except OSError:
            connection.close()  # the client has gone, or its handshake failed
