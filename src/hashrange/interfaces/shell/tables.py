"""Items as a table that fits the terminal.

Columns that do not fit are named below the table. Every cell is plain text for rich, so no value
is read as its markup.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hashrange.interfaces.shell.execution import Item
from hashrange.interfaces.shell.values import cell, printable, shortened

CELL_CHARACTERS_MAX = 60
COLUMN_WIDTH_MIN = 12
KEY_WIDTH_MIN = 30
"""A column is hidden rather than made narrower than this, or than its content."""
_PADDING = 2
_WRAP = 1_000_000

_STYLES = {
    "N": "cyan",
    "NS": "cyan",
    "BOOL": "magenta",
    "NULL": "dim",
    "B": "yellow",
    "BS": "yellow",
    "L": "green",
    "M": "green",
    "SS": "green",
}
_CONTROL = r"\\(?:[nrt]|u[0-9a-f]{4}|U[0-9a-f]{8})"


class Layout(NamedTuple):
    """The columns that are shown with their widths, and the names of the hidden ones."""

    shown: list[tuple[str, int]]
    hidden: list[str]


def columns_of(items: Iterable[Item], first: Sequence[str]) -> list[str]:
    """The names of the items' attributes: `first` those of the key, then the others by name."""
    found = {name for item in items for name in item}
    return [*(name for name in first if name in found), *sorted(found - {*first})]


def lay_out(
    names: Sequence[str], rows: Sequence[Sequence[str]], width: int, key: Sequence[str] = ()
) -> Layout:
    """Fit columns into a width: wide ones are narrowed first, then the last ones are hidden.

    Those of the key are narrowed less than the others.
    """
    natural = [
        max([cell_len(printable(name)), *(cell_len(row[at]) for row in rows)])
        for at, name in enumerate(names)
    ]
    least = [
        min(each, KEY_WIDTH_MIN if name in key else COLUMN_WIDTH_MIN)
        for name, each in zip(names, natural, strict=True)
    ]
    count, used = 0, 0
    for each in least:
        if count and used + each + _PADDING > width:
            break
        count, used = count + 1, used + each + _PADDING
    widths, spare = least[:count], width - used
    for at in sorted(range(count), key=lambda at: natural[at] - least[at]):
        more = max(0, min(natural[at] - least[at], spare))
        widths[at], spare = widths[at] + more, spare - more
    widths[0] = min(widths[0], max(1, width - _PADDING))
    return Layout(list(zip(names, widths, strict=False)), list(names[count:]))


def print_table(
    console: Console, names: Sequence[str], items: Sequence[Item], key: Sequence[str] = ()
) -> None:
    """Print the items as wide as the console; `names` are the columns, `key` those of the key."""
    if not names:
        console.print(f"{len(items)} items without any of the columns", markup=False)
        return
    rows = [[cell(item.get(name), CELL_CHARACTERS_MAX) for name in names] for item in items]
    layout = lay_out(names, rows, console.width, key)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name, size in layout.shown:
        title = Text(_fitted(printable(name), size), style="bold")
        numbers = all("N" in item[name] for item in items if name in item)
        table.add_column(title, no_wrap=True, justify="right" if numbers else "left")
    for item, row in zip(items, rows, strict=True):
        table.add_row(
            *(
                _styled(item.get(name), _fitted(text, size))
                for (name, size), text in zip(layout.shown, row, strict=False)
            )
        )
    console.print(table, width=_WRAP, crop=False, soft_wrap=True)
    if layout.hidden:
        console.print(Text(_not_shown(layout.hidden, console.width), style="dim"), soft_wrap=True)


def _fitted(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def _styled(value: object, text: str) -> Text:
    kind = next(iter(value)) if isinstance(value, dict) and value else ""
    styled = Text(text, style=_STYLES.get(kind, ""))
    styled.highlight_regex(_CONTROL, "dim")
    return styled


def _not_shown(hidden: Sequence[str], width: int) -> str:
    names = ", ".join(map(printable, hidden[:50]))
    return shortened(f"not shown for lack of room: {names}", max(40, width))
