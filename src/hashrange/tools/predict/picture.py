"""The picture of a prediction: the partitions of each scenario over time."""

from hashrange.runtime.prediction.outcome import Outcome
from hashrange.runtime.prediction.prediction import Predicted
from hashrange.runtime.prediction.reading import settings_of
from hashrange.runtime.prediction.timeline import Row, Strip
from hashrange.tools.predict.lapse import Cell, Lapse, drawn
from hashrange.tools.predict.report import Report, clock, percent

STRIPS_MAX = 3
"""The largest number of tables and indexes that are shown for a scenario. They have the most
refusals or, if these are equal, the most load."""


def picture(report: Report) -> str:
    limits = settings_of(report.load.head)
    units = (limits.partition_read_units, limits.partition_write_units)
    lapses = [lapse for each in report.prediction.scenarios for lapse in _lapses(each, units)]
    return drawn(f"Partitions over time: {report.load.path.rpartition('/')[2]}", lapses)


def _lapses(predicted: Predicted, units: tuple[float, float]) -> list[Lapse]:
    outcome = predicted.outcome
    assert outcome.timeline is not None
    strips = [strip for strip in outcome.timeline.strips.values() if _load(strip) != (0, 0)]
    shown = sorted(strips, key=_load, reverse=True)[:STRIPS_MAX]
    return [_lapse(predicted.scenario.name, outcome, strip, units) for strip in shown]


def _load(strip: Strip) -> tuple[int, float]:
    """The sums of all rows for a table or an index: (refused requests, consumed units)."""
    refused = sum(sum(row.refused.values()) for row in strip.rows)
    return refused, sum(sum(row.units.values()) for row in strip.rows)


def _lapse(name: str, outcome: Outcome, strip: Strip, units: tuple[float, float]) -> Lapse:
    where = f"index {strip.index}" if strip.index else f"table {strip.table}"
    way = "writes" if strip.written else "reads"
    refused, consumed = _load(strip)
    note = f"{consumed:,.0f} units, {refused:,} refused" if refused else f"{consumed:,.0f} units"
    if refused:
        note += f" ({percent(outcome.throttled)} of all requests)"
    rows = [
        (clock(outcome.started + row.since), float(row.seconds), _cells(row, units[strip.written]))
        for row in strip.rows
        if row.seconds
    ]
    return Lapse(f"{name}: {where}, {way}", rows, note)


def _cells(row: Row, units: float) -> list[Cell]:
    cells = []
    for start, number in row.starts:
        used, refused = row.units[number], row.refused[number]
        total = used + refused
        cells.append(Cell(start, used / (row.seconds * units), refused / total if total else 0.0))
    return cells
