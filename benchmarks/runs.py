"""The measurements over HTTP. Servers take short turns: a noisy minute disturbs them all alike."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import load, processor, workloads
from benchmarks.load import Load
from benchmarks.servers import Running, Server, ServerFailedError
from benchmarks.workloads import Table, Workload

Say = Callable[[str], None]
"""A function that shows the user what is being measured."""

WRITERS = 4
SCANNERS = 1


class Pace(NamedTuple):
    """The number of rounds, after one that only warms up, and the seconds of each run."""

    rounds: int
    seconds: int


class Replay(NamedTuple):
    """A workload, and the file of its requests for the generator."""

    workload: Workload
    path: Path


def prepare(workload: Workload, folder: Path) -> Replay:
    path = folder / f"{workload.label.replace(' ', '-')}.requests"
    if not path.exists():
        requests = (load.http_request(workload.operation, body) for body in workload.bodies)
        load.write_requests(path, requests)
    return Replay(workload, path)


def fill(running: Running, table: Table) -> None:
    """Create the table, wait for it, and load its items. Raises ServerFailedError at a refusal."""
    status, answer = running.ask("CreateTable", table.definition())
    deadline = time.monotonic() + 10
    while b'"CREATING"' in answer and time.monotonic() < deadline:
        status, answer = running.ask("DescribeTable", workloads.encode(TableName=table.name))
    for body in table.load_bodies():
        if status == 200:
            status, answer = running.ask("BatchWriteItem", body)
    if status != 200:
        raise ServerFailedError(f"{running.server.name} cannot be filled: {answer[:500]!r}")


def answers(running: Running, workload: Workload) -> bool:
    """Whether the server knows the operation, that is, whether it answers the first request."""
    return running.ask(workload.operation, workload.bodies[0])[0] == 200


def drive(running: Running, prepared: Replay, seconds: int) -> Load:
    """Drive a server once. Processor time that neither the server nor the generator takes is that
    of other programs."""
    busy, computed = processor.seconds_of_all(), running.processor_seconds()
    measured = load.drive(running.port, prepared.path, seconds)
    computed = running.processor_seconds() - computed
    busy = processor.seconds_of_all() - busy
    answered = max(1.0, measured.requests_per_second * seconds)
    others = max(0.0, (busy - computed) / seconds - measured.busy)
    return measured._replace(server_us=computed / answered * 1e6, others=others)


def compare(
    all_running: list[Running], prepared: Replay, pace: Pace, say: Say
) -> dict[str, list[Load]]:
    """The load of each server in each round, by server name.

    The order of the servers is reversed after each round. A server that does not know the
    operation, or that answers nothing in some round, is left out.
    """
    workload = prepared.workload
    order = [
        running
        for running in all_running
        if (workload.writes or running.server.reads) and answers(running, workload)
    ]
    seen: dict[str, list[Load]] = {running.server.name: [] for running in order}
    for turn in range(1 + pace.rounds):
        for running in order:
            say(f"{workload.label}: {running.server.name}")
            measured = drive(running, prepared, pace.seconds)
            if turn:
                seen[running.server.name].append(measured)
        order.reverse()
    return {
        name: loads
        for name, loads in seen.items()
        if all(each.requests_per_second for each in loads)
    }


class Disturbed(NamedTuple):
    """The load of GetItem in three cases: alone, while writers commit, and while filtered Scans
    run."""

    quiet: Load
    writers: Load
    scans: Load


def disturb(running: Running, get: Replay, put: Replay, scan: Replay, pace: Pace) -> Disturbed:
    def beside(other: Replay, connections: int) -> Load:
        noise = load.start(running.port, other.path, pace.seconds + 1, connections)
        measured = load.drive(running.port, get.path, pace.seconds)
        load.finish(noise)
        return measured

    return Disturbed(
        load.drive(running.port, get.path, pace.seconds),
        beside(put, WRITERS),
        beside(scan, SCANNERS),
    )


def disturb_all(
    all_running: list[Running], folder: Path, pace: Pace, say: Say
) -> dict[str, list[Disturbed]]:
    """One figure for each round, by server name. A server without Scan is left out."""
    small, scanned = workloads.tables()[0], workloads.SCANNED
    get = prepare(workloads.get_item(small), folder)
    put = prepare(workloads.put_item(small), folder)
    scan = prepare(workloads.filtered_scan(scanned), folder)
    able = [running for running in all_running if answers(running, scan.workload)]
    seen: dict[str, list[Disturbed]] = {running.server.name: [] for running in able}
    for _ in range(pace.rounds):
        for running in able:
            say(f"GetItem beside other work: {running.server.name}")
            seen[running.server.name].append(disturb(running, get, put, scan, pace))
    return seen


class Grown(NamedTuple):
    """One table size: the load of each operation, and the server's own memory afterwards."""

    items: int
    loads: dict[str, Load]
    memory_mb: float


def grow(server: Server, items: int, folder: Path, pace: Pace, say: Say) -> Grown:
    """Start a server, fill it with `items` items of 100 bytes and drive it."""
    table = Table(f"bench-{items}", 100, items)
    with Running(server, folder / f"grown-{items}") as running:
        say(f"loading {items:,} items")
        fill(running, table)
        loads: dict[str, Load] = {}
        for make in (workloads.get_item, workloads.put_item, workloads.query):
            workload = make(table)
            path = folder / f"grown-{items}-{workload.operation}"
            path.mkdir()
            seen = compare([running], prepare(workload, path), pace, say)
            loads[workload.name] = load.typical(seen[server.name])
        return Grown(items, loads, running.memory_mb("RssAnon"))
