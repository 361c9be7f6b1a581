"""`make demo-hot`: an index with one hot key, live, until the base table refuses writes.

The same measurements are written three times, each time with different values of the index's key.
The demo sets the clock itself, so twenty minutes of measurements take seconds. Without a terminal,
only the final state is printed.
"""

from collections.abc import Sequence

from hot_index import DESIGNS, INDEX, LOAD_SECONDS, MEASUREMENTS_PER_SECOND, Run
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

BAR, CURVE = 8, 12
BLOCKS = " ▁▂▃▄▅▆▇█"
COLUMNS_UNLESS_TERMINAL = 80
SHOWN_EVERY_SECONDS = 30
"""The simulated seconds between two updates of the display."""

INTRODUCTION = f"""
[bold]One hot key in an index[/bold]

Sensors send {MEASUREMENTS_PER_SECOND} measurements a second for {LOAD_SECONDS // 60} minutes.
{INDEX} finds all items of a kind by their entityType.
A partition serves 10 write units a second, a hundredth of DynamoDB's.
"""


def shown(runs: Sequence[Run]) -> RenderableType:
    """A table of the runs, and why and by what resource each run was refused, if it was."""
    return Group(_table(runs), *(_refusal(run) for run in runs if run.reasons))


def _table(runs: Sequence[Run]) -> Table:
    table = Table(box=box.HORIZONTALS, border_style="dim", padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("\nentityType", no_wrap=True)
    table.add_column("\nwritten", min_width=BAR)
    table.add_column("written in\na second", min_width=CURVE)
    for heading in (
        "units of\ntable",
        f"units of\n{INDEX}",
        "writes\nrefused",
        "minutes\ntaken",
    ):
        table.add_column(heading, justify="right", style="cyan")
    for run in runs:
        filled = int(run.done * BAR)
        refused = sum(run.refused)
        table.add_row(
            run.name,
            Text("█" * filled, "green" if run.done == 1 else "yellow")
            + Text("░" * (BAR - filled), "dim"),
            Text(_curve(run.written), "green"),
            *(f"{units:,.0f}" for units in run.units or ()),
            *(() if run.units else ("", "")),
            Text(f"{refused:,}", "bold red" if refused else ""),
            f"{run.seconds // 60}:{run.seconds % 60:02}",
        )
    return table


def _curve(written: Sequence[int]) -> str:
    """A curve of blocks; the height of each block is the mean of the writes per second."""
    width = 2 * LOAD_SECONDS // CURVE
    means = [sum(part) / len(part) for part in _parts(written, width)]
    most = len(BLOCKS) - 1
    return "".join(
        BLOCKS[min(most, round(mean / MEASUREMENTS_PER_SECOND * most))] for mean in means
    )


def _parts(values: Sequence[int], width: int) -> list[Sequence[int]]:
    return [values[start : start + width] for start in range(0, len(values), width)]


def _refusal(run: Run) -> Text:
    [(reason, resource)] = run.reasons
    return Text.assemble(
        ("\nThe table refused writes because of its index", "bold red"),
        f" (entityType = {run.name}):\n  {reason}\n  {resource}",
    )


def main() -> None:
    out = Console()
    if not out.is_terminal:
        out = Console(width=COLUMNS_UNLESS_TERMINAL)
    out.print(INTRODUCTION, highlight=False)
    runs: list[Run] = []
    with Live(console=out, auto_refresh=False) as live:
        for name in DESIGNS:
            runs.append(Run(name))
            for _ in runs[-1].steps():
                if out.is_terminal and runs[-1].seconds % SHOWN_EVERY_SECONDS == 0:
                    live.update(shown(runs), refresh=True)
        live.update(shown(runs), refresh=True)


if __name__ == "__main__":
    main()
