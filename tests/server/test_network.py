"""Serving on a network: keys, TLS, and clients that are slow or too many or send too much."""

import asyncio
import re
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import boto3
import pytest
import trustme
from botocore.config import Config
from botocore.exceptions import ClientError
from serving import Client, Running, request, running
from waiting import SECONDS_MAX, wait_until

import hashrange
from hashrange.server.listener import (
    ServerError,
    configured_keys,
    connections_possible,
    open_listener,
    tls_context,
)
from hashrange.server.patience import SLOW_SECONDS_MAX
from hashrange.server.server import Server
from hashrange.wire import read_keys
from hashrange.wire.connection import BODY_BYTES_MAX

KEYS = read_keys("AKID secret")
IDLE = 1_000


@pytest.fixture
def server() -> Iterator[Running]:
    with running(asyncio.new_event_loop()) as server:
        yield server


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 and its key, in one file."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    authority.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem.write_to_path(
        path
    )
    return path


# ---- keys ----


def get_item(url: str, secret: str, verify: str | None = None) -> int:
    client = boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="eu-west-1",
        aws_access_key_id="AKID",
        aws_secret_access_key=secret,
        verify=verify,
        config=Config(
            retries={"total_max_attempts": 1}, connect_timeout=SECONDS_MAX, read_timeout=SECONDS_MAX
        ),
    )
    answer = client.get_item(TableName="Things", Key={"pk": {"S": "a"}})
    status: int = answer["ResponseMetadata"]["HTTPStatusCode"]
    return status


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_client_with_the_key_is_served(host: str) -> None:
    if host == "0.0.0.0":
        with pytest.raises(ServerError, match="--keys FILE or HASHRANGE_KEYS"):
            open_listener(host, 0)
    with running(asyncio.new_event_loop(), open_listener(host, 0, KEYS)) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert get_item(url, "secret") == 200
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            get_item(url, "guess")
        assert len(server.runtime.bodies) == 1


def test_an_address_of_another_machine() -> None:
    with pytest.raises(ServerError, match=r"^cannot listen on 192\.0\.2\.1:0: [^(]+$"):
        open_listener("192.0.2.1", 0, KEYS)


def test_a_file_of_keys_takes_precedence_over_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("file secret\n")
    environment = {"HASHRANGE_KEYS": "environment secret"}
    assert configured_keys(None, {}) is None
    assert list(configured_keys(None, environment) or ()) == ["environment"]
    assert list(configured_keys(path, environment) or ()) == ["file"]
    path.write_text("file secret\r\n", "utf-8-sig")  # as editors on Windows leave it
    assert list(configured_keys(path, environment) or ()) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize(
    ("mode", "lines"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o604, 1), (0o644, 1)]
)
def test_keys_that_others_can_read_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, lines: int
) -> None:
    path = tmp_path / "keys"
    path.write_text("file secret\n")
    path.chmod(mode)
    assert list(configured_keys(path, {}) or ()) == ["file"]
    warning = f"{path}: other users can read the keys in it; run chmod 600 on it"
    assert caplog.messages == [warning] * lines


def test_keys_that_cannot_be_read_tell_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("only-a-secret\n")
    with pytest.raises(ServerError) as refused:
        configured_keys(path, {})
    assert str(refused.value) == (
        f"{path}: line 1 does not have the form: access_key secret_key [session_token]"
    )
    with pytest.raises(ServerError, match=r"^HASHRANGE_KEYS: there are no keys; write a line"):
        configured_keys(None, {"HASHRANGE_KEYS": ""})


# ---- TLS ----


@pytest.fixture
def secure(certificate: Path) -> Iterator[Running]:
    listener = open_listener("127.0.0.1", 0, KEYS, tls_context(certificate, None))
    with running(asyncio.new_event_loop(), listener) as server:
        yield server


def test_boto3_over_tls(secure: Running, authority: trustme.CA, tmp_path: Path) -> None:
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(trusted)
    assert get_item(f"https://127.0.0.1:{secure.port}", "secret", str(trusted)) == 200


def test_a_refused_client_can_read_why_over_tls(secure: Running, authority: trustme.CA) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    plain = socket.create_connection(("127.0.0.1", secure.port), timeout=SECONDS_MAX)
    client = Client(context.wrap_socket(plain, server_hostname="127.0.0.1"))
    client.send(b"nonsense\r\n\r\n")
    assert client.receive()[0] == 400
    client.close()


def test_plain_http_gets_no_answer_over_tls(secure: Running) -> None:
    client = secure.connect()
    client.send(request("GetItem"))
    with pytest.raises((EOFError, ConnectionResetError, IndexError, ValueError)):
        client.receive()
    client.close()
    assert secure.runtime.bodies == []


def test_wrong_tls_files(certificate: Path, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"^--tls-key needs --tls-cert$"):
        tls_context(None, certificate)
    absent, text, other = (tmp_path / name for name in ("absent.pem", "text.pem", "other.pem"))
    text.write_text("not PEM")
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(other)
    for pair in ((absent, None), (certificate, absent), (tmp_path, None)):
        with pytest.raises(OSError, match=r"No such file|Is a directory") as told:
            tls_context(*pair)
        assert Path(told.value.filename) in {absent, tmp_path}
    unreadable = "must be a certificate and its private key, in PEM form and without a passphrase"
    for pair, reason in (
        ((text, None), f"{text}: {unreadable}"),
        ((certificate, text), f"{certificate}, {text}: {unreadable}"),
        (
            (certificate, other),
            f"{certificate}, {other}: the private key does not belong to the certificate",
        ),
    ):
        with pytest.raises(ServerError, match=f"^{re.escape(reason)}$"):
            tls_context(*pair)


# ---- too slow, too many, too much ----


def is_answered(server: Running) -> bool:
    client = server.connect()
    answer = client.ask(request("GetItem"))
    client.close()
    return answer == (200, b"{}")


def test_idle_clients_do_not_block_others(server: Running) -> None:
    with ExitStack() as idle:
        for _ in range(IDLE):
            idle.callback(server.connect().close)
        assert is_answered(server)
        assert len(server.connections()) >= IDLE


def test_there_is_a_bound_on_connections(server: Running) -> None:
    server.server.clients.connections_max = 2
    first, second = server.connect(), server.connect()
    assert first.ask(request("GetItem"))[0] == second.ask(request("GetItem"))[0] == 200
    third = server.connect()
    assert third.receive()[:1] == (503,)
    with pytest.raises(EOFError):
        third.receive()
    assert first.ask(request("GetItem"))[0] == 200
    first.close()
    wait_until(lambda: is_answered(server))
    for client in (second, third):
        client.close()


def test_some_open_files_are_reserved_for_the_database() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = before[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert connections_possible(500) == 500
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 500
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def sweep(server: Running) -> None:
    for connection in tuple(server.server.clients.connected):
        connection.sweep(10)
        connection.sweep(SLOW_SECONDS_MAX)


def test_a_client_that_sends_single_bytes_delays_nobody_and_is_disconnected(
    server: Running,
) -> None:
    slow = [server.connect() for _ in range(20)]
    for byte in request("GetItem")[:5]:
        for client in slow:
            client.send(bytes([byte]))
        assert is_answered(server)
    server.call(lambda: sweep(server))
    for client in slow:
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive()
        client.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_17_mb_is_refused(server: Running, chunked: bool) -> None:
    client = server.connect()
    size = 17 * 1024 * 1024
    assert size > BODY_BYTES_MAX
    head = request("PutItem").partition(b"Content-Length")[0]
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
    first = b"%x\r\n" % size if chunked else b""
    client.send(head, length, b"\r\n\r\n", first)
    for sent in range(17 if chunked else 1):
        client.send(b" " * 1024 * 1024)
        if sent == 8:
            assert is_answered(server)
    assert client.receive()[0] == 413
    assert all(body == b"{}" for body in server.runtime.bodies)
    client.close()


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ('{"a":', "}"), ('{"M":{"a":', "}}"), ('{"L":[', "]}")],
    ids=["arrays", "objects", "maps", "lists"],
)
def test_nesting_of_10_000_is_refused(opening: str, closing: str) -> None:
    async def serve() -> tuple[int, int]:
        with hashrange.connect() as database:
            listener = open_listener("127.0.0.1", 0)
            server = Server(database.runtime, listener)
            await server.start()
            value = opening * 10_000 + '{"S":"a"}' + closing * 10_000
            deep = f'{{"TableName":"Things","Item":{{"a":{value}}}}}'.encode()
            refused, served = await asyncio.to_thread(ask_both, listener.port, deep)
            await server.stop()
            return refused, served

    assert asyncio.run(serve()) == (400, 200)


def ask_both(port: int, deep: bytes) -> tuple[int, int]:
    client = Client(socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX))
    statuses = client.ask(request("PutItem", deep))[0], client.ask(request("ListTables"))[0]
    client.close()
    return statuses
