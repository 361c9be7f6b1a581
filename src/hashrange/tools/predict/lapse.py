"""A time-lapse of partitions: the hash from left to right, and time downwards.

Each row shows the partitions at one time. The colour of a partition is the share of its limit that
it uses; red means refusals. At a split, a line begins. The partitions within a divided item
collection form a band.
"""

from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from hashrange.design.drawing.svg import Canvas
from hashrange.model.streams import PARTITION_BYTES

LEFT, WIDTH = 96.0, 720.0
HEIGHT = 300.0
ROW_LEAST, ROW_MOST = 4.0, 34.0
CELL_LEAST = 16.0
"""The least width of a partition in the picture. Narrower partitions could not be seen."""
TONES = 10
HASH_BYTES = 8

CSS = """
.paper{fill:#fff}.ink{fill:#1c2733;font-family:system-ui,sans-serif}
.dim{fill:#5a6775;font-family:system-ui,sans-serif}.bold{font-weight:600}
.edge{stroke:#33475b;stroke-width:1}.split{fill:#33475b}
.band{fill:none;stroke:#7a3fb5;stroke-width:2}
rect,line{shape-rendering:crispEdges}.refused{fill:#d62839}
@media (prefers-color-scheme:dark){.paper{fill:#14191f}.ink{fill:#e8edf2}.dim{fill:#a6b2be}
.edge{stroke:#a6b2be}.split{fill:#e8edf2}.band{stroke:#c79bf0}}
"""
SHADES = (
    *("#eef4f9", "#dcebf6", "#c6dff1", "#a9cfe9", "#88bbdf"),
    *("#66a5d3", "#478dc4", "#2e75b3", "#1c5d9c", "#104680"),
)


class Cell(Struct):
    """A partition in a row: the hash at which it begins, the used share of its limit, and the
    refused share of its requests."""

    start: bytes
    share: float
    refused: float = 0.0


class Lapse(Struct):
    """A time-lapse to draw. Each of `rows` has a label, a duration, and the partitions during that
    time. The height of a row is proportional to its duration."""

    title: str
    rows: list[tuple[str, float, list[Cell]]]
    note: str = ""


def image(heading: str, *lapses: Lapse) -> str:
    """The picture as a data URL for a page."""
    return "data:image/svg+xml;base64," + b64encode(drawn(heading, lapses).encode()).decode()


def drawn(heading: str, lapses: Sequence[Lapse]) -> str:
    """The picture as SVG."""
    canvas, y = Canvas(), 34.0
    canvas.text(24, y, heading, "ink bold", size=16)
    for lapse in lapses:
        y = _draw(canvas, lapse, y + 34)
    y = _legend(canvas, y + 34)
    shades = "".join(f".s{n}{{fill:{colour}}}" for n, colour in enumerate(SHADES))
    return canvas.render(heading, CSS + shades)


def _draw(canvas: Canvas, lapse: Lapse, top: float) -> float:
    canvas.text(24, top, lapse.title, "ink bold", size=13)
    if lapse.note:
        top += 18
        canvas.text(24, top, lapse.note, "dim", size=12)
    places = _places(lapse)
    total = sum(height for _, height, _ in lapse.rows)
    wanted = min(max(HEIGHT, ROW_LEAST * len(lapse.rows)), ROW_MOST * len(lapse.rows))
    canvas.text(LEFT, top + 18, "0", "dim", size=10)
    canvas.text(LEFT + WIDTH - 52, top + 18, "hash  → end", "dim", size=10)
    y = first = top + 24
    known: set[bytes] = set()
    labelled = -100.0
    for number, (label, height, cells) in enumerate(lapse.rows):
        below = y + height / total * wanted
        if y - labelled >= 16 or number == 0:
            canvas.text(24, y + min(11.0, below - y + 4), label, "dim", size=11)
            labelled = y
        _row(canvas, cells, places, y, below)
        if number:
            for cell in cells:
                if cell.start not in known:
                    canvas.circle(places[cell.start], y, 3.5, "split")
        known = {cell.start for cell in cells}
        y = below
    _bands(canvas, lapse, places, first, y)
    return y


def _row(
    canvas: Canvas, cells: list[Cell], places: dict[bytes, float], top: float, below: float
) -> None:
    ends = [*(places[cell.start] for cell in cells[1:]), LEFT + WIDTH]
    for cell, end in zip(cells, ends, strict=True):
        x = places[cell.start]
        shade = min(int(cell.share * TONES), TONES - 1)
        canvas.rect(x, top, end - x, below - top + 0.4, f"s{shade}")
        if cell.refused > 0:
            share = min(max(cell.refused, 0.06), 1.0)
            canvas.rect(end - (end - x) * share, top, (end - x) * share, below - top, "refused")
        canvas.line(x, top, x, below, "edge")
    canvas.line(LEFT + WIDTH, top, LEFT + WIDTH, below, "edge")


def _bands(
    canvas: Canvas, lapse: Lapse, places: dict[bytes, float], top: float, below: float
) -> None:
    """A frame around the partitions of each divided collection."""
    starts = sorted(places)
    inside = [start for start in starts if len(start) > PARTITION_BYTES]
    for collection in sorted({start[:PARTITION_BYTES] for start in inside}):
        mine = [start for start in inside if start.startswith(collection)]
        after = [places[start] for start in starts if start > mine[-1]]
        begin = max([places[s] for s in starts if s < mine[0]], default=LEFT)
        end = after[0] if after else LEFT + WIDTH
        canvas.rect(begin, top - 2, end - begin, below - top + 4, "band", round=3)
        canvas.text(begin + 3, below + 13, "a divided item collection", "dim", size=10)


def _places(lapse: Lapse) -> dict[bytes, float]:
    """The horizontal position at which each partition of any row begins. Each partition is wide
    enough to be visible."""
    starts = sorted({cell.start for _, _, cells in lapse.rows for cell in cells})
    whole = 1 << 8 * HASH_BYTES
    hashes = [int.from_bytes(s[:HASH_BYTES].ljust(HASH_BYTES, b"\0"), "big") for s in starts]
    widths = [end - start for start, end in pairwise([*hashes, whole])]
    least = min(CELL_LEAST, WIDTH / len(starts))
    spare = WIDTH - least * len(starts)
    places, x = {}, LEFT
    for start, width in zip(starts, widths, strict=True):
        places[start] = x
        x += least + spare * width / whole
    return places


def _legend(canvas: Canvas, y: float) -> float:
    canvas.text(24, y + 11, "share of its limit", "dim", size=11)
    x = LEFT + 44
    for number in range(TONES):
        canvas.rect(x + 18 * number, y, 18, 14, f"s{number}")
    canvas.text(x + 18 * TONES + 6, y + 11, "all", "dim", size=11)
    x += 18 * TONES + 44
    canvas.rect(x, y, 18, 14, "refused")
    canvas.text(x + 24, y + 11, "share that is refused", "dim", size=11)
    canvas.circle(x + 158, y + 7, 3.5, "split")
    canvas.text(x + 168, y + 11, "a partition is split", "dim", size=11)
    return y + 14
