"""What measuring and enforcing throughput costs: `python -m benchmarks.throughput`.

Four servers of this checkout take turns over HTTP, driven by 16 connections: everything off,
measured, measured with an admin port that counts metrics, and enforced with limits that are never
reached. What is compared is the processor time per request, in pairs of the same round.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks import load, report, runs, workloads
from benchmarks.peers import ROOT
from benchmarks.report import Grid
from benchmarks.servers import Server, all_running
from benchmarks.spread import Spread

BARS = {"measured": 1.03, "metrics": None, "enforced": 1.10}
"""The processor time of a request may be at most this many times its time on a server with
everything off."""

UNREACHED = 1e12
PACE = runs.Pace(rounds=15, seconds=1)


def server(mode: str) -> Server:
    command = [sys.executable, "-m", "benchmarks.throughput", "--serve", mode]
    command += ["--port", "{port}", "--folder", "{folder}"]
    return Server(mode, "", "relaxed", command, ROOT, source=ROOT / "src")


def serve(mode: str, port: int, folder: Path) -> None:
    """Be one of the servers, until the process is told to end."""
    import hashrange
    from hashrange.server.admin import Metrics
    from hashrange.server.listener import open_listener
    from hashrange.server.server import Server as HashrangeServer
    from hashrange.server.server import serve as serve_at

    throughput: Any = "measured" if mode == "metrics" else mode
    settings = hashrange.Settings(
        throughput=throughput, partition_read_units=UNREACHED, partition_write_units=UNREACHED
    )
    with hashrange.connect(folder / "bench.db", durability="relaxed", settings=settings) as db:
        listener = open_listener("127.0.0.1", port)
        observer = None
        if mode == "metrics":
            observer = Metrics(dict, usage=db.runtime.usage).observe
        with listener.sock:
            serve_at(HashrangeServer(db.runtime, listener, observer=observer), lambda: None, [])


def measure(names: list[str], pace: runs.Pace, console: Console) -> Grid:
    servers = [server(mode) for mode in ("off", *BARS)]
    chosen = [
        workload
        for workload in [*workloads.all_workloads(), *workloads.indexed_workloads()]
        if workload.table.size == 100 and (not names or workload.name in names)
    ]
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder, all_running(servers, Path(folder)) as running:
        for one in running:
            for table in {workload.table.name: workload.table for workload in chosen}.values():
                runs.fill(one, table)
        for workload in chosen:
            replay = runs.prepare(workload, Path(folder))
            seen = runs.compare(running, replay, pace, console.log)
            spent = [[each.server_us for each in seen[one.name]] for one in servers]
            rows.append([workload.name, f"{median(spent[0]):.1f}"])
            for bar, taken in zip(BARS.values(), spent[1:], strict=True):
                ratio = Spread.of(a / b for a, b in zip(taken, spent[0], strict=True))
                verdict = "" if bar is None else f" {ratio.at_most(bar)}"
                rows[-1].append(
                    f"{ratio.median:.3f} ({ratio.low:.2f} to {ratio.high:.2f}){verdict}"
                )
    columns = ["", "off, CPU us", *BARS]
    return Grid("Processor time for one request, and its ratio to everything off", columns, rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="e.g. GetItem")
    parser.add_argument("--rounds", type=int, default=PACE.rounds)
    parser.add_argument("--serve", metavar="MODE", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.port, arguments.folder)
        return 0
    console = Console(stderr=True)
    if reason := load.missing():
        console.print(reason)
        return 1
    grid = measure(arguments.only, PACE._replace(rounds=arguments.rounds), console)
    report.show([grid], Console(width=150))
    print(report.machine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
