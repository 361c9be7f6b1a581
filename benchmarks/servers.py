"""The servers under test: each is a command and a port. Everything else about it is measured."""

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks import processor
from benchmarks.load import http_request

START_SECONDS_MAX = 60
ANSWER_SECONDS_MAX = 20
IDLE_SECONDS = 1.0
"""How long a server gets no requests before its idle memory is read."""


class ServerFailedError(Exception):
    """A server does not start, or it refuses a request that all others accept."""


class Server(NamedTuple):
    """A server to measure. `command` contains {port} and {folder}; the folder is empty and used by
    no other server.

    durability: "memory", "relaxed" (a write survives a killed process) or "full" (a write is on
    disk before it is answered). Only servers with `reads` are driven with reads: one server of each
    implementation. `source` is where Python finds the packages of the program, if they are not
    installed.
    """

    implementation: str
    version: str
    durability: str
    command: list[str]
    working_folder: Path
    reads: bool = True
    source: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.implementation} {self.durability}"


class Running:
    """A started server. `first_answer_ms` is the time from its start to its first answer."""

    def __init__(self, server: Server, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.server = server
        self.port = free_port()
        words = [word.format(port=self.port, folder=folder) for word in server.command]
        started = time.perf_counter()
        self.log_file = folder / "log"
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen(
                words,
                cwd=server.working_folder,
                env=environment(server.source),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self.wait_for_answer(started + START_SECONDS_MAX)
        except OSError as error:
            self.stop()
            raise ServerFailedError(
                f"{server.name} does not start: {error}\n{self.log()}"
            ) from error
        self.first_answer_ms = (time.perf_counter() - started) * 1e3

    def wait_for_answer(self, deadline: float) -> None:
        """Wait until the server answers. Raises OSError if the process ends first, and at the
        deadline."""
        request = http_request("ListTables", b"{}")
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                    connection.sendall(request)
                    if connection.recv(1):
                        return
            except OSError:
                if time.perf_counter() > deadline or self.process.poll() is not None:
                    raise
            time.sleep(0.001)

    def ask(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Send one request on a new connection. Returns the HTTP status and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX)
        head, _, body = http_request(operation, body).partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        try:
            connection.request("POST", "/", body, fields)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError as error:
            raise ServerFailedError(
                f"{self.server.name} does not answer {operation}: {error}\n{self.log()}"
            ) from error
        finally:
            connection.close()

    def log(self) -> str:
        """The end of what the server has printed."""
        return self.log_file.read_text()[-2000:]

    def processor_seconds(self) -> float:
        """Processor time that the server has used so far, in all its threads and children."""
        return processor.seconds_of(self.process.pid)

    def memory_mb(self, field: str = "VmRSS") -> float:
        """Memory of the process and its descendants, in MB of 1,000,000 bytes.

        VmRSS is all resident memory. RssAnon leaves out the pages of files, which belong to the
        system's cache and are given up when other programs need the space.
        """
        kilobytes = 0
        for pid in processor.family(self.process.pid):
            status = Path(f"/proc/{pid}/status").read_text()
            [line] = [line for line in status.splitlines() if line.startswith(f"{field}:")]
            kilobytes += int(line.split()[1])
        return kilobytes * 1024 / 1e6

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Rest(NamedTuple):
    first_answer_ms: float
    idle_memory_mb: float


def at_rest(server: Server, folder: Path) -> Rest:
    """Start a server without any data, send it no requests, and stop it."""
    with Running(server, folder) as running:
        time.sleep(IDLE_SECONDS)
        return Rest(running.first_answer_ms, running.memory_mb())


@contextmanager
def all_running(servers: list[Server], folder: Path) -> Iterator[list[Running]]:
    started: list[Running] = []
    try:
        for number, server in enumerate(servers):
            started.append(Running(server, folder / f"server-{number}"))
        yield started
    finally:
        for running in started:
            running.stop()


def environment(source: Path | None) -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=str(source)) if source else dict(os.environ)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
