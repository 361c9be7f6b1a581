"""Plots: panels above each other over one axis, drawn as lines, steps and areas.

They are made with the canvas of `hashrange.design.drawing`, so that they have the colours and fonts
of the other pictures, follow a reader's dark mode, and are the same bytes on every machine.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import wrap
from typing import Literal

from hashrange.design.drawing.style import css
from hashrange.design.drawing.svg import Canvas, text_width

WIDTH, LEFT, RIGHT = 720.0, 66.0, 696.0
TITLE_Y, TOLD_Y, LINE_HEIGHT = 32.0, 52.0, 17.0
TOLD_COLUMNS = 100
HEAD, FOOT = 28.0, 26.0
"""The room above a panel, for its label and legend, and below the last one for the axis."""

STYLE = """
.thick{stroke-width:2;stroke-linejoin:round}
.dashes{stroke-dasharray:5 4;stroke-width:1.5}
.area{fill-opacity:.3}
"""

Point = tuple[float, float]
Kind = Literal["line", "step", "area"]


@dataclass(frozen=True)
class Series:
    """Points that are joined. The colour is the number of one, or None for what is refused.

    An area is above `floor`, points with the same x, or above zero.
    """

    name: str
    points: Sequence[Point]
    colour: int | None = 0
    kind: Kind = "step"
    floor: Sequence[Point] | None = None

    @property
    def fill(self) -> str:
        return "bad" if self.colour is None else f"e{self.colour}"

    @property
    def stroke(self) -> str:
        return "badline" if self.colour is None else f"l{self.colour}"


@dataclass(frozen=True)
class Note:
    """A dot at a place of a panel, and a remark below it. `style` is "ink" or "bad"."""

    x: float
    y: float
    text: str
    style: str = "ink"


@dataclass(frozen=True)
class Panel:
    """`label` names the values and their unit. `limits` are dashed lines, with their names."""

    label: str
    ticks: Sequence[float]
    series: Sequence[Series]
    height: float = 150
    limits: Sequence[tuple[float, str]] = ()
    marks: Sequence[tuple[float, str]] = ()
    notes: Sequence[Note] = ()


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: what it shows, and where it has labels."""

    label: str
    ticks: Sequence[float]
    shown: Callable[[float], str] = lambda value: f"{value:,.10g}"


def plot(title: str, told: str, axis: Axis, panels: Iterable[Panel]) -> str:
    """The picture, 720 pixels wide."""
    canvas, y = head(title, told)
    for panel in panels:
        _panel(canvas, panel, axis, y + HEAD)
        y += HEAD + panel.height + 10
    for tick in axis.ticks:
        style = "muted end" if tick == axis.ticks[-1] else "muted middle"
        canvas.text(_x(axis, tick), y + 6, axis.shown(tick), style, size=11)
    canvas.text((LEFT + RIGHT) / 2, y + FOOT, axis.label, "ink middle", size=12)
    return rendered(canvas, title)


def head(title: str, told: str) -> tuple[Canvas, float]:
    """A canvas of the full width, with a title and lines below it; and where these end."""
    canvas = Canvas()
    canvas.text(24, TITLE_Y, title, "ink bold", size=17)
    lines = [line for text in told.splitlines() for line in wrap(text, TOLD_COLUMNS)]
    for number, line in enumerate(lines):
        canvas.text(24, TOLD_Y + LINE_HEIGHT * number, line, "muted", size=12.5)
    return canvas, TOLD_Y + LINE_HEIGHT * len(lines) + 4


def rendered(canvas: Canvas, title: str) -> str:
    """The document, as wide as all of them: the widths of text are only estimates."""
    canvas.right = RIGHT
    return canvas.render(title, css() + STYLE)


def _x(axis: Axis, value: float) -> float:
    first, last = axis.ticks[0], axis.ticks[-1]
    return LEFT + (value - first) / (last - first) * (RIGHT - LEFT)


def _panel(canvas: Canvas, panel: Panel, axis: Axis, top: float) -> None:
    low, high = panel.ticks[0], panel.ticks[-1]
    bottom = top + panel.height

    def x(value: float) -> float:
        return _x(axis, value)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * panel.height

    canvas.text(24, top - 12, panel.label, "ink bold", size=12.5)
    _legend(canvas, panel.series, 40 + text_width(panel.label, "bold", 12.5), top - 12)
    for tick in panel.ticks:
        canvas.line(LEFT, y(tick), RIGHT, y(tick), "mark" if tick == 0 else "rule")
        canvas.text(LEFT - 8, y(tick) + 4, f"{tick:,.10g}", "muted end", size=11)
    for tick in axis.ticks:
        canvas.line(x(tick), bottom, x(tick), bottom + 4, "rule")
    for series in panel.series:
        floor = series.floor or [(a, max(low, 0.0)) for a, _ in series.points]
        _draw(canvas, series, *([(x(a), y(b)) for a, b in line] for line in (series.points, floor)))
    for value, name in panel.limits:
        canvas.line(LEFT, y(value), RIGHT, y(value), "mark dashes")
        beside = 14 if value < 0 else -5
        canvas.text(RIGHT - 4, y(value) + beside, name, "ink end", size=11.5)
    for at, name in panel.marks:
        canvas.line(x(at), top, x(at), bottom, "mark dashes")
        canvas.text(x(at) + 6, top + 12, name, "ink", size=11.5)
    for note in panel.notes:
        canvas.circle(x(note.x), y(note.y), 4, note.style)
        canvas.text(x(note.x) + 8, y(note.y) + 17, note.text, note.style, size=11.5)


def _legend(canvas: Canvas, series: Sequence[Series], x: float, y: float) -> None:
    """The names of the series, if there is more than one."""
    if len(series) < 2:
        return
    for each in series:
        canvas.rect(x, y - 9, 10, 10, each.fill)
        x += 15 + canvas.text(x + 15, y, each.name, "ink", size=12) + 16
    assert x - 16 <= RIGHT, "the legend does not fit: give the series shorter names"


def _draw(canvas: Canvas, series: Series, points: list[Point], floor: list[Point]) -> None:
    line, below = _joined(points, series.kind), _joined(floor, series.kind)
    if series.kind != "area":
        canvas.path(_data(line), f"line thick {series.stroke}")
        return
    canvas.path(f"{_data(line)}L{_data(below[::-1])[1:]}Z", f"{series.fill} area")
    edge: list[Point] = []
    for point, base in [*zip(line, below, strict=True), (line[-1], line[-1])]:
        if point != base:
            edge.append(point)
        elif len(edge) > 1:
            canvas.path(_data(edge), f"line thick {series.stroke}")
            edge = []


def _joined(points: Sequence[Point], kind: Kind) -> list[Point]:
    if kind == "line":
        return list(points)
    joined = [points[0]]
    for (_, former), (x, y) in pairwise(points):
        joined += [(x, former), (x, y)]
    return joined


def _data(points: Sequence[Point]) -> str:
    """The data of a path; points that change nothing are left out."""
    kept = [
        point
        for number, point in enumerate(points)
        if not 0 < number < len(points) - 1
        or not points[number - 1][1] == point[1] == points[number + 1][1]
    ]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in kept)


def stacked(*series: Series) -> list[Series]:
    """Areas on top of each other."""
    areas: list[Series] = []
    for each in series:
        if areas:
            below = areas[-1].points
            points = [(x, y + b) for (x, y), (_, b) in zip(each.points, below, strict=True)]
            areas.append(replace(each, points=points, floor=below, kind="area"))
        else:
            areas.append(replace(each, kind="area"))
    return areas
