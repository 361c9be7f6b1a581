"""`python -m benchmarks`: start the servers of hashrange and of the peers, drive them, and print
the figures.

With --against FOLDER, compare this checkout with another one instead.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks import bars, compare, embedded, load, peers, report, runs, workloads
from benchmarks.report import Grid
from benchmarks.servers import Rest, Server, ServerFailedError, all_running, at_rest

ITEMS_SMALL = 1_000
QUICK = runs.Pace(rounds=3, seconds=1)
THOROUGH = runs.Pace(rounds=7, seconds=1)
WIDTH = 150
"""How many characters wide the tables are in a file."""
STARTS = 5
"""How many times each server is started without data."""


class Bench(NamedTuple):
    """The figures of one run; all but the loads may be empty."""

    loads: bars.Loads
    disturbed: dict[str, list[runs.Disturbed]]
    resting: dict[str, list[Rest]]
    grown: list[runs.Grown]
    in_process: dict[str, embedded.Figures]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="three rounds, items of 100 bytes, no growth; with --against, in process only",
    )
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout to compare this one with"
    )
    names = [source.__name__ for source in (*peers.OURS, *peers.OTHERS, peers.moto)]
    parser.add_argument("--only", nargs="+", choices=names, help="only these implementations")
    parser.add_argument("--moto", action="store_true", help="drive moto too; it is slow")
    parser.add_argument("--items", type=int, default=100_000, help="the size of the grown table")
    parser.add_argument("--markdown", type=Path, help="the page to write the tables to")
    return parser.parse_args()


def find_servers(options: argparse.Namespace, console: Console) -> list[Server]:
    """The servers that can be installed here. Those that cannot are printed with the reason."""
    sources: list[Callable[[], list[Server]]] = [*peers.OURS, *peers.OTHERS]
    servers: list[Server] = []
    for source in [*sources, peers.moto] if options.moto else sources:
        name = source.__name__
        if options.only and name not in options.only:
            continue
        try:
            console.print(f"[dim]{name} ...")
            servers += source()
        except peers.UnavailableError as reason:
            console.print(f"[yellow]{name} is left out: {reason}")
    return servers


def over_http(
    servers: list[Server], options: argparse.Namespace, folder: Path, say: runs.Say
) -> tuple[bars.Loads, dict[str, list[runs.Disturbed]]]:
    """All servers run at once and take turns; one is driven while the others are idle."""
    pace = QUICK if options.quick else THOROUGH
    chosen = [w for w in workloads.all_workloads() if not options.quick or w.table.size == 100]
    with all_running(servers, folder) as running:
        for one in running:
            say(f"filling {one.server.name}")
            for table in {workload.table for workload in chosen} | {workloads.SCANNED}:
                runs.fill(one, table)
        replays = [runs.prepare(workload, folder) for workload in chosen]
        loads = {r.workload.label: runs.compare(running, r, pace, say) for r in replays}
        return loads, {} if options.quick else runs.disturb_all(running, folder, pace, say)


def measure(
    servers: list[Server], options: argparse.Namespace, folder: Path, say: runs.Say
) -> Bench:
    ours = [server for server in servers if server.name == bars.OURS]
    say("Database.execute in process")
    in_process = embedded.measure() if ours else {}
    loads, disturbed = over_http(servers, options, folder, say)
    resting: dict[str, list[Rest]] = {server.name: [] for server in servers if server.reads}
    for start in range(STARTS):
        for server in (server for server in servers if server.reads):
            say(f"starting {server.name} without data")
            resting[server.name].append(at_rest(server, folder / f"rest-{server.name}-{start}"))
    grown = []
    if ours and not options.quick:
        for items in (ITEMS_SMALL, options.items):
            grown.append(runs.grow(ours[0], items, folder, THOROUGH, say))
    return Bench(loads, disturbed, resting, grown, in_process)


def grids(bench: Bench, servers: list[Server]) -> list[Grid]:
    """The tables about these servers, except the table of the loads, which has two forms."""
    names = {server.name for server in servers}
    resting = {name: rests for name, rests in bench.resting.items() if name in names}
    return [
        *([report.disturbances(bench.disturbed)] if bench.disturbed else []),
        report.rests(resting),
        *([report.growth(bench.grown)] if bench.grown else []),
        *([report.in_process(bench.in_process)] if bench.in_process else []),
    ]


def verdicts(bench: Bench) -> Grid:
    """A table of the bars that hashrange sets itself, with verdicts. It is for the terminal, not
    for the page."""
    limits = bars.limits(bench.disturbed, bench.resting, bench.in_process)
    return report.verdicts([*bars.ratios(bench.loads), *limits])


def show_bench(options: argparse.Namespace, folder: Path, say: runs.Say, console: Console) -> None:
    machine = report.machine()
    servers = find_servers(options, console)
    bench = measure(servers, options, folder, say)
    notes = [machine, *report.disturbing(bench.loads), *report.strained(bench.loads)]
    tables = [report.listed(servers, bench.loads), *grids(bench, servers), verdicts(bench)]
    report.show(tables, console)
    for note in notes:
        console.print(note)
    if options.markdown:
        peers_and_ours = [
            server for server in servers if server.name not in (bars.BARE, bars.BARE_FULL)
        ]
        tables = [report.crossed(peers_and_ours, bench.loads), *grids(bench, peers_and_ours)]
        report.place(report.markdown(tables, notes), options.markdown)


def show_comparison(
    options: argparse.Namespace, folder: Path, say: runs.Say, console: Console
) -> bool:
    """Compare this checkout with the other one and print the figures. Returns whether no operation
    is slower here."""
    other = options.against.resolve()
    compared, calls = compare.in_process(other, say)
    verdicts = [comparison.verdict() for comparison in compared.values()]
    report.show([compare.grid("In process, in memory", compared, calls)], console)
    if not options.quick:
        compared = compare.over_http(other, folder, say)
        verdicts += [comparison.verdict() for comparison in compared.values()]
        report.show([compare.grid("Over HTTP, relaxed", compared)], console)
    console.print(report.machine())
    return "slower" not in verdicts


def main() -> int:
    options = arguments()
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if reason := load.missing():
        console.print(f"[red]{reason}")
        return 2
    peers.RUNS.mkdir(parents=True, exist_ok=True)
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with (
        tempfile.TemporaryDirectory(dir=peers.RUNS) as folder,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task("")

        def say(what: str) -> None:
            progress.update(task, description=what)

        if options.against:
            return 0 if show_comparison(options, Path(folder), say, console) else 1
        show_bench(options, Path(folder), say, console)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ServerFailedError as error:
        sys.exit(str(error))
