"""The measurements over HTTP. Servers take turns, so that a noisy minute disturbs them all."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import load, workloads
from benchmarks.load import Load
from benchmarks.servers import Running, Server, ServerFailedError
from benchmarks.workloads import Table, Workload

Say = Callable[[str], None]
"""Told what is being measured, for the person who waits."""

WRITERS = 4
SCANNERS = 1


class Pace(NamedTuple):
    """How often and how long each figure is taken, after a round that only warms up.

    The median of the rounds counts.
    """

    rounds: int
    seconds: int


class Replay(NamedTuple):
    """A workload written out for the generator."""

    workload: Workload
    path: Path


def prepare(workload: Workload, folder: Path) -> Replay:
    path = folder / f"{workload.label.replace(' ', '-')}.requests"
    if not path.exists():
        requests = (load.http_request(workload.operation, body) for body in workload.bodies)
        load.write_requests(path, requests)
    return Replay(workload, path)


def fill(running: Running, table: Table) -> None:
    """Create the table, wait for it, and load its items. Raises ServerFailedError if refused."""
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
    """Whether the server knows the operation: it answers the first request."""
    return running.ask(workload.operation, workload.bodies[0])[0] == 200


def drive(running: Running, prepared: Replay, seconds: int) -> Load:
    before = running.computed_seconds()
    measured = load.drive(running.port, prepared.path, seconds)
    computed = running.computed_seconds() - before
    answered = max(1.0, measured.requests_per_second * seconds)
    return measured._replace(server_us=computed / answered * 1e6)


def compare(all_running: list[Running], prepared: Replay, pace: Pace, say: Say) -> dict[str, Load]:
    """The load that each server bears, by its name.

    Left out are those that do not know the operation, or answer nothing in the time.
    """
    workload = prepared.workload
    fit = [
        running
        for running in all_running
        if (workload.writes or running.server.reads) and answers(running, workload)
    ]
    seen: dict[str, list[Load]] = {running.server.name: [] for running in fit}
    for turn in range(1 + pace.rounds):
        for running in fit:
            say(f"{workload.label}: {running.server.name}")
            measured = drive(running, prepared, pace.seconds)
            if turn:
                seen[running.server.name].append(measured)
    borne = {name: load.typical(loads) for name, loads in seen.items()}
    return {name: typical for name, typical in borne.items() if typical.requests_per_second}


class Disturbed(NamedTuple):
    """GetItem alone, while writers commit, and while filtered Scans run."""

    quiet: Load
    writers: Load
    scans: Load


def disturb(running: Running, get: Replay, put: Replay, scan: Replay, pace: Pace) -> Disturbed:
    def beside(other: Replay, connections: int) -> Load:
        noise = load.start(running.port, other.path, pace.seconds + 1, connections)
        measured = load.drive(running.port, get.path, pace.seconds)
        load.finish(noise)
        return measured

    turns = [
        Disturbed(
            load.drive(running.port, get.path, pace.seconds),
            beside(put, WRITERS),
            beside(scan, SCANNERS),
        )
        for _ in range(pace.rounds)
    ]
    return Disturbed(*(load.typical(list(loads)) for loads in zip(*turns, strict=True)))


def disturb_all(
    all_running: list[Running], folder: Path, pace: Pace, say: Say
) -> dict[str, Disturbed]:
    """By server name; a server without Scan is left out."""
    small, scanned = workloads.tables()[0], workloads.SCANNED
    get = prepare(workloads.get_item(small), folder)
    put = prepare(workloads.put_item(small), folder)
    scan = prepare(workloads.filtered_scan(scanned), folder)
    seen = {}
    for running in all_running:
        if answers(running, scan.workload):
            say(f"GetItem beside other work: {running.server.name}")
            seen[running.server.name] = disturb(running, get, put, scan, pace)
    return seen


class Grown(NamedTuple):
    """One table size: what each operation bears, and the server's own memory afterwards."""

    items: int
    loads: dict[str, Load]
    memory_mb: float


def grow(server: Server, items: int, folder: Path, pace: Pace, say: Say) -> Grown:
    """Fill a server of its own with `items` items of 100 bytes and drive it."""
    table = Table(f"bench-{items}", 100, items)
    with Running(server, folder / f"grown-{items}") as running:
        say(f"loading {items:,} items")
        fill(running, table)
        loads: dict[str, Load] = {}
        for make in (workloads.get_item, workloads.put_item, workloads.query):
            workload = make(table)
            path = folder / f"grown-{items}-{workload.operation}"
            path.mkdir()
            loads |= {
                workload.name: compare([running], prepare(workload, path), pace, say)[server.name]
            }
        return Grown(items, loads, running.memory_mb("RssAnon"))
