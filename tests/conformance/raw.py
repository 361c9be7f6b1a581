"""One connection to an endpoint, in plain HTTP."""

import http.client
import json
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from waiting import SECONDS_MAX

NOW = datetime.now(UTC)
SCOPE = f"conformance/{NOW:%Y%m%d}/us-east-1/dynamodb/aws4_request"
AUTHORIZATION = (
    f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host;x-amz-date;x-amz-target,"
    f" Signature={'0' * 64}"
)
ORIGIN = "http://localhost"
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": AUTHORIZATION,
    "X-Amz-Date": f"{NOW:%Y%m%dT%H%M%SZ}",
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection, kept open. Signatures are well-formed; a test may change the headers."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=SECONDS_MAX)

    def send(
        self,
        target: str | None = "DynamoDB_20120810.ListTables",
        body: bytes = b"{}",
        *,
        method: str = "POST",
        path: str = "/",
        **headers: str | None,
    ) -> Answer:
        """`headers` are named with underscores; None leaves one out."""
        changed = {name.replace("_", "-").title(): value for name, value in headers.items()}
        every = {**HEADERS, "X-Amz-Target": target, **changed}
        sent = {name: value for name, value in every.items() if value is not None}
        self.connection.request(method, path, body, sent)
        response = self.connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def call(self, operation: str, **members: Any) -> Answer:
        return self.send(f"DynamoDB_20120810.{operation}", json.dumps(members).encode())

    def pipeline(self, target: str, contents: Iterable[Any]) -> Iterator[Any]:
        """Requests with these contents, sent ahead of their answers; each answer's JSON."""
        lines = [f"{name}: {value}\r\n" for name, value in {**HEADERS, "Host": "x"}.items()]
        head = f"POST / HTTP/1.1\r\nX-Amz-Target: {target}\r\n{''.join(lines)}Content-Length: "
        address = (self.connection.host, self.connection.port)
        with (
            socket.create_connection(address, timeout=SECONDS_MAX) as sock,
            sock.makefile("rb") as stream,
        ):
            for bodies in _portions(json.dumps(content).encode() for content in contents):
                sock.sendall(
                    b"".join(
                        b"%b%d\r\n\r\n%b" % (head.encode(), len(body), body) for body in bodies
                    )
                )
                yield from (json.loads(_body(stream)) for _ in bodies)


def _portions(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Portions that fit into the buffers, so that neither side waits for the other to read."""
    portion: list[bytes] = []
    for body in bodies:
        portion.append(body)
        if len(portion) == 64 or len(body) > 1024:
            yield portion
            portion = []
    yield portion


def _body(stream: BinaryIO) -> bytes:
    """The body of the next response."""
    length = 0
    for line in iter(stream.readline, b"\r\n"):
        assert line, "the connection was closed"
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return stream.read(length)
