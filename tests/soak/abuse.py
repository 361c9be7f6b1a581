"""Attackers and a well-behaved client of one server, each in a process or thread of its own.

    python tests/soak/abuse.py            every attack for ten seconds, one line each

An attack is a request that a few clients send over and over. Beside it, a client reads and writes
a small item every few milliseconds and notes how long each answer took.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00"
)
TABLE = "items"
LARGE_ITEMS = 100
ELEMENTS = 190_000
"""A list of this many NULLs is 380 KB by DynamoDB's rules, and 2.7 MB as JSON."""
PAUSE_SECONDS = 0.01
Body = dict[str, Any]


class Attack(NamedTuple):
    operation: str
    body: Callable[[int], Body]
    clients: int


def key(pk: str) -> Body:
    return {"pk": {"S": pk}}


def large(number: int) -> Body:
    return key(f"large{number}")


def contains_all(count: int) -> Body:
    """A condition of `count` tests that never hold: each looks at every element."""
    return {
        "ConditionExpression": " OR ".join(["contains(l, :v)"] * count),
        "ExpressionAttributeValues": {":v": {"S": "absent"}},
    }


def transaction(client: int) -> Body:
    checks = [{"TableName": TABLE, "Key": large(n), **contains_all(130)} for n in range(100)]
    return {"TransactItems": [{"ConditionCheck": check} for check in checks]}


def batch_get(client: int) -> Body:
    keys = [large(number) for number in range(LARGE_ITEMS)]
    return {"RequestItems": {TABLE: {"Keys": keys, "ProjectionExpression": "l[7]"}}}


def increment(client: int) -> Body:
    return {
        "TableName": TABLE,
        "Key": large(0),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def filtered_scan(client: int) -> Body:
    request = contains_all(130)
    request["FilterExpression"] = request.pop("ConditionExpression")
    return {"TableName": TABLE, **request}


def small_scan(client: int) -> Body:
    """A page of 1 MB of items of 30 KB, as an ordinary report reads it."""
    return {
        "TableName": "small",
        "FilterExpression": "contains(l, :v) OR a = :v",
        "ExpressionAttributeValues": {":v": {"S": "absent"}},
    }


def transact_get(client: int) -> Body:
    gets = [{"Get": {"TableName": TABLE, "Key": large(n)}} for n in range(100)]
    return {"TransactItems": gets}


def conditional_put(client: int) -> Body:
    return {"TableName": TABLE, "Item": large(client % LARGE_ITEMS), **contains_all(130)}


ATTACKS = {
    "nothing": Attack("ListTables", lambda client: {}, 0),
    "TransactWriteItems of 100 costly checks": Attack("TransactWriteItems", transaction, 2),
    "BatchGetItem of 100 projected": Attack("BatchGetItem", batch_get, 2),
    "128 increments of one large item": Attack("UpdateItem", increment, 128),
    "filtered Scan of large items": Attack("Scan", filtered_scan, 4),
    "filtered Scan of small items": Attack("Scan", small_scan, 4),
    "TransactGetItems beyond 4 MB": Attack("TransactGetItems", transact_get, 4),
    "conditional PutItem": Attack("PutItem", conditional_put, 4),
}


# ---- the server ----


@contextmanager
def served(path: Path, patch: str = "pass") -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server on a file of its own: its port and its process. `patch` is run before it starts."""
    start = f"{patch}; from hashrange.tools.cli import main; main()"
    command = [sys.executable, "-c", start, "serve", str(path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        greeting = process.stdout.readline()
        yield int(greeting.split(" - ")[0].rpartition(":")[2]), process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Client:
    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=300)

    def ask(self, operation: str, body: Body | bytes) -> tuple[int, bytes]:
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": AUTHORIZATION,
        }
        encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._connection.request("POST", "/", encoded, headers)
        response = self._connection.getresponse()
        return response.status, response.read()

    def must(self, operation: str, body: Body) -> None:
        status, answer = self.ask(operation, body)
        assert status == 200, answer


def fill(port: int) -> None:
    client = Client(port)
    for name in (TABLE, "small", "mine"):
        client.must(
            "CreateTable",
            {
                "TableName": name,
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
    nulls = {"L": [{"NULL": True}] * ELEMENTS}
    for number in range(LARGE_ITEMS):
        item = {**large(number), "l": nulls, "n": {"N": "0"}}
        client.must("PutItem", {"TableName": TABLE, "Item": item})
    words = {"L": [{"S": f"word {number}"} for number in range(2500)]}
    for number in range(100):
        client.must("PutItem", {"TableName": "small", "Item": {**key(f"s{number}"), "l": words}})
    for number in range(100):
        client.must("PutItem", {"TableName": "mine", "Item": {**key(f"m{number}")}})


# ---- the attackers: a process of their own ----


def attack(name: str, port: int) -> None:
    """Send the requests of an attack until the process is killed."""
    chosen = ATTACKS[name]
    for number in range(chosen.clients):
        threading.Thread(target=_repeat, args=(chosen, number, port), daemon=True).start()
    threading.Event().wait()


def _repeat(chosen: Attack, number: int, port: int) -> None:
    body = json.dumps(chosen.body(number)).encode()
    client = Client(port)
    while True:
        started = time.perf_counter()
        status, _ = client.ask(chosen.operation, body)
        # One write: lines of several threads must not mix.
        os.write(1, f"{status} {time.perf_counter() - started:.3f}\n".encode())


@contextmanager
def attacked(name: str, port: int) -> Iterator[list[tuple[int, float]]]:
    """While it is attacked: the answers to the attackers so far, as (status, seconds)."""
    command = [sys.executable, __file__, name, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    answers: list[tuple[int, float]] = []

    def collect() -> None:
        assert process.stdout
        for line in process.stdout:
            status, seconds = line.split()
            answers.append((int(status), float(seconds)))

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        yield answers
    finally:
        process.kill()
        process.wait()
        collector.join()


# ---- the well-behaved client ----


class Waits(NamedTuple):
    """How long the answers to one kind of request took, in milliseconds."""

    p50: float
    p99: float
    longest: float
    answers: int


def waits(seconds: list[float]) -> Waits:
    ordered = sorted(second * 1000 for second in seconds)
    return Waits(
        ordered[len(ordered) // 2],
        ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
        ordered[-1],
        len(ordered),
    )


def behave(port: int, seconds: float) -> dict[str, Waits]:
    """Read and write small items for a while, each in turn."""
    client = Client(port)
    took: dict[str, list[float]] = {"GetItem": [], "PutItem": []}
    end = time.perf_counter() + seconds
    number = 0
    while time.perf_counter() < end:
        number += 1
        item = key(f"m{number % 100}")
        bodies = {
            "GetItem": {"TableName": "mine", "Key": item},
            "PutItem": {"TableName": "mine", "Item": {**item, "n": {"N": str(number)}}},
        }
        for operation, body in bodies.items():
            started = time.perf_counter()
            client.must(operation, body)
            took[operation].append(time.perf_counter() - started)
            time.sleep(PAUSE_SECONDS)
    return {operation: waits(each) for operation, each in took.items()}


def memory_mb(pid: int) -> tuple[int, int]:
    """Resident memory of a process and its children, and the process's peak, in MB."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        figures = dict(line.split(":", 1) for line in status.splitlines())
        return (
            int(figures["VmRSS"].split()[0]) // 1024,
            int(figures["VmHWM"].split()[0]) // 1024,
        )
    return 0, 0


def measure(names: list[str], seconds: float) -> None:
    for name in names:
        with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "db") as (port, server):
            fill(port)
            before = memory_mb(server.pid)
            with attacked(name, port) as answers:
                time.sleep(1)
                found = behave(port, seconds)
                shown = {status: 0 for status, _ in answers}
                for status, _ in answers:
                    shown[status] += 1
                longest = max((second for _, second in answers), default=0)
            print(
                f"{name}: {before} -> {memory_mb(server.pid)} MB; attackers {shown} "
                f"longest {longest:.2f} s"
            )
            for operation, each in found.items():
                print(
                    f"    {operation} p50 {each.p50:.1f} p99 {each.p99:.1f} "
                    f"max {each.longest:.1f} ms of {each.answers}",
                    flush=True,
                )


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, port]:
            attack(name, int(port))
        case [name]:
            measure([each for each in ATTACKS if re.search(name, each)], 10.0)
        case _:
            measure(list(ATTACKS), 10.0)
