"""The speed chart: bars for the figures in docs/benchmarks.md."""

import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from hashrange.design.drawing.style import css

OPERATIONS = ("GetItem", "PutItem", "UpdateItem", "Query of 10", "BatchWriteItem (25)")
SERVERS = ("hashrange", "dynoxide", "dynalite", "DynamoDB Local")
COLOURS = ("e0", "e2", "e4", "e9")
LEFT, WIDTH, BAR, GAP, TOP, BAR_ROOM = 170, 760, 13, 14, 102, 510


class Bar(NamedTuple):
    server: str
    per_second: int


def speed(page: Path) -> str:
    """Requests/s of each server for some operations, on items of 100 bytes."""
    header, rows = _table(page.read_text())
    columns = [next(n for n, cell in enumerate(header) if cell.startswith(s)) for s in SERVERS]
    groups = []
    for row in rows:
        operation = row[0].removesuffix(", 100 B")
        if operation in OPERATIONS:
            bars = [
                Bar(server, int(re.match(r"[\d,]+", row[column])[0].replace(",", "")))
                for server, column in zip(SERVERS, columns, strict=True)
                if row[column] != "-"
            ]
            groups.append((operation, bars))
    return _svg(groups, [header[column] for column in columns])


def _table(text: str) -> tuple[list[str], list[list[str]]]:
    """The first table between the marks of the bench: its header, and its rows."""
    lines = text.partition("<!-- bench -->")[2].splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return table[0], table[2:]


def _svg(groups: list[tuple[str, list[Bar]]], headings: list[str]) -> str:
    most = max(bar.per_second for _, bars in groups for bar in bars)
    parts, y = [], TOP
    for operation, bars in groups:
        middle = y + BAR * len(bars) / 2 + 4
        parts.append(_text("ink bold end", LEFT - 12, middle, operation, 13))
        for bar in bars:
            colour = COLOURS[SERVERS.index(bar.server)]
            width = max(1, round(bar.per_second / most * BAR_ROOM))
            parts.append(
                f'<rect class="{colour}" x="{LEFT}" y="{y}" width="{width}" height="{BAR - 2}"/>'
            )
            figure = f"{bar.per_second:,}"
            parts.append(_text("muted", LEFT + width + 6, y + 9.5, figure, 11))
            y += BAR
        y += GAP
    x = 24
    for colour, heading in zip(COLOURS, headings, strict=True):
        parts.append(f'<rect class="{colour}" x="{x}" y="68" width="10" height="10"/>')
        parts.append(_text("muted", x + 15, 77, heading, 11))
        x += 26 + round(5.9 * len(heading))
    title = "Requests per second"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
            f'viewBox="0 0 {WIDTH} {y}" role="img" aria-label="{title}">',
            f"<style>{css()}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{y}"/>',
            _text("ink bold", 24, 30, title, 17),
            _text("muted", 24, 50, "16 connections, items of 100 bytes. More is better.", 12),
            *parts,
            "</svg>\n",
        ]
    )


def _text(kind: str, x: float, y: float, text: str, size: int) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" font-size="{size}">{escape(text)}</text>'
