"""`Database.execute` in the process, in memory, with items of 100 bytes: no HTTP, no socket.

`python -m benchmarks.embedded` serves `benchmarks.compare`: it prints the calls of each operation,
and then, for each name on standard input, the microseconds that one request took.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import cycle
from statistics import median
from types import FrameType
from typing import Any, NamedTuple

import hashrange
from benchmarks import workloads
from benchmarks.workloads import Table, Workload

TURN_SECONDS = 0.05
ROUNDS = 9
COUNTED = 101
FIFTY = {"S": "fifty"}

Work = Callable[[], object]
"""Makes one request, and another one at the next call."""


class Figures(NamedTuple):
    """Of one operation: Python calls per request, and microseconds per request in each round."""

    calls: int
    microseconds: list[float]


def query_of_50(table: Table) -> Workload:
    body = workloads.encode(
        TableName=table.name,
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": FIFTY},
    )
    return Workload("Query of 50", "Query", table, [body], writes=False)


def filled() -> hashrange.Database:
    """A database in memory with the tables of all workloads."""
    database = hashrange.connect()
    small = workloads.tables()[0]
    for table in (small, workloads.INDEXED):
        database.execute("CreateTable", json.loads(table.definition()))
        for body in table.load_bodies():
            database.execute("BatchWriteItem", json.loads(body))
    for number in range(50):
        item = small.item(number) | {"pk": FIFTY, "sk": {"S": f"s{number:02}"}}
        database.execute("PutItem", {"TableName": small.name, "Item": item})
    return database


def works(database: hashrange.Database) -> dict[str, Work]:
    """The work of each workload, by its name. Each request has been made once, so that the caches
    are filled."""
    small = [each for each in workloads.all_workloads() if each.table.size == 100]
    every = [*small, query_of_50(small[0].table), *workloads.indexed_workloads()]
    return {workload.name: work(database, workload) for workload in every}


def work(database: hashrange.Database, workload: Workload) -> Work:
    requests: list[dict[str, Any]] = [json.loads(body) for body in workload.bodies]
    for request in requests:
        database.execute(workload.operation, request)
    following = cycle(requests)
    return lambda: database.execute(workload.operation, next(following))


def calls(work: Work) -> int:
    """The median number of Python calls of one request, that of `work` itself included.

    A generator counts each time that it is resumed. Functions written in C do not count.
    """
    counts = [0] * COUNTED

    for request in range(COUNTED):

        def count(frame: FrameType, event: str, argument: object, at: int = request) -> None:
            counts[at] += event == "call"

        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(None)
    return round(median(counts))


def microseconds(work: Work, requests: int) -> float:
    """Processor time of one request, in all threads of this process."""
    started = time.process_time()
    for _ in range(requests):
        work()
    return (time.process_time() - started) / requests * 1e6


def requests_in_turn(work: Work) -> int:
    """How many requests fit into a turn."""
    return max(1, round(TURN_SECONDS * 1e6 / microseconds(work, 20)))


def measure() -> dict[str, Figures]:
    """The figures by workload name. The operations take turns."""
    with filled() as database:
        every = works(database)
        figures = {name: Figures(calls(work), []) for name, work in every.items()}
        requests = {name: requests_in_turn(work) for name, work in every.items()}
        for _ in range(ROUNDS):
            for name, work in every.items():
                figures[name].microseconds.append(microseconds(work, requests[name]))
        return figures


def serve() -> None:
    with filled() as database:
        every = works(database)
        requests = {name: requests_in_turn(work) for name, work in every.items()}
        print(json.dumps({name: calls(work) for name, work in every.items()}), flush=True)
        for line in sys.stdin:
            name = line.strip()
            print(microseconds(every[name], requests[name]), flush=True)


if __name__ == "__main__":
    serve()
