"""Requests that never repeat, in a server whose memory stays as it is."""

import os
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any

import pytest

from .runs import Violation, times
from .serving import Connection, Server
from .tables import DEFINITION, TABLE, key

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

SECONDS = times(5, 600)
WARM_UP_PART = 0.4
MEGABYTES_MAX = 6
"""How much larger the server may be at the end than after it has warmed up."""

LEAKS = """
from hashrange.runtime.threaded.runtime import Runtime
kept, submit = [], Runtime.submit
def keep(runtime, name, body, *others):
    kept.append(bytes(body) * 100)
    return submit(runtime, name, body, *others)
Runtime.submit = keep
"""


def requests(client: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """New keys, attributes and expressions each time; the items are deleted again."""
    for number in count():
        name = f"a{client}{number}"
        one = key(name, str(number))
        item = one["Key"] | {name: {"S": name}, "color": {"S": name}, "size": {"S": name}}
        yield "PutItem", {"TableName": TABLE, "Item": item}
        changed = {f":{name}": {"N": str(number)}}
        yield (
            "UpdateItem",
            one
            | {
                "UpdateExpression": f"SET {name}x = :{name}",
                "ConditionExpression": f"attribute_exists({name})",
                "ExpressionAttributeValues": changed,
            },
        )
        yield (
            "Query",
            {
                "TableName": TABLE,
                "IndexName": "by-color",
                "KeyConditionExpression": f"color = :{name}",
                "FilterExpression": f"{name}x = :n{name}",
                "ExpressionAttributeValues": {f":{name}": {"S": name}, f":n{name}": {"N": "1"}},
            },
        )
        statement = f"SELECT {name} FROM items WHERE pk = '{name}'"
        yield "ExecuteStatement", {"Statement": statement}
        yield "GetItem", key(name, name) | {"ProjectionExpression": f"{name}, {name}y"}
        yield "PutItem", {"TableName": name}  # refused
        yield "DeleteItem", one


def ask_all(port: int, client: str, stop: Event) -> None:
    connection = Connection(port)
    for operation, request in requests(client):
        if stop.is_set():
            break
        connection.ask(operation, request)
    connection.close()


def resident_megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def growth(path: Path, seconds: float, program: str = "") -> float:
    """How many megabytes a server has grown by since it warmed up."""
    server = Server(str(path), "--durability", "relaxed", program=program)
    stop = Event()
    try:
        Connection(server.port).ask("CreateTable", definition_without_stream())
        asking = [Thread(target=ask_all, args=(server.port, name, stop)) for name in "pqr"]
        for thread in asking:
            thread.start()
        time.sleep(seconds * WARM_UP_PART)
        sizes = []
        end = time.monotonic() + seconds * (1 - WARM_UP_PART)
        while time.monotonic() < end:
            sizes.append(resident_megabytes(server.process.pid))
            time.sleep(0.05)
        stop.set()
        for thread in asking:
            thread.join()
    finally:
        stop.set()
        server.kill()
    part = max(1, len(sizes) // 5)
    print(f"{median(sizes[:part]):.1f} MB, {median(sizes[-part:]):.1f} MB at the end")
    return median(sizes[-part:]) - median(sizes[:part])


def definition_without_stream() -> dict[str, Any]:
    return {name: value for name, value in DEFINITION.items() if name != "StreamSpecification"}


def test_memory_stays_as_it_is(tmp_path: Path) -> None:
    grown = growth(tmp_path / "a.db", SECONDS)
    if grown > MEGABYTES_MAX:
        raise Violation(f"the server has grown by {grown:.1f} MB")


def test_a_server_that_keeps_requests_is_found_out(tmp_path: Path) -> None:
    assert growth(tmp_path / "a.db", 5, LEAKS) > MEGABYTES_MAX
