"""A server on a free port, over a runtime that a test controls."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar, cast

from waiting import SECONDS_MAX

from hashrange.model.caller import Caller
from hashrange.model.errors import ResourceNotFoundException
from hashrange.runtime.ending import Done
from hashrange.server.clients import Observer
from hashrange.server.connection import ClientConnection
from hashrange.server.listener import Listener, open_listener
from hashrange.server.server import Server

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00"
)
T = TypeVar("T")


class EchoRuntime:
    """Answers with the request's body, in a manner that depends on the operation."""

    operations = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan")

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.called: list[str] = []
        self.release: Callable[[], object] = lambda: None

    def call(self, name: str, body: bytes, caller: Caller, /) -> bytes:
        assert not on_an_event_loop(), "this could block it"
        self.called.append(name)
        if name == "Query":
            raise RuntimeError("our mistake")
        return body

    def turn(self) -> Self:
        return self

    def close(self) -> None:
        """The end of a turn; there is nothing to release."""

    def submit(
        self, name: str, body: bytes, done: Done, caller: Caller, turn: object = None, /
    ) -> None:
        self.bodies.append(body)
        loop = asyncio.get_running_loop()
        match name:
            case "GetItem":
                done(body)
            case "PutItem":  # later
                loop.call_later(0.02, done, body)
            case "UpdateItem":  # when the test says so
                self.release = lambda: loop.call_soon_threadsafe(done, body)
            case "DeleteItem":
                done(ResourceNotFoundException("Requested resource not found"))
            case "Query":
                raise RuntimeError("our mistake")
            case "Scan":
                done(b"x" * 1_000_000)


class HeldRuntime(EchoRuntime):
    """What it runs in a thread is held up until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def call(self, name: str, body: bytes, caller: Caller, /) -> bytes:
        answer = super().call(name, body, caller)
        self.go.wait(SECONDS_MAX)
        return answer


class Unanswerable(bytes):
    """An answer that is wrong, which is known only when it is sent."""

    def __len__(self) -> int:
        raise RuntimeError("our mistake")


class WrongRuntime(EchoRuntime):
    """The answer to the body `[]` cannot be sent."""

    def submit(self, name: str, body: bytes, done: Done, *rest: Any) -> None:
        wrong = Unanswerable(body) if body == b"[]" else body
        super().submit(name, wrong, done, *rest)


def on_an_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Running:
    """A server in a thread of its own."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: Listener,
        observer: Observer | None = None,
        runtime: EchoRuntime | None = None,
    ) -> None:
        self.runtime = runtime or EchoRuntime()
        self.server = Server(self.runtime, listener, observer=observer)
        self._loop = loop
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.port = listener.port
        self.run(self.server.start())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it on the server's event loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=SECONDS_MAX)

    def call(self, function: Callable[[], T]) -> T:
        """Call it on the server's event loop."""

        async def calling() -> T:
            return function()

        return self.run(calling())

    def connections(self) -> list[ClientConnection]:
        """The clients that are connected now."""
        return self.call(lambda: cast(list[ClientConnection], [*self.server.clients.connected]))

    def connect(self) -> "Client":
        return Client(socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_MAX))

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def running(
    loop: asyncio.AbstractEventLoop,
    listener: Listener | None = None,
    observer: Observer | None = None,
    runtime: EchoRuntime | None = None,
) -> Iterator[Running]:
    """Without a `listener`, the server takes a free port of 127.0.0.1."""
    server = Running(loop, listener or open_listener("127.0.0.1", 0), observer, runtime)
    try:
        yield server
        server.run(server.server.stop())
    finally:
        server.end()


class Client:
    """A plain socket, and the responses read from it."""

    def __init__(self, socket: socket.socket) -> None:
        self.socket = socket
        self._file = socket.makefile("rb")

    def send(self, *requests: bytes) -> None:
        self.socket.sendall(b"".join(requests))

    def receive(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by lower-case names, and body. EOFError if the server has closed."""
        first = self._file.readline()
        if not first:
            raise EOFError
        headers: dict[str, str] = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        body = self._file.read(int(headers.get("content-length", 0)))
        return int(first.split()[1]), headers, body

    def ask(self, *requests: bytes) -> tuple[int, bytes]:
        self.send(*requests)
        status, _, body = self.receive()
        return status, body

    def close(self) -> None:
        self._file.close()
        self.socket.close()


def request(operation: str, body: bytes = b"{}", *more: str) -> bytes:
    """`more` are further header lines."""
    lines = (
        "POST / HTTP/1.1",
        "Host: localhost",
        f"X-Amz-Target: DynamoDB_20120810.{operation}",
        "Content-Type: application/x-amz-json-1.0",
        "X-Amz-Date: 20260101T000000Z",
        f"Authorization: {AUTHORIZATION}",
        f"Content-Length: {len(body)}",
        *more,
    )
    return "\r\n".join((*lines, "", "")).encode() + body
