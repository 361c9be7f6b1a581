"""The admin port's HTTP: one small request for each connection, then the connection is closed.

The number of connections and their time are limited, and routes are answered in threads. So a slow
client or a slow answer delays no client of the API. Unless there is a route for it, `GET /healthz`
is answered by the event loop itself. An answer proves that the loop, which also serves the API, is
running.
"""

import asyncio
import hmac
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from hashrange.server.admin.routes import Answer, Routes, text_answer
from hashrange.wire import NO_ORIGINS, ForeignHostError, Origins

CONNECTIONS_MAX = 16
"""The largest number of connected clients. If another client connects, the oldest client without
a complete request is disconnected. If all have sent their requests, the new client is refused."""

HEAD_BYTES_MAX = 8 * 1024
TRANSFER_SECONDS_MAX = 10
"""The time limit for a client to send a request, and to read the answer."""

ANSWER_SECONDS_MAX = 30
"""The time limit for an answer. A client whose request takes longer gets status 503."""

_THREADS = 4
HEALTH_PATH = "/healthz"

_log = logging.getLogger("hashrange")


class AdminPort:
    """Serves `routes` on a listening socket, from the running event loop.

    Routes that are not open need `Authorization: Bearer TOKEN`. A request must address the server
    by an IP address, a local name, or the host of an allowed origin. Other names are refused, as on
    the API's port, because an outsider could have registered them for an attack by DNS rebinding.
    """

    def __init__(
        self,
        sock: socket.socket,
        token: str,
        routes: Routes,
        origins: Origins = NO_ORIGINS,
        transfer_seconds: float = TRANSFER_SECONDS_MAX,
        answer_seconds: float = ANSWER_SECONDS_MAX,
    ) -> None:
        self._sock = sock
        self._transfer_seconds = transfer_seconds
        self._answer_seconds = answer_seconds
        self._routes = routes
        self._origins = origins
        self._authorization = f"Bearer {token}".encode()
        self._threads = ThreadPoolExecutor(_THREADS, "hashrange-admin")
        self._serving: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        """The clients whose request has not arrived yet, oldest first."""

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, sock=self._sock, limit=HEAD_BYTES_MAX, backlog=CONNECTIONS_MAX
        )

    def stop(self) -> None:
        """Stop answering."""
        self._server.close()
        for task in self._serving:
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= CONNECTIONS_MAX and not self._turn_away():
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None, "a connection must be served by a task"
        self._serving.add(task)
        self._strangers[task] = writer
        try:
            async with asyncio.timeout(self._transfer_seconds):
                request = _read(await reader.readuntil(b"\r\n\r\n"))
            self._strangers.pop(task, None)
            answer = await self._answer(request)
            async with asyncio.timeout(self._transfer_seconds):
                writer.write(_rendered(request, answer))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, EOFError, asyncio.LimitOverrunError):
            pass  # the client is gone, is too slow, or sends too much
        except asyncio.CancelledError:
            pass  # the port is closed: asyncio would log a cancelled task
        finally:
            self._serving.discard(task)
            self._strangers.pop(task, None)
            writer.transport.abort()

    def _turn_away(self) -> bool:
        """Disconnect the oldest client that has not sent a complete request. Returns False if there
        is no such client."""
        if not self._strangers:
            return False
        task, writer = next(iter(self._strangers.items()))
        del self._strangers[task]
        self._serving.discard(task)
        writer.transport.abort()
        return True

    async def _answer(self, request: "_Request | None") -> Answer:
        if request is None:
            return text_answer("the admin port cannot read this request", 400)
        try:
            self._origins.check_host(request.headers.get("host", "").encode("latin-1"))
        except ForeignHostError:
            return text_answer("the Host header names another server", 403)
        if request.method not in self._methods(request.path):
            methods = " and ".join(self._methods(request.path))
            return text_answer(f"this path answers only {methods}", 405)
        if request.path == HEALTH_PATH and HEALTH_PATH not in self._routes:
            return text_answer("alive")
        return await self._route(request)

    def _methods(self, path: str) -> tuple[str, ...]:
        route = self._routes.get(path)
        return ("POST",) if route is not None and route.changes else ("GET", "HEAD")

    async def _route(self, request: "_Request") -> Answer:
        route = self._routes.get(request.path)
        if not (route and route.open) and not self._permits(request):
            return text_answer("this path needs the header Authorization: Bearer TOKEN", 401)
        if route is None:
            known = ", ".join(sorted({HEALTH_PATH, *self._routes}))
            return text_answer(f"there is no such path; the paths are {known}", 404)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await loop.run_in_executor(self._threads, route.answer, request.query)
        except TimeoutError:
            return text_answer(f"no answer within {self._answer_seconds} seconds", 503)
        except Exception:
            _log.exception("the admin port could not answer %s", request.path)
            return text_answer("internal error; the log has the details", 500)

    def _permits(self, request: "_Request") -> bool:
        sent = request.headers.get("authorization", "").encode("latin-1")
        return hmac.compare_digest(sent, self._authorization)


class _Request(NamedTuple):
    """The head of a request. Names of headers are in lower case; if a header is repeated, the last
    value counts."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


def _read(head: bytes) -> _Request | None:
    """The head of a request, or None if it is malformed. A body is never read."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    with suppress(ValueError):
        url = urlsplit(words[1])
        headers = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                return None
            headers[name.lower()] = value.strip()
        return _Request(words[0], url.path, dict(parse_qsl(url.query)), headers)
    return None


def _rendered(request: _Request | None, answer: Answer) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n\r\n"
    ).encode()
    return head if request and request.method == "HEAD" else head + answer.body
