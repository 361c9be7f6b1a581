"""`python -m benchmarks.calls`: the Python calls of hashrange's own code, for one warm request.

Requests are made one at a time, over HTTP and over the asynchronous store of the tests.
`benchmarks.embedded` counts the calls of requests in the process. A generator or a coroutine counts
each time that it is resumed. Functions written in C do not count, nor do those of other packages.
--list prints the functions that one operation calls: `python -m benchmarks.calls --list PutItem`.
"""

import argparse
import asyncio
import json
import platform
import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType

import hashrange
from benchmarks import embedded
from hashrange.model.caller import DEFAULT_CALLER
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.testing.async_memory import AsyncMemoryStore

WARM, COUNTED = 20, 200
OURS = f"{Path(hashrange.__file__).parent}/"
RELAY = f"{OURS}embedded/"
"""What `hashrange.serve` puts between a server and its runtime; `hashrange serve` does not."""
SET_UP = (
    f"Python {platform.python_version()}, {COUNTED} requests each after {WARM} that warm up; "
    "one table without an index, an item of 80 bytes that does not change"
)
TABLE = {
    "TableName": "calls",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"pk": {"S": "one"}}
REQUESTS = {
    "GetItem": {"TableName": "calls", "Key": KEY},
    "PutItem": {"TableName": "calls", "Item": KEY | {"text": {"S": "x" * 72}}},
}
HEADERS = (
    "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{}\r\n"
    "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
    "Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00\r\nContent-Length: {}\r\n\r\n"
)

Counts = dict[str, Counter[str]]
"""For each operation, how often each function was called by all of its requests."""


class Profile:
    """Counts the calls of our functions in each thread that begins after it was made."""

    def __init__(self) -> None:
        self.counts: Counter[str] | None = None
        threading.setprofile(self._count)
        sys.setprofile(self._count)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        ours = path.startswith(OURS) and not path.startswith(RELAY)
        if ours and event == "call" and self.counts is not None:
            self.counts[f"{path.removeprefix(OURS)}:{frame.f_code.co_qualname}"] += 1

    def close(self) -> None:
        threading.setprofile(None)
        sys.setprofile(None)


async def count(ask: Callable[[str, bytes], Awaitable[None]], profile: Profile) -> Counts:
    counts: Counts = {}
    await ask("CreateTable", json.dumps(TABLE).encode())
    for name, request in REQUESTS.items():
        body = json.dumps(request).encode()
        for _ in range(WARM):
            await ask(name, body)
        await asyncio.sleep(0.3)  # what the requests have left to do does not count
        profile.counts = counts[name] = Counter()
        for _ in range(COUNTED):
            await ask(name, body)
        profile.counts = None
    return counts


def over_http() -> Counts:
    profile = Profile()
    with tempfile.TemporaryDirectory() as folder:
        database = hashrange.connect(f"{folder}/calls.db", durability="relaxed")
        with database, hashrange.serve(database) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:

                async def ask(name: str, body: bytes) -> None:
                    connection.sendall(HEADERS.format(name, len(body)).encode() + body)
                    answer = connection.recv(65536)
                    assert b" 200 " in answer[:20], answer

                counts = asyncio.run(count(ask, profile))
            profile.close()
    return counts


async def over_async_memory() -> Counts:
    loop = asyncio.get_running_loop()
    runtime = AsyncRuntime(AsyncMemoryStore(turns_max=0), loop)

    async def ask(name: str, body: bytes) -> None:
        answer = loop.create_future()
        turn = runtime.turn()
        runtime.submit(name, body, answer.set_result, DEFAULT_CALLER, turn)
        turn.close()
        outcome = await answer
        assert isinstance(outcome, bytes), outcome

    profile = Profile()
    counts = await count(ask, profile)
    profile.close()
    await runtime.aclose()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--list", choices=REQUESTS, help="print each function that it calls")
    listed = parser.parse_args().list
    print(SET_UP)
    ways = {
        "over HTTP, SQLite, durability relaxed, one connection": over_http(),
        "over the asynchronous store in memory, turns_max=0": asyncio.run(over_async_memory()),
    }
    for way, counts in ways.items():
        for operation, calls in counts.items():
            print(f"{calls.total() / COUNTED:7.1f}  {operation} {way}")
            if operation == listed:
                for function, number in calls.most_common():
                    print(f"{number / COUNTED:14.2f}  {function}")
    with embedded.filled() as database:
        for name, work in embedded.works(database).items():
            print(f"{embedded.calls(work):7}  {name} in the process, in memory")


if __name__ == "__main__":
    main()
