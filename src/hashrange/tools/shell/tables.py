"""Items as a table that fits the terminal.

Columns that do not fit are named below the table. Every cell is plain text for rich, so that no
value is interpreted as its markup.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from hashrange.tools.shell.execution import Item
from hashrange.tools.shell.values import cell, printable, shortened

CELL_CHARACTERS_MAX = 60
COLUMN_WIDTH_MIN = 12
KEY_WIDTH_MIN = 30
"""The least width of a key column with wide content. A column that does not fit with its least
width is hidden."""
_BETWEEN = "  "

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
_ESCAPE = r"\\(?:[nrt]|u[0-9a-f]{4}|U[0-9a-f]{8})"


class Layout(NamedTuple):
    """The visible columns with their widths, and the names of the hidden ones."""

    shown: list[tuple[str, int]]
    hidden: list[str]


def columns_of(items: Iterable[Item], first: Sequence[str]) -> list[str]:
    """The names of the items' attributes: first those in `first`, then the others by name."""
    names = {name for item in items for name in item}
    return [*(name for name in first if name in names), *sorted(names - {*first})]


def lay_out(
    names: Sequence[str], rows: Sequence[Sequence[str]], width: int, key: Sequence[str] = ()
) -> Layout:
    """Fit columns into a width. First, wide columns are narrowed, key columns less than others. If
    that is not enough, the last columns are hidden."""
    natural = [
        max([cell_len(printable(name)), *(cell_len(row[at]) for row in rows)])
        for at, name in enumerate(names)
    ]
    least = [
        min(each, KEY_WIDTH_MIN if name in key else COLUMN_WIDTH_MIN)
        for name, each in zip(names, natural, strict=True)
    ]
    count, used = 0, -len(_BETWEEN)
    for each in least:
        if count and used + each + len(_BETWEEN) > width:
            break
        count, used = count + 1, used + each + len(_BETWEEN)
    widths, spare = least[:count], width - used
    for at in sorted(range(count), key=lambda at: natural[at] - least[at]):
        more = max(0, min(natural[at] - least[at], spare))
        widths[at], spare = widths[at] + more, spare - more
    widths[0] = min(widths[0], max(1, width))
    return Layout(list(zip(names, widths, strict=False)), list(names[count:]))


def print_table(
    console: Console, names: Sequence[str], items: Sequence[Item], key: Sequence[str] = ()
) -> None:
    """Print the items as a table that fits the console. `names` are the columns, `key` the key
    attributes."""
    if not names:
        console.print(f"{len(items)} items, without an attribute to show", markup=False)
        return
    rows = [[cell(item.get(name), CELL_CHARACTERS_MAX) for name in names] for item in items]
    layout = lay_out(names, rows, console.width, key)
    right = [all("N" in item[name] for item in items if name in item) for name, _ in layout.shown]
    sizes = [size for _, size in layout.shown]
    titles = [printable(name) for name, _ in layout.shown]
    _print_line(console, _padded(titles, sizes, right), ["bold"] * len(sizes))
    _print_line(console, ["─" * (sum(sizes) + len(_BETWEEN) * (len(sizes) - 1))], [""])
    for item, row in zip(items, rows, strict=True):
        styles = [_style(item.get(name)) for name, _ in layout.shown]
        _print_line(console, _padded(row, sizes, right), styles)
    if layout.hidden:
        _print_line(console, [_not_shown(layout.hidden, console.width)], ["dim"])


def _padded(texts: Sequence[str], sizes: Sequence[int], right: Sequence[bool]) -> list[str]:
    """The texts, cut or padded to their widths."""
    cells = []
    for text, size, on_the_right in zip(texts, sizes, right, strict=False):
        blank = " " * (size - cell_len(text))
        if cell_len(text) > size:
            cells.append(set_cell_size(set_cell_size(text, size - 1).rstrip() + "…", size))
        else:
            cells.append(f"{blank}{text}" if on_the_right else f"{text}{blank}")
    return cells


def _print_line(console: Console, texts: Sequence[str], styles: Sequence[str]) -> None:
    """Print the cells of a line. Without colours, rich is not used, because it is slower."""
    if console.color_system is None:
        console.file.write(f"{_BETWEEN.join(texts).rstrip()}\n")
        return
    line = Text(_BETWEEN).join(map(Text, texts, styles))
    line.rstrip()
    line.highlight_regex(_ESCAPE, "dim")
    console.print(line, soft_wrap=True)


def _style(value: Mapping[str, object] | None) -> str:
    return _STYLES.get(next(iter(value), ""), "") if value else ""


def _not_shown(hidden: Sequence[str], width: int) -> str:
    names = ", ".join(map(printable, hidden[:50]))
    return shortened(f"not shown for lack of room: {names}", max(40, width))
