"""How workers end: killed, told to, without a supervisor, or before they could serve."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from programs import Serving, command, run_apart
from running_workers import WORKERS, client, create, ended, metric, workers, workers_of
from serving import request
from waiting import SECONDS_MAX, wait_until

import hashrange

pytestmark = pytest.mark.deep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


# ---- ends ----


class Writers:
    """Threads that write items of their own, over any failure, until the block ends."""

    def __init__(self, server: Serving, number: int = 4) -> None:
        self.acknowledged: set[str] = set()
        self.failed = 0
        self._stop = threading.Event()
        self._server = server
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(number)]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        one = client(self._server, retries={"total_max_attempts": 1}, connect_timeout=SECONDS_MAX)
        for step in range(100_000):
            if self._stop.is_set():
                return
            name = f"{number}-{step}"
            try:
                one.transact_write_items(
                    TransactItems=[
                        {"Put": {"TableName": table, "Item": {"pk": {"S": name}}}}
                        for table in ("One", "Other")
                    ]
                )
                self.acknowledged.add(name)
            except (ClientError, BotoCoreError):
                self.failed += 1

    def go_on(self) -> None:
        """Until some more are acknowledged."""
        enough = len(self.acknowledged) + 20
        wait_until(lambda: len(self.acknowledged) > enough)


def restarted(server: Serving, times: int) -> bool:
    return metric(server, "hashrange_worker_restarts_total") >= times


def stored(path: Path, table: str) -> set[str]:
    with hashrange.connect(path) as database:
        assert list(database.check()) == []
        found: set[str] = set()
        start: dict[str, Any] = {}
        while True:
            page = database.execute("Scan", {"TableName": table, **start})
            found |= {item["pk"]["S"] for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def test_workers_that_are_killed_lose_nothing_acknowledged(path: Path) -> None:
    with workers(path) as server:
        one = client(server)
        create(one, "One")
        create(one, "Other")
        with Writers(server) as writers:
            for kill in range(2):
                writers.go_on()
                os.kill(workers_of(server)[kill % WORKERS], signal.SIGKILL)
                wait_until(partial(restarted, server, kill + 1))
                wait_until(lambda: metric(server, "hashrange_workers") == WORKERS)
        status, said = server.end(signal.SIGTERM)
    assert status == 0
    assert said.count("was ended by SIGKILL; another worker takes its place") == 2
    assert writers.acknowledged
    assert writers.acknowledged <= stored(path, "One")
    assert stored(path, "One") == stored(path, "Other")


def test_while_a_worker_is_replaced_the_other_one_serves(path: Path) -> None:
    with workers(path) as server:
        os.kill(workers_of(server)[0], signal.SIGKILL)
        for _ in range(30):  # each on a connection of its own
            with closing(
                http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS_MAX)
            ) as one:
                one.request("GET", "/")
                assert one.getresponse().status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_end_under_load(path: Path, number: signal.Signals) -> None:
    """Every request is answered, or its connection is closed without a byte of an answer."""
    with workers(path) as server:
        one = client(server)
        create(one, "One")
        create(one, "Other")
        body = json.dumps({"TableName": "One", "Item": {"pk": {"S": "raw"}}}).encode()
        answers: Counter[str] = Counter()
        stopped = threading.Event()

        def ask() -> None:
            while not stopped.is_set():
                connection = http.client.HTTPConnection(
                    "127.0.0.1", server.port, timeout=SECONDS_MAX
                )
                with closing(connection), suppress(ConnectionError):
                    connection.connect()
                    sock = connection.sock
                    sock.sendall(request("PutItem", body))
                    received = b""
                    with suppress(ConnectionError):
                        while b"\r\n\r\n{}" not in received:
                            more = sock.recv(65536)
                            if not more:
                                break
                            received += more
                    whole = received.startswith(b"HTTP/1.1 200") and received.endswith(b"{}")
                    answers["whole" if whole else "part" if received else "none"] += 1

        threads = [threading.Thread(target=ask) for _ in range(3)]
        with Writers(server, 2) as writers:
            for thread in threads:
                thread.start()
            wait_until(lambda: len(writers.acknowledged) > 50 and answers["whole"] > 50)
            status, said = server.end(number)
            stopped.set()
        for thread in threads:
            thread.join()
    assert (status, said) == (0, "")
    assert answers["part"] == 0
    assert writers.acknowledged <= stored(path, "One")


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.3])
def test_ctrl_c_before_every_worker_serves(path: Path, seconds: float) -> None:
    starting = command("serve", path, "--port", 0, "--workers", 2)
    with subprocess.Popen(starting, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(path.exists)  # the first worker has begun
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=SECONDS_MAX)
        finally:
            process.kill()
    assert (process.returncode, said) == (0, "")


def test_workers_end_with_their_supervisor(path: Path) -> None:
    with workers(path) as server:
        pids = workers_of(server)
        assert len(pids) == WORKERS
        server.process.kill()
        for pid in pids:
            wait_until(partial(ended, pid))
    with workers(path):  # the port and the file are free
        pass


def test_a_file_that_is_damaged_is_one_line(path: Path) -> None:
    path.write_bytes(b"not a database" * 100)
    closed = run_apart("serve", path, "--port", 0, "--workers", WORKERS)
    line = f"hashrange: {path}: not a hashrange database; name another file\n"
    assert (closed.returncode, closed.stdout, closed.stderr) == (1, "", line)


def test_when_no_worker_can_start_any_more_the_server_ends(path: Path) -> None:
    with workers(path) as server:
        path.rename(path.with_suffix(".moved"))
        path.mkdir()
        for pid in workers_of(server):
            os.kill(pid, signal.SIGKILL)
        _, said = server.process.communicate(timeout=SECONDS_MAX)
    assert server.process.returncode == 1
    *_, last = said.splitlines()
    assert re.fullmatch(
        r"hashrange: worker [12] has ended with status 1, "
        "and no other worker serves or can be started",
        last,
    )
    assert f"hashrange: {path}: is a directory; name a file" in said
    assert "Traceback" not in said
