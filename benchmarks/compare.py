"""Two checkouts of hashrange side by side: `python -m benchmarks --against FOLDER`.

Both are started several times and take short turns, in process and over HTTP. What is compared is
the processor time per request: each start gives one ratio of medians. An operation is "slower" or
"faster" if the median of the ratios is off by more than 2 % and their whole interval (see
`spread`) is on one side of 1.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple, Self

from benchmarks import peers, runs, workloads
from benchmarks.load import Load
from benchmarks.peers import ROOT
from benchmarks.report import Grid
from benchmarks.servers import all_running, environment
from benchmarks.spread import Spread

STARTS = 8
TURNS = 5
PACE = runs.Pace(rounds=1, seconds=1)
SLOWER_MAX = 0.02
HERE, OTHER = "this checkout", "the other"


class Comparison(NamedTuple):
    """Of one operation: microseconds per request in both checkouts, once for each start."""

    here: list[float]
    other: list[float]

    def ratio(self) -> Spread:
        return Spread.of(here / other for here, other in zip(self.here, self.other, strict=True))

    def verdict(self) -> str:
        ratio = self.ratio()
        if ratio.median > 1 + SLOWER_MAX and ratio.low > 1:
            return "slower"
        if ratio.median < 1 - SLOWER_MAX and ratio.high < 1:
            return "faster"
        return "within noise"


Compared = dict[str, Comparison]
"""The comparisons by workload name."""


class Compute:
    """A process that makes requests in process, with the hashrange of one checkout."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.embedded"],
            cwd=ROOT,
            env=environment(checkout / "src"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.calls: dict[str, int] = json.loads(self.answer())

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def microseconds(self, name: str) -> float:
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self.answer())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def in_process(other: Path, say: runs.Say) -> tuple[Compared, dict[str, tuple[int, int]]]:
    """The comparisons, and the Python calls of each operation in this checkout and the other."""
    compared: Compared = {}
    for start in range(STARTS):
        with ExitStack() as stack:
            pair = [stack.enter_context(Compute(folder)) for folder in (ROOT, other)]
            calls = {name: (pair[0].calls[name], pair[1].calls[name]) for name in pair[0].calls}
            for name in calls:
                say(f"start {start + 1} of {STARTS}: {name} in process")
                here, there = map(median, zip(*in_turns(pair, name), strict=True))
                comparison = compared.setdefault(name, Comparison([], []))
                comparison.here.append(here)
                comparison.other.append(there)
    return compared, calls


def in_turns(pair: list[Compute], name: str) -> Iterator[tuple[float, float]]:
    """For each turn, the microseconds in both checkouts. They begin alternately."""
    for turn in range(TURNS):
        taken = {each: pair[each].microseconds(name) for each in (turn % 2, 1 - turn % 2)}
        yield taken[0], taken[1]


def over_http(other: Path, folder: Path, say: runs.Say) -> Compared:
    """The comparisons of requests to the servers of both checkouts, which store to disk with
    relaxed durability."""
    small = [each for each in workloads.all_workloads() if each.table.size == 100]
    replays = [
        runs.prepare(workload, folder) for workload in [*small, *workloads.indexed_workloads()]
    ]
    servers = [peers.checkout(ROOT, HERE, "relaxed"), peers.checkout(other, OTHER, "relaxed")]
    compared: Compared = {}
    for start in range(STARTS):
        with all_running(servers, folder / f"start-{start}") as running:
            for each in running:
                for table in (small[0].table, workloads.INDEXED):
                    runs.fill(each, table)
            for replay in replays:
                seen = runs.compare(running, replay, PACE, say)
                comparison = compared.setdefault(replay.workload.name, Comparison([], []))
                comparison.here.append(spent(seen[servers[0].name]))
                comparison.other.append(spent(seen[servers[1].name]))
        servers.reverse()
    return compared


def spent(loads: list[Load]) -> float:
    return median(load.server_us for load in loads)


def grid(title: str, compared: Compared, calls: dict[str, tuple[int, int]] | None = None) -> Grid:
    """A table of the comparisons. In each pair of figures, the first is of this checkout."""
    rows = []
    for name, (here, other) in compared.items():
        ratio = compared[name].ratio()
        rows.append(
            [
                name,
                *(["{} / {}".format(*calls[name])] if calls else []),
                f"{median(here):.1f} / {median(other):.1f}",
                f"{ratio.median:.3f}",
                f"{ratio.low:.2f} to {ratio.high:.2f}",
                compared[name].verdict(),
            ]
        )
    counts = ["Python calls"] if calls else []
    columns = ["", *counts, "CPU us", "ratio", "interval", ""]
    return Grid(f"{title}, for one request: {HERE} / {OTHER}", columns, rows)
