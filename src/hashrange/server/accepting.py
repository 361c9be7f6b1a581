"""How connections are accepted: all of them, or a fair share if several processes listen.

The event loop's own server is not used, because uvloop's server accepts only one connection in each
turn of the loop. If a thousand clients connected at once with expensive requests, the last client
would wait for the answers of all others.
"""

import asyncio
import errno
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from typing import Protocol

BACKLOG = 1024

ACCEPTED_PER_TURN = 64
"""The largest number of connections that are accepted before the event loop serves clients
again."""

HANDSHAKE_SECONDS_MAX = 10
"""The time limit for the TLS handshake."""

HEAD_START_SECONDS = 0.001
"""The time for which a process leaves new connections to processes that have fewer clients."""

FULL_SECONDS = 1.0
"""The pause before the next accept if the system has no resources for another connection."""

_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_log = logging.getLogger("hashrange")

Factory = Callable[[], asyncio.BaseProtocol]


class Balance(Protocol):
    """Tells each process that listens on one socket how many clients the other processes have."""

    def publish(self, clients: int, /) -> None:
        """Tell the other processes how many clients this process has."""
        ...

    def fewest(self) -> int:
        """The number of clients of the process that has the fewest."""
        ...


class Alone:
    """The balance of a process that shares its socket with no other process."""

    def publish(self, clients: int, /) -> None: ...

    def fewest(self) -> int:
        return sys.maxsize


class Accepting:
    """Accepts connections until it is closed, and lets processes with fewer clients accept first.

    The system wakes every process that waits for a connection. Without this class, the first one to
    wake could accept all waiting connections, and the other processes would be idle. `factory`
    makes a protocol for each connection. `connected` returns how many clients this process has.
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
        if self._sock.fileno() == -1:  # it has been closed
            return
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
        self._balance.publish(self._clients())
        if self._has_more_than_others():
            self._pause(HEAD_START_SECONDS, self._after_head_start)
            return
        for _ in range(ACCEPTED_PER_TURN):
            if not self._accept() or self._has_more_than_others():
                return

    def _has_more_than_others(self) -> bool:
        return self._clients() > self._balance.fewest()

    def _after_head_start(self) -> None:
        self._resume()
        self._accept()

    def _clients(self) -> int:
        return self._connected() + len(self._connecting)

    def _accept(self) -> bool:
        """Accept one connection. Returns False if no connection was waiting."""
        try:
            connection, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False  # there is none, another process was faster, or the client is gone
        except OSError as error:
            if error.errno not in _FULL:
                raise
            _log.error("no connection can be accepted: %s", error.strerror)
            self._pause(FULL_SECONDS, self._resume)
            return False
        connection.setblocking(False)
        task = self._loop.create_task(self._connect(connection))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        self._balance.publish(self._clients())
        return True

    async def _connect(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._factory,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX if self._tls else None,
            )
        except OSError:
            connection.close()  # the client is gone, or its handshake failed
