"""The figures as tables: once for the terminal, once as Markdown for the README."""

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.bars import Verdict
from benchmarks.load import CONNECTIONS, Load
from benchmarks.runs import Disturbed, Grown
from benchmarks.servers import Rest, Server

BUSY_MAX = 0.9
"""Above this share of a core the generator itself may be the limit."""


START, END = "<!-- bench -->", "<!-- /bench -->"
DIGITS = ("", *"0123456789-<")


class Grid(NamedTuple):
    title: str
    columns: list[str]
    rows: list[list[str]]


Loads = dict[str, dict[str, Load]]
"""By workload label, then by server name."""


def heading(server: Server) -> str:
    return " ".join(filter(None, [server.implementation, server.version, f"({server.durability})"]))


def ours_for(server: Server, loads: dict[str, Load]) -> Load | None:
    """What a server is compared with: ours at full durability if it has that too."""
    durability = "full" if server.durability == "full" else "relaxed"
    return loads.get(f"hashrange {durability}")


def ratio(server: Server, loads: dict[str, Load]) -> str:
    """How many times as many requests ours answers in the same time; "" for ours itself."""
    ours = ours_for(server, loads)
    if ours is None or server.implementation == "hashrange":
        return ""
    return f"{ours.requests_per_second / loads[server.name].requests_per_second:.2f}x"


def rate(load: Load) -> str:
    failed = f", {load.failed} failed" if load.failed else ""
    return f"{load.requests_per_second:,.0f}{failed}"


def listed(servers: Sequence[Server], loads: Loads) -> Grid:
    """One row for each workload and server: what a terminal has the width for.

    "CPU us" is the server's computing for one request, on all cores.
    """
    rows = []
    for label, by_name in loads.items():
        for server in servers:
            if load := by_name.get(server.name):
                figures = (
                    rate(load),
                    f"{load.p50_ms:.2f}",
                    f"{load.p99_ms:.2f}",
                    f"{load.server_us:,.0f}",
                )
                rows.append([label, heading(server), *figures, ratio(server, by_name)])
    columns = ["", "server (durability)", "requests/s", "p50 ms", "p99 ms", "CPU us", "ours is"]
    return Grid(f"{CONNECTIONS} connections", columns, rows)


def crossed(servers: Sequence[Server], loads: Loads) -> Grid:
    """One row for each workload, one column for each server: what a page has the width for."""

    def cell(server: Server, by_name: dict[str, Load]) -> str:
        load = by_name.get(server.name)
        if load is None:
            return "-"
        compared = f" ({times})" if (times := ratio(server, by_name)) else ""
        return f"{rate(load)}{compared}<br>{load.p50_ms:.2f} / {load.p99_ms:.2f}"

    rows = [[label, *(cell(s, by_name) for s in servers)] for label, by_name in loads.items()]
    title = f"{CONNECTIONS} connections: requests/s, ours as a multiple of it, p50 / p99 in ms"
    return Grid(title, ["", *map(heading, servers)], rows)


def disturbances(disturbed: dict[str, Disturbed]) -> Grid:
    def cell(load: Load, quiet: Load) -> str:
        return f"{load.p99_ms:.2f} ({load.p99_ms / quiet.p99_ms:.1f}x)"

    rows = [
        [
            name,
            f"{seen.quiet.p99_ms:.2f}",
            cell(seen.writers, seen.quiet),
            cell(seen.scans, seen.quiet),
        ]
        for name, seen in disturbed.items()
    ]
    columns = ["", "quiet", "while writers commit", "while filtered Scans run"]
    return Grid("GetItem's p99 in ms", columns, rows)


def rests(resting: dict[str, Rest]) -> Grid:
    rows = [
        [name, f"{rest.first_answer_ms:,.0f}", f"{rest.idle_memory_mb:,.0f}"]
        for name, rest in resting.items()
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


def in_process(microseconds: dict[str, float]) -> Grid:
    rows = [[name, f"{spent:.1f}"] for name, spent in microseconds.items()]
    return Grid("Database.execute in process, in memory", ["", "us"], rows)


def verdicts(bars: Iterable[Verdict]) -> Grid:
    rows = [
        [bar.what, bar.against, bar.needed, bar.measured, "held" if bar.held else "MISSED"]
        for bar in bars
    ]
    return Grid("Bars", ["", "against", "needed", "measured", ""], rows)


def strained(loads: Loads) -> list[str]:
    """Where the generator may have been the limit."""
    return [
        f"{label} at {name}: the generator took {load.busy:.0%} of a core"
        for label, by_name in loads.items()
        for name, load in by_name.items()
        if load.busy > BUSY_MAX
    ]


def machine() -> str:
    """Date, processor, cores, what else they do, system and interpreter, in one line."""
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
    """Write between the marks in a page that has them, else over the whole file."""
    before, start, rest = (path.read_text() if path.exists() else "").partition(START)
    _, end, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{text}{END}{after}" if start and end else text)
