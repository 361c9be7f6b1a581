import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import cast

import boto3
import pytest
import uvloop
from serving import Client, EchoRuntime, HeldRuntime, Running, WrongRuntime, request, running
from waiting import SECONDS_MAX, wait_until

from hashrange import wire
from hashrange.server.clients import Clients
from hashrange.server.connection import ClientConnection
from hashrange.server.listener import ServerError, open_listener
from hashrange.server.patience import IDLE_SECONDS_MAX, SLOW_SECONDS_MAX
from hashrange.server.turns import Turns
from hashrange.wire.connection import BODY_BYTES_MAX

pytestmark = pytest.mark.slow


@pytest.fixture(params=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> asyncio.AbstractEventLoop:
    """The server that runs on it closes it."""
    return asyncio.new_event_loop() if request.param == "asyncio" else uvloop.new_event_loop()


@pytest.fixture
def server(loop: asyncio.AbstractEventLoop) -> Iterator[Running]:
    with running(loop) as server:
        yield server


@pytest.fixture
def client(server: Running) -> Iterator[Client]:
    client = server.connect()
    yield client
    client.close()


# ---- requests and answers ----


def test_a_connection_is_kept(client: Client) -> None:
    assert client.ask(request("GetItem", b'{"a":1}')) == (200, b'{"a":1}')
    assert client.ask(request("PutItem", b'{"a":2}')) == (200, b'{"a":2}')
    assert client.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 200


def test_a_request_may_come_byte_by_byte(client: Client) -> None:
    for byte in request("GetItem"):
        client.send(bytes([byte]))
    assert client.receive()[2] == b"{}"


def test_answers_leave_in_order_and_writes_are_seen_by_what_follows(
    server: Running, client: Client
) -> None:
    bodies = [b'{"n":%d}' % number for number in range(100)]
    operations = ["PutItem" if number % 10 == 0 else "GetItem" for number in range(100)]
    client.send(*map(request, operations, bodies))
    assert [client.receive()[2] for _ in bodies] == bodies
    assert server.runtime.bodies == bodies


def test_a_pipelined_request_starts_when_its_predecessor_is_answered(
    server: Running, client: Client
) -> None:
    client.send(request("UpdateItem"), request("GetItem"))
    wait_until(lambda: server.runtime.bodies)
    time.sleep(0.05)
    assert len(server.runtime.bodies) == 1
    server.runtime.release()
    assert [client.receive()[0], client.receive()[0]] == [200, 200]


def test_a_large_request_is_answered_in_a_thread_and_in_its_turn(
    server: Running, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    large = b"{}".ljust(1_000_000)
    client.send(request("GetItem", large), request("GetItem"), request("Query", large))
    assert [client.receive()[2] for _ in range(2)] == [large, b"{}"]
    with caplog.at_level(logging.CRITICAL):
        assert client.receive()[0] == 500
    assert server.runtime.called == ["GetItem", "Query"]


def test_an_error_of_the_api(client: Client) -> None:
    status, body = client.ask(request("DeleteItem"))
    assert status == 400
    assert b"ResourceNotFoundException" in body


def test_an_internal_error_is_logged_and_the_connection_stays_open(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    status, body = client.ask(request("Query"))
    assert status == 500
    assert b"our mistake" not in body
    assert "RuntimeError: our mistake" in caplog.text
    assert client.ask(request("GetItem"))[0] == 200


@pytest.mark.parametrize("operation", ["GetItem", "PutItem"])
def test_a_connection_that_cannot_be_answered_is_closed(
    loop: asyncio.AbstractEventLoop, operation: str
) -> None:
    with running(loop, runtime=WrongRuntime()) as server:
        client = server.connect()
        client.send(request(operation, b"[]"))
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive()
        other = server.connect()
        assert other.ask(request("GetItem"))[0] == 200
        for each in (client, other):
            each.close()


def test_boto3_over_http(server: Running) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{server.port}",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
    )
    answer = client.get_item(TableName="Things", Key={"pk": {"S": "a"}})
    assert answer["ResponseMetadata"]["RetryAttempts"] == 0
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.delete_item(TableName="Things", Key={"pk": {"S": "a"}})


# ---- ends ----


def test_connection_close(client: Client) -> None:
    assert client.ask(request("GetItem", b"{}", "Connection: close"))[0] == 200
    with pytest.raises(EOFError):
        client.receive()


def test_a_refused_client_can_read_why_while_it_sends_on(client: Client) -> None:
    head, _, _ = request("PutItem").partition(b"Content-Length")
    client.send(head, b"Content-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1))
    for _ in range(20):
        client.send(b"x" * 65536)
    assert client.receive()[0] == 413
    with pytest.raises(EOFError):
        client.receive()


def test_a_client_that_disconnects_early_affects_no_other(server: Running, client: Client) -> None:
    leaving = server.connect()
    leaving.send(request("UpdateItem"))
    wait_until(lambda: server.runtime.bodies)
    leaving.close()
    assert client.ask(request("GetItem"))[0] == 200
    server.runtime.release()
    wait_until(lambda: len(server.connections()) == 1)
    assert client.ask(request("GetItem"))[0] == 200
    assert len(server.runtime.bodies) == 3


def test_a_client_that_stops_sending_is_still_answered(client: Client) -> None:
    client.send(request("PutItem"), request("GetItem"), request("GetItem")[:-1])
    client.socket.shutdown(socket.SHUT_WR)
    assert [client.receive()[0], client.receive()[0]] == [200, 200]
    with pytest.raises(EOFError):
        client.receive()


def test_stopping_finishes_running_requests(server: Running, client: Client) -> None:
    idle = server.connect()
    assert idle.ask(request("GetItem"))[0] == 200
    client.send(request("PutItem", b'{"a":1}'), request("GetItem"))
    wait_until(lambda: len(server.runtime.bodies) == 2)
    server.run(server.server.stop())
    _, headers, body = client.receive()
    assert (headers["connection"], body) == ("close", b'{"a":1}')
    for each in (client, idle):
        with pytest.raises(EOFError):
            each.receive()
        each.close()
    with pytest.raises(OSError, match="refused"):
        server.connect()


def test_stopping_starts_no_queued_requests(loop: asyncio.AbstractEventLoop) -> None:
    runtime = HeldRuntime()
    with running(loop, runtime=runtime) as server:
        clients = [server.connect() for _ in range(2)]
        for client in clients:
            client.send(request("PutItem", b"{}".ljust(1_000_000)))
        wait_until(lambda: sum(each._call is not None for each in server.connections()) == 2)
        server.run(server.server.stop(0.1))
        runtime.go.set()
        server.server.clients._aside.shutdown(wait=True)
        assert runtime.called == ["PutItem"]
        for client in clients:
            client.close()


# ---- clients that are slow, idle or greedy ----


def test_no_more_requests_run_for_a_client_that_does_not_read(
    server: Running, client: Client
) -> None:
    client.send(*[request("Scan")] * 100)
    wait_until(lambda: server.runtime.bodies)
    time.sleep(0.3)
    assert len(server.runtime.bodies) < 50
    for _ in range(100):
        assert len(client.receive()[2]) == 1_000_000


def test_no_more_is_read_from_a_client_while_its_requests_wait(
    server: Running, client: Client
) -> None:
    client.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        client.send(*[request("UpdateItem", b" " * 100_000)] * 1000)
    assert len(server.runtime.bodies) == 1
    [serving] = server.connections()
    # One turn of the loop had read some of the hundred megabytes before it stopped.
    assert server.call(lambda: len(serving._waiting)) < 250
    client.close()
    wait_until(lambda: (server.runtime.release(), not server.server.clients.connected)[1])


def test_clients_that_connect_at_once_are_accepted_together(server: Running) -> None:
    """Otherwise the last of them would wait for as many turns of the event loop as there are."""
    blocked, go_on = threading.Event(), threading.Event()

    def block() -> None:
        blocked.set()
        go_on.wait(SECONDS_MAX)

    blocking = threading.Thread(target=server.call, args=(block,))
    blocking.start()
    blocked.wait(SECONDS_MAX)
    clients = [server.connect() for _ in range(50)]
    go_on.set()
    for _ in range(10):
        server.call(lambda: None)  # a turn or two
    assert len(server.connections()) == len(clients)
    blocking.join()
    for client in clients:
        client.close()


UNFINISHED = b"POST / HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("sent", "seconds_max"),
    [
        (b"", IDLE_SECONDS_MAX),
        (UNFINISHED, SLOW_SECONDS_MAX),
    ],
    ids=["idle", "unfinished"],
)
def test_an_idle_client_is_disconnected(
    server: Running, client: Client, sent: bytes, seconds_max: int
) -> None:
    client.send(request("GetItem"), sent)
    assert client.receive()[0] == 200
    [serving] = server.connections()
    server.call(lambda: serving.sweep(10))
    server.call(lambda: serving.sweep(seconds_max - 1))
    client.ask(b"Host: x\r\n\r\n" if sent else request("GetItem"))  # it moves again
    client.send(sent)
    wait_until(lambda: server.call(lambda: serving._wire.reading) == bool(sent))
    server.call(lambda: serving.sweep(10))
    server.call(lambda: serving.sweep(seconds_max - 1))
    assert server.connections() == [serving]
    server.call(lambda: serving.sweep(1))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


def test_a_client_that_waits_for_its_answer_is_not_disconnected(
    server: Running, client: Client
) -> None:
    client.send(request("UpdateItem"))
    wait_until(lambda: server.runtime.bodies)
    [serving] = server.connections()
    for _ in range(3):
        server.call(lambda: serving.sweep(IDLE_SECONDS_MAX))
    server.runtime.release()
    assert client.receive()[0] == 200


class Transport:
    """Counts the answers that are written."""

    def __init__(self) -> None:
        self.answers = 0

    def write(self, data: bytes) -> None:
        self.answers += data.count(b"HTTP/1.1 200 OK")

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str) -> object:
        return ("127.0.0.1", 1) if name == "peername" else None

    def set_write_buffer_limits(self, high: int) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def test_a_connection_that_fails_does_not_affect_the_others() -> None:
    class Failing:
        def handle(self, data: bytes) -> None:
            raise MemoryError

        def flush(self) -> None: ...

    class Working:
        handled = b""

        def handle(self, data: bytes) -> None:
            self.handled += data

        def flush(self) -> None: ...

    async def handled() -> bytes:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        turns, working = Turns(asyncio.get_running_loop(), EchoRuntime()), Working()
        turns.arrive(Failing(), b"x")
        turns.arrive(working, b"a")
        await asyncio.sleep(0.01)
        turns.arrive(working, b"b")
        await asyncio.sleep(0.01)
        return working.handled

    assert asyncio.run(handled()) == b"ab"


def test_one_client_does_not_block_the_loop() -> None:
    async def answered_by_turn() -> list[int]:
        runtime = EchoRuntime()
        parser = partial(wire.Connection, wire.targets(runtime.operations))
        clients = Clients(asyncio.get_running_loop(), runtime, parser, connections_max=1)
        connection, turns = ClientConnection(clients), clients.turns
        transport = Transport()
        connection.connection_made(cast(asyncio.Transport, transport))
        pipelined = request("GetItem") * 40
        turns.arrive(connection, pipelined)
        answered = []
        for _ in range(4):
            answered.append(transport.answers)
            await asyncio.sleep(0)
        return answered

    assert asyncio.run(answered_by_turn()) == [0, 16, 32, 40]


# ---- where it listens, and what it logs ----


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.com", ""])
def test_only_this_machine_is_served_without_keys(host: str) -> None:
    with pytest.raises(ServerError, match="is not a loopback address: name the accepted keys"):
        open_listener(host, 0)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3"])
def test_loopback_addresses(host: str) -> None:
    listener = open_listener(host, 0)
    with listener.sock:
        assert listener.port > 0


def test_a_port_in_use(server: Running) -> None:
    with pytest.raises(
        ServerError, match=f"^port {server.port} of 127.0.0.1 is in use; choose another port$"
    ):
        open_listener("127.0.0.1", server.port)


def test_otherwise_the_log_is_quiet(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.ask(request("GetItem"))
    client.ask(request("DeleteItem"))
    assert caplog.messages == []
