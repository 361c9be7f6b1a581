"""What the wire costs: our server beside a bare one, neither of which has a database.

Both answer each GetItem with the same constant body. The bare server parses HTTP with httptools
on uvloop, keeps headers and body, and sends three headers. Ours also checks the request, and sends
DynamoDB's headers. The two take turns. Prints requests/s, processor time per request, and the
ratio of the medians.

    python -m benchmarks.wire
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Self

import httptools
import uvloop

from benchmarks import load, processor
from benchmarks.servers import free_port
from hashrange.model.caller import Caller
from hashrange.runtime.ending import Done
from hashrange.server.listener import open_listener
from hashrange.server.server import Server, serve

ROUNDS = 3
SECONDS = 4
REQUEST = b'{"TableName":"Things","Key":{"pk":{"S":"partition"},"sk":{"S":"sort"}}}'
BODY = b'{"Item":{"pk":{"S":"partition"},"sk":{"S":"sort"},"data":{"S":"%b"}}}' % (b"x" * 80)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n"


class ConstantRuntime:
    operations = ("GetItem",)

    def call(self, name: str, body: bytes, caller: Caller, /) -> bytes:
        return BODY

    def turn(self) -> Self:
        return self

    def close(self) -> None:
        """The end of a turn."""

    def submit(
        self, name: str, body: bytes, done: Done, caller: Caller, turn: object = None, /
    ) -> None:
        done(BODY)


class BareProtocol(asyncio.Protocol):
    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.headers: dict[bytes, bytes] = {}

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        self.body = body

    def on_message_complete(self) -> None:
        self.headers.clear()
        self.transport.write(HEAD % len(BODY) + BODY)


async def serve_bare(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(BareProtocol, "127.0.0.1", port)
    await server.serve_forever()


SERVERS: dict[str, Callable[[int], None]] = {
    "hashrange": lambda port: serve(
        Server(ConstantRuntime(), open_listener("127.0.0.1", port)), lambda: None
    ),
    "bare": lambda port: uvloop.run(serve_bare(port)),
}


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def measure(requests: Path) -> dict[str, float]:
    """Median requests/s of each server. Both run at the same time and are driven in turns."""
    ports = {name: free_port() for name in SERVERS}
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.wire", "--serve", name, str(port)]
        )
        for name, port in ports.items()
    }
    rates: dict[str, list[float]] = {name: [] for name in SERVERS}
    try:
        for port in ports.values():
            wait_for(port)
        for _ in range(ROUNDS):
            for name, port in ports.items():
                before = processor.seconds_of(processes[name].pid)
                seen = load.drive(port, requests, SECONDS)
                used = processor.seconds_of(processes[name].pid) - before
                assert not seen.failed
                rates[name].append(seen.requests_per_second)
                each = used / (seen.requests_per_second * SECONDS) * 1e6
                print(f"{name:10} {seen.requests_per_second:9,.0f} requests/s {each:6.1f} us each")
    finally:
        for process in processes.values():
            process.terminate()
            process.wait()
    return {name: median(each) for name, each in rates.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description="Our wire beside a bare server")
    arguments.add_argument("--serve", nargs=2, metavar=("SERVER", "PORT"), help=argparse.SUPPRESS)
    parsed = arguments.parse_args()
    if parsed.serve:
        name, port = parsed.serve
        SERVERS[name](int(port))
        return
    if reason := load.missing():
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder) / "requests"
        load.write_requests(requests, [load.http_request("GetItem", REQUEST)])
        rates = measure(requests)
    print(f"hashrange / bare = {rates['hashrange'] / rates['bare']:.0%}")


if __name__ == "__main__":
    main()
