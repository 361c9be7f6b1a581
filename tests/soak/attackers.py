"""Attackers of a server, and a neighbour that measures how long its own requests take meanwhile.

Each runs in a process of its own: `python -m tests.soak.attackers NAME PORT SECONDS`.
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import cycle
from typing import Any

Attack = Callable[[int, float], Awaitable[None]]

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00"
)
TABLE = {"TableName": "abc"}
ITEM_BYTES = 390_000
LARGE_ITEMS = 40
WIDE = {"TableName": "wide"}
WIDE_ITEMS = 8
ELEMENTS = 190_000
"""A list of this many NULLs is 380 KB by DynamoDB's rules, and 2.7 MB as JSON."""
MB = 1024 * 1024


def request(operation: str, body: bytes) -> bytes:
    head = (
        "POST / HTTP/1.1\r\nHost: localhost\r\n"
        f"X-Amz-Target: DynamoDB_20120810.{operation}\r\n"
        "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
        f"Authorization: {AUTHORIZATION}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def call(operation: str, **members: Any) -> bytes:
    return request(operation, json.dumps({**TABLE, **members}).encode())


def key(name: str) -> dict[str, Any]:
    return {"a": {"S": name}}


def fill(port: int, large_items: int = LARGE_ITEMS, wide_items: int = 0) -> None:
    """A table with small items, and large ones of 16 MB in all; and one with wide items."""
    definition = {
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    large = {"b": {"S": "x" * ITEM_BYTES}}
    items = [key("small"), *({**key(str(number)), **large} for number in range(large_items))]
    items += [{**key(f"row {number}"), "n": {"N": "1"}} for number in range(2_000)]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        answers = sock.makefile("rb")
        requests = [call("CreateTable", **definition), call("CreateTable", **definition | WIDE)]
        requests += [call("PutItem", Item=item) for item in items]
        for number in range(wide_items):
            item = {**key(str(number)), "b": {"L": [{"NULL": True}] * ELEMENTS}}
            requests.append(call("PutItem", **WIDE, Item=item))
        for data in requests:
            sock.sendall(data)
            assert _answer(answers)[0] == 200


def _answer(stream: Any) -> tuple[int, int]:
    """Status, and bytes of the body."""
    status = int(stream.readline().split()[1])
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b": ")
        if name.lower() == b"content-length":
            length = int(value)
    stream.read(length)
    return status, length


def neighbour(port: int, seconds: float) -> list[float]:
    """How long each GetItem and PutItem took of a client that asks for one after the other."""
    taken = []
    requests = [call("GetItem", Key=key("small")), call("PutItem", Item=key("small"))]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = sock.makefile("rb")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for data in requests:
                began = time.perf_counter()
                sock.sendall(data)
                assert _answer(answers)[0] == 200
                taken.append(time.perf_counter() - began)
            time.sleep(0.002)
    return taken


# ---- attacks ----


async def _repeat(port: int, seconds: float, clients: int, send: Callable[..., Any]) -> None:
    """`send(reader, writer)` by many clients again and again, each on a new connection."""
    end = time.monotonic() + seconds

    async def client() -> None:
        while time.monotonic() < end:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                async with asyncio.timeout(max(0.01, end - time.monotonic())):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    try:
                        await send(reader, writer)
                    finally:
                        writer.transport.abort()
            await asyncio.sleep(0.001)

    await asyncio.gather(*(client() for _ in range(clients)))


def _sending(data: bytes, clients: int) -> Attack:
    async def attack(port: int, seconds: float) -> None:
        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                writer.write(data)
                await writer.drain()
                await _read(reader)

        await _repeat(port, seconds, clients, send)

    return attack


async def _read(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    await reader.readexactly(length)


def _not_reading(data: bytes | list[bytes], clients: int) -> Attack:
    """Clients that ask and do not read, one for one thing and the next for another."""
    turns = cycle(data if isinstance(data, list) else [data])

    async def attack(port: int, seconds: float) -> None:
        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(next(turns) * 3)
            await asyncio.sleep(seconds)

        await _repeat(port, seconds, clients, send)

    return attack


def _slow(data: bytes, clients: int, first: int) -> Attack:
    """Clients that send the `first` bytes at once, and then 600 bytes a second."""

    async def attack(port: int, seconds: float) -> None:
        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(data[:first])
            for at in range(first, len(data), 600):
                await asyncio.sleep(1)
                writer.write(data[at : at + 600])

        await _repeat(port, seconds, clients, send)

    return attack


def batch(table: str, items: int) -> bytes:
    keys = [key(str(number)) for number in range(items)]
    return request("BatchGetItem", json.dumps({"RequestItems": {table: {"Keys": keys}}}).encode())


INCREMENT = {
    "UpdateExpression": "ADD n :n",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
    "ReturnValues": "ALL_NEW",
}
HEAD = request("GetItem", b" " * 4_000)
VALUES = b'{"TableName":"abc","Item":{"a":{"S":"v"},"n":{"L":[%b]}}}' % b",".join(
    [b'{"S":"ab"}'] * 200_000
)
ATTACKS: dict[str, Attack] = {
    "nothing": _sending(b"", 0),
    "16 MB of lists": _sending(request("PutItem", b'{"X":' + b"[]," * (5 * MB)), 50),
    "16 MB of one string": _sending(request("PutItem", b'{"X":"' + b"x" * (15 * MB)), 50),
    "as many values as may be": _sending(request("PutItem", VALUES), 20),
    "invalid after many values": _sending(request("PutItem", VALUES[:-9]), 20),
    "scans": _sending(
        call("Scan", FilterExpression="n = :n", ExpressionAttributeValues={":n": {"N": "2"}}), 600
    ),
    "answers of 16 MB, not read": _not_reading(batch("abc", LARGE_ITEMS), 60),
    "wide answers of 16 MB, not read": _not_reading(batch("wide", WIDE_ITEMS), 60),
    "Scans of 1 MB, not read": _not_reading(call("Scan"), 1_000),
    "Scans of wide items, not read": _not_reading(call("Scan", **WIDE), 1_000),
    "wide items, not read": _not_reading(call("GetItem", **WIDE, Key=key("1")), 1_000),
    "large items, updated, not read": _not_reading(
        [call("UpdateItem", Key=key(str(number)), **INCREMENT) for number in range(LARGE_ITEMS)],
        300,
    ),
    "answers of 400 KB, not read": _not_reading(call("GetItem", Key=key("1")), 200),
    "long heads": _slow(b"POST / HTTP/1.1\r\n" + b"".join(
        b"h%d: %b\r\n" % (number, b"x" * 200) for number in range(60)), 4_000, 3_900),
    "bodies of 16 MB, 600 bytes a second": _slow(request("PutItem", b" " * 15 * MB), 500, MB),
    "strangers that say nothing": _slow(b"", 4_500, 0),
    "strangers with small heads": _slow(HEAD, 4_500, 300),
}  # fmt: skip


def main() -> None:
    name, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[-1]})
    if name == "neighbour":
        print(json.dumps(neighbour(port, seconds)))
    else:
        os.nice(5)
        asyncio.run(ATTACKS[name](port, seconds))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
