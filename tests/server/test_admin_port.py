"""The admin port: health, routes that need a token, and clients that are slow or strange."""

import asyncio
import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from serving import request, running
from waiting import SECONDS_MAX, wait_until

from hashrange import Database, Settings
from hashrange.kv import Full, ReadOnly, StoreError
from hashrange.model.errors import InternalServerError
from hashrange.runtime.inspection.capacities import Capacity
from hashrange.server.admin import (
    AdminPort,
    Answer,
    Health,
    Metrics,
    Route,
    Routes,
    json_answer,
    port,
    text_answer,
)
from hashrange.server.admin.health import FREE_BYTES_MIN, FULL_SECONDS
from hashrange.server.listener import listening_socket
from hashrange.storage import MemoryStore
from hashrange.testing import FaultyStore

TABLE = (
    b'{"TableName": "Things", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],'
    b'"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],'
    b'"BillingMode": "PAY_PER_REQUEST"}'
)
TOKEN = "a token of some length"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


class Admin:
    """An admin port on an event loop in a thread of its own."""

    def __init__(self, routes: Routes, **seconds: Any) -> None:
        self._loop = asyncio.new_event_loop()
        sock = listening_socket("127.0.0.1", 0)
        self.port: int = sock.getsockname()[1]
        self._admin = AdminPort(sock, TOKEN, routes, **seconds)
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._admin.start(), self._loop).result(SECONDS_MAX)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._admin.stop)
        self._loop.call_soon_threadsafe(self._loop.call_later, 0.05, self._loop.stop)
        self._thread.join()
        self._loop.close()

    close = stop

    def answering(self) -> int:
        """How many clients have sent a request that is not answered yet."""
        return len(self._admin._serving) - len(self._admin._strangers)

    def get(
        self, path: str, headers: Mapping[str, str] = AUTHORIZED, method: str = "GET"
    ) -> tuple[int, str]:
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX)
        ) as connection:
            connection.request(method, path, headers=dict(headers))
            response = connection.getresponse()
            return response.status, response.read().decode()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_MAX)


@contextmanager
def admin_port(routes: Routes, **seconds: Any) -> Iterator[Admin]:
    admin = Admin(routes, **seconds)
    try:
        yield admin
    finally:
        admin.stop()


def disconnected(client: socket.socket) -> bool:
    """Wait until the server has closed the connection without an answer."""
    with suppress(ConnectionError):
        return client.recv(1) == b""
    return True


# ---- routes ----


@pytest.fixture
def admin() -> Iterator[Admin]:
    routes = {
        "/open": Route(lambda query: text_answer("open"), open=True),
        "/figures": Route(lambda query: json_answer({"query": dict(query)})),
        "/broken": Route(lambda query: text_answer(str(1 // 0))),
    }
    with admin_port(routes) as admin:
        yield admin


def test_health_is_open(admin: Admin) -> None:
    assert admin.get("/healthz", {}) == (200, "alive\n")
    assert admin.get("/healthz", {}, "HEAD") == (200, "")
    assert admin.get("/open", {}) == (200, "open\n")


@pytest.mark.parametrize("path", ["/figures", "/absent", "/"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer guess"}, {"Authorization": TOKEN}, {"Authorization": "é"}],
)
def test_everything_else_needs_the_token(
    admin: Admin, path: str, headers: Mapping[str, str]
) -> None:
    assert admin.get(path, headers) == (
        401,
        "this path needs the header Authorization: Bearer TOKEN\n",
    )


def test_a_route_gets_its_query(admin: Admin) -> None:
    status, body = admin.get("/figures?table=Things&top=5")
    assert (status, json.loads(body)) == (200, {"query": {"table": "Things", "top": "5"}})


def test_an_unknown_path_names_the_known_ones(admin: Admin) -> None:
    assert admin.get("/absent") == (
        404,
        "there is no such path; the paths are /broken, /figures, /healthz, /open\n",
    )


def test_a_route_that_fails(admin: Admin, caplog: pytest.LogCaptureFixture) -> None:
    assert admin.get("/broken") == (500, "internal error; the log has the details\n")
    assert caplog.messages == ["the admin port could not answer /broken"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_is_changed_through_it(admin: Admin, method: str) -> None:
    assert admin.get("/open", method=method)[0] == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("prometheus-target:9000", 200), ("[::1]:1", 200), ("evil.example", 403)],
)
def test_the_host_of_another_server(admin: Admin, host: str, status: int) -> None:
    assert admin.get("/healthz", {"Host": host})[0] == status


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n folded: 1\r\n\r\n",
        b"GET //[ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_a_malformed_request(admin: Admin, head: bytes) -> None:
    with admin.connect() as client:
        client.sendall(head)
        assert client.recv(1000).startswith(b"HTTP/1.1 400 Bad Request\r\n")


# ---- clients that are slow or too many ----


def test_a_head_that_does_not_end(admin: Admin) -> None:
    with admin.connect() as client:
        client.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * port.HEAD_BYTES_MAX)
        assert disconnected(client)


def test_a_client_that_sends_nothing_is_disconnected() -> None:
    with admin_port({}, transfer_seconds=0.5) as admin:
        with admin.connect() as silent:
            assert disconnected(silent)
        assert admin.get("/healthz")[0] == 200


def test_a_client_that_does_not_read_is_disconnected() -> None:
    large = Answer(200, bytes(50_000_000), "text/plain")
    routes = {"/large": Route(lambda query: large, open=True)}
    with admin_port(routes, transfer_seconds=1.0) as admin:
        with admin.connect() as client:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: not admin._admin._serving)
        assert admin.get("/healthz")[0] == 200


def test_more_clients_than_allowed(admin: Admin) -> None:
    clients = [admin.connect() for _ in range(port.CONNECTIONS_MAX)]
    wait_until(lambda: len(admin._admin._serving) == port.CONNECTIONS_MAX)
    with admin.connect():
        assert disconnected(clients[0]), "it has sent nothing for the longest time"
    for client in clients:
        client.close()
    wait_until(lambda: not admin._admin._serving)
    assert admin.get("/healthz")[0] == 200


def test_slow_answers_do_not_delay_the_health_check() -> None:
    release = threading.Event()
    slow = Route(lambda query: text_answer(str(release.wait(SECONDS_MAX))), open=True)
    with admin_port({"/slow": slow}, answer_seconds=0.2) as admin:
        try:
            assert admin.get("/slow") == (503, "no answer within 0.2 seconds\n")
            for _ in range(10):
                client = admin.connect()
                client.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert admin.get("/healthz") == (200, "alive\n")
        finally:
            release.set()


# ---- readiness ----


class Clock:
    """Each probe is fresh."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def ready(health: Health) -> tuple[int, str]:
    status, body, _ = health.ready({})
    return status, body.decode().rstrip("\n")


@pytest.mark.parametrize(
    ("step", "fault", "text"),
    [
        ("commit", Full, "injected at commit"),
        ("begin", StoreError, "injected at begin"),
        ("read", StoreError, "injected at read"),
    ],
)
def test_readiness_follows_the_store(step: str, fault: type[StoreError], text: str) -> None:
    store = FaultyStore(MemoryStore(), faults={step: [fault]})
    with Database(store, settings=Settings()) as database:
        health = Health(database.runtime, clock=Clock())
        assert ready(health) == (200, "ready")
        store.rate = 1.0
        assert ready(health) == (503, text)
        store.rate = 0.0
        assert ready(health) == (200, "ready")


def test_a_store_that_refuses_writes_stays_unready() -> None:
    store = FaultyStore(MemoryStore(), faults={"commit": [ReadOnly]})
    with Database(store) as database:
        health = Health(database.runtime, clock=Clock())
        store.rate = 1.0
        assert ready(health)[0] == 503
        store.rate = 0.0
        assert ready(health) == (503, "after an injected I/O error it is not known what is on disk")


class Probed:
    def __init__(self, probe: Callable[[], object]) -> None:
        self.probes = 0
        self._probe = probe

    def probe(self) -> None:
        self.probes += 1
        self._probe()


def test_probes_within_a_second_are_one() -> None:
    runtime = Probed(lambda: None)
    health = Health(runtime, clock=lambda: 1.0)
    assert [ready(health) for _ in range(5)] == [(200, "ready")] * 5
    assert runtime.probes == 1


def test_a_store_that_does_not_answer() -> None:
    release = threading.Event()
    runtime = Probed(lambda: release.wait(SECONDS_MAX))
    health = Health(runtime, clock=Clock(), probe_seconds=0.1)
    try:
        for _ in range(2):  # one begins the probe, and one finds it under way
            assert ready(health) == (503, "the store has not answered for 0.1 seconds")
        assert runtime.probes == 1
    finally:
        release.set()
    wait_until(lambda: ready(health) == (200, "ready"))


def test_a_disk_with_little_room() -> None:
    figures = {"disk_free_bytes": FREE_BYTES_MIN}
    health = Health(Probed(lambda: None), lambda: figures, Clock())
    assert ready(health) == (200, "ready")
    figures["disk_free_bytes"] = 1_000
    assert ready(health) == (503, "the disk is full: 1,000 bytes are free; free some space")
    figures["disk_free_bytes"] = FREE_BYTES_MIN
    assert ready(health) == (200, "ready")


def test_an_archive_that_is_too_far_behind() -> None:
    figures = {"archive_lag_seconds": 60}
    health = Health(Probed(lambda: None), lambda: figures, Clock(), archive_lag_max=60)
    assert ready(health) == (200, "ready")
    figures["archive_lag_seconds"] = 1_061
    behind = "the archive is 1,061 seconds behind; the log says why it cannot be written"
    assert ready(health) == (503, behind)
    assert ready(Health(Probed(lambda: None), lambda: figures, Clock())) == (200, "ready")


def test_a_request_that_found_no_room() -> None:
    """A quota shows only in what fails."""
    store = FaultyStore(MemoryStore(), faults={"commit": [Full]})
    now = [100.0]
    with Database(store) as database:
        health = Health(database.runtime, clock=lambda: now[0])
        store.rate = 1.0
        with pytest.raises(InternalServerError) as refusal:
            database.runtime.call("CreateTable", TABLE)
        health.note(refusal.value)
        store.rate = 0.0
        assert ready(health) == (
            503,
            "a request has just failed because the disk was full; free some space",
        )
        now[0] += FULL_SECONDS
        assert ready(health) == (200, "ready")


# ---- metrics ----


def test_metrics_while_the_database_is_away() -> None:
    pytest.importorskip("prometheus_client")
    provisioned = [Capacity("Things", None, 5, 6, None, None, None)]
    figures = {"ready": 1}

    def capacities() -> list[Capacity]:
        if provisioned:
            return [provisioned.pop()]
        raise StoreError("away")

    metrics = Metrics(lambda: figures, capacities=capacities)
    for figures["ready"] in (1, 1, 0):
        status, body, _ = metrics.render({})
        assert status == 200
        assert b"Things" in body


def test_metrics_count_requests_and_errors_by_operation() -> None:
    pytest.importorskip("prometheus_client")
    metrics = Metrics(lambda: {"commits": 3, "wal_bytes": 4096})
    with running(asyncio.new_event_loop(), observer=metrics.observe) as server:
        client = server.connect()
        for operation in ("GetItem", "GetItem", "DeleteItem", "Query"):
            client.ask(request(operation))
        client.ask(request("NoOperation"))
        client.close()
    status, body, _ = metrics.render({})
    found = dict(re.findall(r"^(\w\S*) (\S+)$", body.decode(), re.MULTILINE))
    assert status == 200
    assert found['hashrange_request_seconds_count{operation="GetItem"}'] == "2.0"
    assert found['hashrange_request_seconds_bucket{le="+Inf",operation="GetItem"}'] == "2.0"
    assert found['hashrange_request_bytes_total{operation="GetItem"}'] == "4.0"
    assert (
        found['hashrange_errors_total{error="ResourceNotFoundException",operation="DeleteItem"}']
        == "1.0"
    )
    assert found['hashrange_errors_total{error="InternalServerError",operation="Query"}'] == "1.0"
    assert found['hashrange_other_responses_total{status="400"}'] == "1.0"
    assert found["hashrange_commits_total"] == "3.0"
    assert found["hashrange_wal_bytes"] == "4096.0"
