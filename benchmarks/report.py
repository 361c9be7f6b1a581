"""The figures as tables, for the terminal and as Markdown for docs/benchmarks.md."""

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.bars import Judged, Loads, disturbed, requests_ratio
from benchmarks.embedded import Figures
from benchmarks.load import CONNECTIONS, Load, typical
from benchmarks.runs import Disturbed, Grown
from benchmarks.servers import Rest, Server
from benchmarks.spread import Spread

BUSY_MAX = 0.9
"""If the generator takes more than this share of a core, it may be the limit itself."""

START, END = "<!-- bench -->", "<!-- /bench -->"
DIGITS = ("", *"0123456789-<")


class Grid(NamedTuple):
    title: str
    columns: list[str]
    rows: list[list[str]]


def heading(server: Server) -> str:
    return " ".join(filter(None, [server.implementation, server.version, f"({server.durability})"]))


def ratio(server: Server, by_name: dict[str, list[Load]]) -> str:
    """How many times as many requests/s ours answers; "" for ours itself.

    A server of full durability is compared with ours of full durability.
    """
    durability = "full" if server.durability == "full" else "relaxed"
    ours = by_name.get(f"hashrange {durability}")
    if ours is None or server.implementation == "hashrange":
        return ""
    return f"{requests_ratio(ours, by_name[server.name]).median:.2f}x"


def rate(loads: list[Load]) -> str:
    load = typical(loads)
    failed = f", {load.failed} failed" if load.failed else ""
    return f"{load.requests_per_second:,.0f}{failed}"


def spread(values: Iterable[float]) -> str:
    return f"{Spread.of(values).per_cent:.0f} %"


def listed(servers: Sequence[Server], loads: Loads) -> Grid:
    """One row for each workload and server: what a terminal has the width for.

    "CPU us" is the processor time of the server for one request. A spread is the interquartile
    range of the rounds, as a percentage of their median.
    """
    rows = []
    for label, by_name in loads.items():
        for server in servers:
            if rounds := by_name.get(server.name):
                load = typical(rounds)
                figures = (
                    rate(rounds),
                    spread(each.requests_per_second for each in rounds),
                    f"{load.p50_ms:.2f}",
                    f"{load.p99_ms:.2f}",
                    f"{load.server_us:,.1f}",
                    spread(each.server_us for each in rounds),
                )
                rows.append([label, heading(server), *figures, ratio(server, by_name)])
    columns = ["", "server (durability)", "requests/s", "spread", "p50 ms", "p99 ms"]
    columns += ["CPU us", "spread", "ours is"]
    return Grid(f"{CONNECTIONS} connections", columns, rows)


def crossed(servers: Sequence[Server], loads: Loads) -> Grid:
    """One row for each workload, one column for each server: what a page has the width for."""

    def cell(server: Server, by_name: dict[str, list[Load]]) -> str:
        rounds = by_name.get(server.name)
        if rounds is None:
            return "-"
        load = typical(rounds)
        compared = f" ({times})" if (times := ratio(server, by_name)) else ""
        varied = spread(each.requests_per_second for each in rounds)
        latency = f"{load.p50_ms:.2f} / {load.p99_ms:.2f}"
        return f"{rate(rounds)}{compared}<br>±{varied}<br>{latency}<br>{load.server_us:,.0f}"

    rows = [[label, *(cell(s, by_name) for s in servers)] for label, by_name in loads.items()]
    title = (
        f"{CONNECTIONS} connections: requests/s "
        "(in brackets: hashrange's rate divided by this one), their interquartile range, "
        "p50 / p99 in ms, processor time per request in us"
    )
    return Grid(title, ["", *map(heading, servers)], rows)


def disturbances(disturbed: dict[str, list[Disturbed]]) -> Grid:
    def cell(loads: list[Load], quiet: list[Load]) -> str:
        factors = (load.p99_ms / alone.p99_ms for load, alone in zip(loads, quiet, strict=True))
        return f"{typical(loads).p99_ms:.2f} ({Spread.of(factors).median:.1f}x)"

    rows = []
    for name, rounds in disturbed.items():
        quiet, writers, scans = map(list, zip(*rounds, strict=True))
        alone = f"{typical(quiet).p99_ms:.2f}"
        rows.append([name, alone, cell(writers, quiet), cell(scans, quiet)])
    columns = ["", "quiet", "while writers commit", "while filtered Scans run"]
    title = (
        "GetItem's p99 in ms, on a quiet server and beside other requests (in brackets: this p99 "
        "divided by the quiet one of the same round; the median of all rounds)"
    )
    return Grid(title, columns, rows)


def rests(resting: dict[str, list[Rest]]) -> Grid:
    rows = [
        [
            name,
            f"{Spread.of(rest.first_answer_ms for rest in rounds).median:,.0f}",
            f"{Spread.of(rest.idle_memory_mb for rest in rounds).median:,.0f}",
        ]
        for name, rounds in resting.items()
    ]
    return Grid("At rest", ["", "start to first answer, ms", "idle memory, MB"], rows)


def growth(grown: Sequence[Grown]) -> Grid:
    names = list(grown[0].loads)
    rows = [
        [
            f"{seen.items:,}",
            *(f"{seen.loads[name].requests_per_second:,.0f}" for name in names),
            f"{seen.memory_mb:,.0f}",
        ]
        for seen in grown
    ]
    return Grid(
        "Growth, requests/s", ["items", *names, "memory without the file's pages, MB"], rows
    )


def in_process(measured: dict[str, Figures]) -> Grid:
    rows = [
        [
            name,
            f"{figures.calls}",
            f"{Spread.of(figures.microseconds).median:.1f}",
            spread(figures.microseconds),
        ]
        for name, figures in measured.items()
    ]
    columns = ["", "Python calls", "CPU us", "spread"]
    return Grid("Database.execute in process, in memory: for one request", columns, rows)


def verdicts(bars: Iterable[Judged]) -> Grid:
    rows = [[bar.what, *bar[1:-1], bar.verdict.replace("missed", "MISSED")] for bar in bars]
    return Grid("Bars", ["", "against", "needed", "measured", "processor time", ""], rows)


def strained(loads: Loads) -> list[str]:
    """A line for each workload and server whose limit may have been the generator."""
    typicals = {
        (label, name): typical(rounds)
        for label, by_name in loads.items()
        for name, rounds in by_name.items()
    }
    return [
        f"{label} at {name}: the generator took {load.busy:.0%} of a core"
        for (label, name), load in typicals.items()
        if load.busy > BUSY_MAX
    ]


def disturbing(loads: Loads) -> list[str]:
    """A line that says how much other programs used the machine; empty if nothing was driven."""
    runs = [load for by_name in loads.values() for rounds in by_name.values() for load in rounds]
    if not runs:
        return []
    others = Spread.of(load.others for load in runs)
    fit = "busy" if disturbed(runs) else "quiet"
    return [f"The machine was {fit}: other programs took {others.median:.2f} cores (median)."]


def machine() -> str:
    """Date, processor, cores and their load, system and interpreter, in one line."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
    return ", ".join(
        [
            datetime.date.today().isoformat(),
            model,
            f"{os.cpu_count()} cores (load {os.getloadavg()[2]:.1f})",
            f"{platform.system()} {platform.release()}",
            f"Python {platform.python_version()}",
        ]
    )


def show(grids: Sequence[Grid], console: Console) -> None:
    for grid in grids:
        table = Table(title=grid.title, title_justify="left")
        for number, column in enumerate(grid.columns):
            figures = all(row[number][:1] in DIGITS for row in grid.rows)
            table.add_column(column, justify="right" if figures else "left")
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)


def markdown(grids: Sequence[Grid], notes: Sequence[str]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    parts = ["\n".join(f"{note}  " for note in notes)]
    for grid in grids:
        rule = ["---", *("---:" for _ in grid.columns[1:])]
        parts.append(
            "\n".join([f"**{grid.title}**", "", *map(line, [grid.columns, rule, *grid.rows])])
        )
    return "\n\n".join(parts) + "\n"


def place(text: str, path: Path) -> None:
    """Write between the marks of a page that has them, otherwise over the whole file."""
    before, start, rest = (path.read_text() if path.exists() else "").partition(START)
    _, end, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{text}{END}{after}" if start and end else text)
