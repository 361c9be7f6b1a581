"""Hostile requests and clients: the server refuses them and serves other clients meanwhile.

While each case runs, a client reads an item again and again; it is answered, and soon. The
server is a process of its own, so that what it takes in time and memory is its own.
"""

import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.processor import clock_of
from serving import Client, request
from waiting import SECONDS_MAX, wait_until

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="reads memory and times from /proc"),
]

WORK_SECONDS_MAX = 1.0
"""How long the server may compute between two answers to the other client. Usually it is a
twentieth of this. It is processor time, which does not depend on what else the machine does."""

MEMORY_MB_MAX = 400
KEY = {"a": {"S": "x"}}
ON_TABLE: dict[str, Any] = {"TableName": "abc"}
READ = request("GetItem", json.dumps({**ON_TABLE, "Key": KEY}).encode())


class Served:
    """A server in memory, with a table `abc` that has one item."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port

    def connect(self) -> Client:
        return Client(socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_MAX))

    def ask(self, operation: str, body: bytes, *headers: str) -> tuple[int, bytes]:
        client = self.connect()
        answer = client.ask(request(operation, body, *headers))
        client.close()
        return answer

    def processor_seconds(self) -> float:
        return time.clock_gettime(clock_of(self.process.pid))

    def peak_mb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) // 1024


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("served") / "log"
    command = [sys.executable, "-m", "hashrange", "serve", "--port", "0"]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        lines = (re.search(r"http://\S+:(\d+)", line) for line in process.stdout)
        served = Served(process, int(next(filter(None, lines))[1]))
        table = {
            **ON_TABLE,
            "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        assert served.ask("CreateTable", json.dumps(table).encode())[0] == 200
        assert served.ask("PutItem", json.dumps({**ON_TABLE, "Item": KEY}).encode())[0] == 200
        try:
            yield served
            assert served.peak_mb() < MEMORY_MB_MAX
        finally:
            process.terminate()
    assert "Traceback" not in log.read_text()


@contextmanager
def another_is_served(served: Served) -> Iterator[None]:
    """Meanwhile, and afterwards."""
    answered = [served.processor_seconds()]
    ended = threading.Event()

    def read() -> None:
        client = served.connect()
        while not ended.wait(0.002):
            assert client.ask(READ) == (
                200,
                json.dumps({"Item": KEY}, separators=(",", ":")).encode(),
            )
            answered.append(served.processor_seconds())
        client.close()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        count = len(answered)
        wait_until(lambda: len(answered) > count + 1 or not reader.is_alive())
        ended.set()
        reader.join()
    assert len(answered) > count + 1
    assert max(later - earlier for earlier, later in pairwise(answered)) < WORK_SECONDS_MAX


# ---- one request each ----

DEEP = 10_000
MANY = 100_000
LONG = 8_000_000


def many(form: str) -> dict[str, Any]:
    return {form % number: None for number in range(MANY)}


def filled(form: str, value: Any) -> dict[str, Any]:
    return dict.fromkeys(many(form), value)


def nested(opening: str, inner: str, closing: str) -> bytes:
    """A PutItem with a deeply nested attribute."""
    value = opening * DEEP + inner + closing * DEEP
    return b'{"TableName":"abc","Item":{"a":%b}}' % value.encode()


def put(value: Any) -> dict[str, Any]:
    return {**ON_TABLE, "Item": {"a": {"S": "y"}, "n": value}}


def scan(**members: Any) -> dict[str, Any]:
    return {**ON_TABLE, **members}


def copies(form: str, count: int = 150) -> dict[str, Any]:
    """An update that copies one attribute to hundreds of others."""
    first, _, what = form.partition(" ")
    actions = ", ".join(what % number for number in range(100, 100 + count))
    return {**ON_TABLE, "Key": KEY, "UpdateExpression": f"{first} {actions}"}


def deep_statement(opening: str) -> dict[str, str]:
    return {"Statement": ("SELECT * FROM abc WHERE " + opening * DEEP)[:8000]}


REQUESTS: list[tuple[str, str, Callable[[], Any]]] = [
    ("arrays without end", "PutItem", lambda: b'{"X":' + b"[" * LONG),
    ("objects without end", "PutItem", lambda: b'{"X":' + b'{"a":' * (LONG // 5)),
    ("deep arrays", "PutItem", lambda: nested("[", "1", "]")),
    ("deep maps", "PutItem", lambda: nested('{"M":{"a":', '{"S":"x"}', "}}")),
    ("deep lists", "PutItem", lambda: nested('{"L":[', '{"S":"x"}', "]}")),
    ("a deep expression", "Scan", lambda: scan(FilterExpression="(" * 4090)),
    ("a negation of negations", "Scan", lambda: scan(FilterExpression="NOT " * 1020 + "a = a")),
    ("a long expression", "Scan", lambda: scan(FilterExpression="a = " * (LONG // 4))),
    ("a long path", "Scan", lambda: scan(ProjectionExpression="a." * 2040 + "a")),
    ("many paths", "Scan", lambda: scan(ProjectionExpression=",".join(many("a%d")))),
    ("parentheses in a statement", "ExecuteStatement", lambda: deep_statement("(")),
    ("lists in a statement", "ExecuteStatement", lambda: deep_statement("[")),
    ("negations in a statement", "ExecuteStatement", lambda: deep_statement("NOT ")),
    ("a path in a statement", "ExecuteStatement", lambda: deep_statement("a.")),
    ("deep statements", "BatchExecuteStatement", lambda: {
        "Statements": [deep_statement("(")] * 10}),
    ("a long statement", "ExecuteStatement", lambda: {"Statement": "SELECT " * (LONG // 7)}),
    ("a long JSON number", "Scan", lambda: b'{"TableName":"abc","Limit":%b}' % (b"1" * LONG)),
    ("a long exponent", "Scan", lambda: b'{"TableName":"abc","Limit":1e%b}' % (b"1" * LONG)),
    ("a long number", "PutItem", lambda: put({"N": "1" * LONG})),
    ("a number of zeros", "PutItem", lambda: put({"N": "0" * LONG + "x"})),
    ("a number's long exponent", "PutItem", lambda: put({"N": "1e" + "9" * LONG})),
    ("numbers", "PutItem", lambda: put({"NS": list(map(str, range(5 * MANY)))})),
    ("strings", "PutItem", lambda: put({"SS": ["same"] * (5 * MANY)})),
    ("one string twice", "PutItem", lambda: put({"SS": [*many("%d"), "99999"]})),
    ("values", "PutItem", lambda: put({"L": [{"S": ""}] * (5 * MANY)})),
    ("nulls in a set", "PutItem", lambda: put({"SS": [None] * (5 * MANY)})),
    ("base64", "PutItem", lambda: put({"B": "AAAA" * (LONG // 4)})),
    ("names of attributes", "Scan", lambda: scan(
        FilterExpression="#a = :v", ExpressionAttributeNames=filled("#a%d", "a"))),
    ("values of attributes", "Scan", lambda: scan(
        FilterExpression="a = :v1", ExpressionAttributeValues=filled(":v%d", {"S": "x"}))),
    ("attributes to get twice", "Scan", lambda: scan(AttributesToGet=[*many("a%d"), "a1"])),
    ("expectations", "PutItem", lambda: {**put({"S": "x"}), "Expected": filled("a%d", {})}),
    ("updates", "UpdateItem", lambda: {
        **ON_TABLE, "Key": KEY, "AttributeUpdates": filled("a%d", {"Value": {"S": "x"}})}),
    ("a large value in many places", "TransactWriteItems", lambda: {"TransactItems": [
        {"Update": {**copies("SET a%d=:v", 400), "ExpressionAttributeValues": {
            ":v": {"L": [{"N": "1"}] * 40_000}}}}]}),
    ("filters", "Scan", lambda: scan(
        ScanFilter=filled("a%d", {"ComparisonOperator": "EQ", "AttributeValueList": []}))),
    ("a long name", "PutItem", lambda: {"TableName": "a" * LONG, "Item": {}}),
    ("a request that is printed", "BatchWriteItem", lambda: {"RequestItems": {
        "abc": [{"PutRequest": {"Item": {"a": {"L": [{"S": ""}] * 25_000}}}}] * 26}}),
    ("elements without members", "CreateTable", lambda: scan(KeySchema=[{}] * MANY)),
    ("a bucket's name", "ExportTableToPointInTime", lambda: {"S3Bucket": "a" * LONG + "!"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "content"), [pytest.param(op, it, id=name) for name, op, it in REQUESTS]
)
def test_a_request(served: Served, operation: str, content: Callable[[], Any]) -> None:
    body = content()
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    with another_is_served(served):
        status, answer = served.ask(operation, body)
    assert status in (400, 413) or (operation.startswith("Batch") and b"ValidationError" in answer)
    assert b"InternalServerError" not in answer


def test_copies_of_a_large_attribute(served: Served) -> None:
    """A small request can ask for hundreds of megabytes."""
    key = {"a": {"S": "large"}}
    large = {**ON_TABLE, "Item": {**key, "b": {"L": [{"NULL": True}] * 150_000}}}
    assert served.ask("PutItem", json.dumps(large).encode())[0] == 200
    for form in ("SET a%d = b", "SET b[%d] = b", "SET a%d = list_append(b, b)"):
        update = {**copies(form), "Key": key}
        with another_is_served(served):
            status, answer = served.ask("UpdateItem", json.dumps(update).encode())
        assert status == 400
        assert b"Item size to update" in answer


def test_a_decompression_bomb(served: Served) -> None:
    bomb = gzip.compress(b" " * 100_000_000)
    with another_is_served(served):
        for _ in range(10):
            assert served.ask("PutItem", bomb, "Content-Encoding: gzip")[0] == 413


# ---- clients ----


def test_a_client_that_floods_and_does_not_read(served: Served) -> None:
    """The sender is held back, and is answered once it reads."""
    sent = 2_000
    flood = READ * sent
    client = served.connect()
    client.socket.setblocking(False)
    with another_is_served(served):
        gone = 0
        while gone < len(flood):
            try:
                gone += client.socket.send(flood[gone : gone + 65536])
            except BlockingIOError:
                break
        time.sleep(0.3)
        client.socket.settimeout(SECONDS_MAX)
        writer = threading.Thread(target=client.socket.sendall, args=(flood[gone:],))
        writer.start()
        assert [client.receive()[0] for _ in range(sent)] == [200] * sent
        writer.join()
    client.close()


def test_a_body_of_single_bytes(served: Served) -> None:
    head = READ.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
    body = json.dumps({**ON_TABLE, "Key": KEY}).encode().ljust(500_000)
    client = served.connect()
    with another_is_served(served):
        client.send(head, b"".join(b"1\r\n%c\r\n" % byte for byte in body), b"0\r\n\r\n")
        assert client.receive()[0] == 200
    client.close()


def test_clients_that_stop_sending(served: Served) -> None:
    """Half a request gets no answer, a whole one gets one; then the server closes as well."""
    with ExitStack() as open_, another_is_served(served):
        for number in range(100):
            client = served.connect()
            open_.callback(client.close)
            whole = number % 2 == 0
            client.send(READ if whole else READ[:-10])
            client.socket.shutdown(socket.SHUT_WR)
            if whole:
                assert client.receive()[0] == 200
            with pytest.raises(EOFError):
                client.receive()


GARBAGE = {
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(range(200)),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "zeros": bytes(10_000),
    "a database's hello": b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
    "a proxy's": b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=list(GARBAGE))
def test_a_client_that_does_not_send_http_is_refused(served: Served, garbage: bytes) -> None:
    with another_is_served(served):
        for _ in range(50):
            client = served.connect()
            client.send(garbage)
            assert client.receive()[0] == 400
            client.close()


def test_clients_that_connect_and_disconnect(served: Served) -> None:
    with another_is_served(served):
        for number in range(1_000):
            client = served.connect()
            client.send(READ[: number % len(READ)])
            client.close()
