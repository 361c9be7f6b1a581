"""Processes of a server that are stopped, or hang: they are replaced, and nobody waits for ever."""

import os
import re
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from programs import Serving, command, serving
from running_workers import WORKERS, client, create, metric, workers, workers_of
from test_ends_of_workers import Writers, restarted, stored
from waiting import SECONDS_MAX, wait_until

from hashrange.engine import cost

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped"),
]

KEY = {"pk": {"S": "a"}}
LONG = {"L": [{"N": "1"}] * (2 * cost.UNITS_MAX)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


def patched(folder: Path, code: str) -> dict[str, str]:
    """The environment in which each Python process runs `code` before anything else."""
    (folder / "sitecustomize.py").write_text(code)
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *([before] if before else [])])}


# ---- the process for costly requests ----

SOON = "from hashrange.runtime.aside import watch; watch.LOOK_SECONDS = 0.1"


def increment(one: Any) -> int:
    """A costly write: its condition looks at every element of a long list."""
    answer = one.update_item(
        TableName="Things",
        Key=KEY,
        UpdateExpression="SET n = n + :one",
        ConditionExpression="NOT contains(l, :absent)",
        ExpressionAttributeValues={":one": {"N": "1"}, ":absent": {"S": "absent"}},
        ReturnValues="UPDATED_NEW",
    )
    return int(answer["Attributes"]["n"]["N"])


def stop_the_process_for_costly_requests(server: Serving) -> None:
    one = client(server)
    create(one, "Things")
    one.put_item(TableName="Things", Item={**KEY, "l": LONG, "n": {"N": "0"}})
    increment(one)
    [process] = workers_of(server)
    os.kill(process, signal.SIGSTOP)


def once(server: Serving) -> Any:
    """A client that sends a request only once."""
    return client(server, retries={"total_max_attempts": 1}, read_timeout=SECONDS_MAX)


def test_costly_requests_do_not_wait_for_a_process_that_is_stopped(path: Path) -> None:
    with serving(path, **patched(path.parent, SOON)) as server:
        stop_the_process_for_costly_requests(server)
        with ThreadPoolExecutor(6) as pool:
            increments = [pool.submit(increment, once(server)) for _ in range(4)]
            large = {"pk": {"S": "large"}, "s": {"S": "s" * 300_000}, "t": {"S": "é" * 40_000}}
            puts = [{"PutRequest": {"Item": large | {"pk": {"S": name}}}} for name in "bc"]
            batch = pool.submit(once(server).batch_write_item, RequestItems={"Things": puts})
            # Those that are not costly are answered meanwhile.
            assert once(server).get_item(TableName="Things", Key={"pk": {"S": "none"}})
            assert sorted(each.result() for each in increments) == [2, 3, 4, 5]
            assert batch.result()["UnprocessedItems"] == {}
        assert increment(once(server)) == 6
        status, said = server.end(signal.SIGTERM)
    assert status == 0
    [line] = said.splitlines()
    assert "the process for costly requests did nothing for 1 seconds; another process" in line


def test_a_server_ends_although_the_process_for_costly_requests_is_stopped(path: Path) -> None:
    with serving(path) as server:
        stop_the_process_for_costly_requests(server)
        assert server.end(signal.SIGTERM) == (0, "")


# ---- workers ----

STOPS = """
import os, signal, threading, time
from hashrange.server.workers import supervisor
from hashrange.storage.sqlite.transaction import SqliteTransaction

supervisor.LOOK_SECONDS = 0.3
commit = SqliteTransaction.commit


def stopping(self):
    if {here}:
        try:
            os.remove({flag!r})
        except FileNotFoundError:
            pass
        else:
            {stops}
    commit(self)


SqliteTransaction.commit = stopping
"""
"""A process that finds the flag does something else where it holds the write lock."""

STOPPED = "os.kill(os.getpid(), signal.SIGSTOP)"
HANGS = "time.sleep(3600)"

ANYWHERE = "True"
ON_ITS_LOOP = "threading.current_thread() is threading.main_thread()"
"""A thread beside the event loop that hangs would not make the process silent."""


@pytest.mark.parametrize(
    ("stops", "here", "durability"),
    [(STOPPED, ANYWHERE, "full"), (HANGS, ON_ITS_LOOP, "relaxed")],
    ids=["stopped", "hangs"],
)
def test_a_worker_that_stops_with_the_write_lock_is_replaced(
    path: Path, stops: str, here: str, durability: str
) -> None:
    flag = path.with_name("stop")
    variables = patched(path.parent, STOPS.format(flag=str(flag), stops=stops, here=here))
    with workers(path, "--durability", durability, **variables) as server:
        one = client(server)
        create(one, "One")
        create(one, "Other")
        with Writers(server) as writers:
            for times in (1, 2):
                writers.go_on()
                flag.touch()
                wait_until(partial(restarted, server, times))
                wait_until(lambda: metric(server, "hashrange_workers") == WORKERS)
            writers.go_on()
        status, said = server.end(signal.SIGTERM)
    assert status == 0
    assert len(re.findall("worker [12] has done nothing for 3 seconds\n", said)) >= 2
    assert writers.acknowledged
    assert writers.acknowledged <= stored(path, "One")
    assert stored(path, "One") == stored(path, "Other")


def test_workers_end_although_one_is_stopped(path: Path) -> None:
    code = STOPS.format(flag="", stops="pass", here=ANYWHERE)
    with workers(path, **patched(path.parent, code)) as server:
        stopped, _ = workers_of(server)
        os.kill(stopped, signal.SIGSTOP)
        status, said = server.end(signal.SIGTERM)
    assert status == 1
    assert re.search("worker [12] has done nothing for 3 seconds\n", said)


LATE = """
import os, signal, time
from hashrange.server.workers import alone, channel, supervisor

supervisor.LOOK_SECONDS = 0.1
supervisor.START_LOOKS_MAX = 20
start = {where}


def hanging(*arguments, **options):
    if not os.path.exists({flag!r}):
        return start(*arguments, **options)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        os.remove({flag!r})
    except FileNotFoundError:
        signal.signal(signal.SIGTERM, before)
        return start(*arguments, **options)
    {hangs}


{where} = hanging
"""
"""A worker that finds the flag goes no further while it starts, and does not hear SIGTERM."""


@pytest.mark.parametrize(
    "where", ["channel.receive_first", "alone.opened_service", "alone.Service.serve"]
)
def test_a_worker_that_hangs_while_it_starts_is_replaced(path: Path, where: str) -> None:
    flag = path.with_name("hang")
    code = LATE.format(flag=str(flag), where=where, hangs=HANGS)
    with workers(path, **patched(path.parent, code)) as server:
        flag.touch()
        _, second = workers_of(server)
        os.kill(second, signal.SIGKILL)
        wait_until(lambda: not flag.exists())
        wait_until(lambda: metric(server, "hashrange_workers") == WORKERS)
        status, said = server.end(signal.SIGTERM)
    assert status == 0
    assert re.search("worker [12] has done nothing for 2 seconds\n", said)


@pytest.mark.parametrize("stops", [STOPPED, HANGS], ids=["stopped", "hangs"])
def test_a_server_ends_while_its_first_worker_hangs(path: Path, stops: str) -> None:
    flag = path.with_name("hang")
    flag.touch()
    code = LATE.format(flag=str(flag), where="alone.opened_service", hangs=stops)
    variables = patched(path.parent, code)
    arguments = ("serve", "--port", 0, path, "--workers", WORKERS)
    process = subprocess.Popen(
        command(*arguments), stderr=subprocess.PIPE, text=True, env=os.environ | variables
    )
    with process:
        wait_until(lambda: not flag.exists())
        process.terminate()
        _, said = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 1
    assert "worker 1 has done nothing for 2 seconds" in said
    assert "Traceback" not in said


def test_a_server_ends_quietly_beside_clients_of_the_admin_port(path: Path) -> None:
    with workers(path) as server:
        silent = [socket.create_connection(("127.0.0.1", server.admin_port)) for _ in range(8)]
        assert metric(server, "hashrange_workers") == WORKERS
        assert server.end(signal.SIGTERM) == (0, "")
        for each in silent:
            each.close()
