"""A picture of each phase of a migration: which programs run, and what they write and read."""

from svg_plot import head, rendered

from hashrange.design.drawing.svg import Canvas
from hashrange.design.migrate.phases import BOTH, ORDER, READS_NEW, RUNS_NEW, RUNS_OLD, Phase

ROW, BOX, WIDTH = 92.0, 30.0, 110.0
PROGRAMS, ITEMS, TOLD = 112.0, 340.0, 474.0
SAID = {
    Phase.OLD: ("Programs follow the migration", "already, and nothing changes."),
    Phase.EXPAND: ("The new indexes are added,", "one after another."),
    Phase.DUAL: ("Each write goes to both items,", "in one transaction."),
    Phase.BACKFILL: ("The migrator mirrors all items", "that are older than dual."),
    Phase.VERIFY: ("All items are compared, and", "the new indexes are tried."),
    Phase.READ_NEW: ("Reads of old programs go to the", "new items. This can be undone."),
    Phase.NEW: ("Programs of both models run.", "There is no way back."),
    Phase.CONTRACTING: ("Old items are deleted, by the", "migrator and with each write."),
    Phase.DONE: ("Programs open the new table.", "The old indexes are gone."),
}


def pictures() -> dict[str, str]:
    """The pictures by name."""
    title = "The phases of a migration"
    canvas, top = head(
        title,
        "Full lines are writes, dashed ones reads. In the phases from dual to new, writes go to "
        "both items.",
    )
    for number, phase in enumerate(ORDER):
        _phase(canvas, phase, top + 14 + ROW * number)
    return {"migration-phases": rendered(canvas, title)}


def _phase(canvas: Canvas, phase: Phase, y: float) -> None:
    canvas.text(24, y + 40, phase, "ink bold", size=13)
    below = y + BOX + 10
    old_writes = phase in RUNS_OLD or phase is Phase.CONTRACTING
    new_writes = phase in (*BOTH, Phase.CONTRACTING, Phase.DONE)
    reads = below if phase in READS_NEW or phase not in RUNS_OLD else y
    programs = [("old programs", y)] if phase in RUNS_OLD else []
    programs += [("new programs", below)] if phase in RUNS_NEW else []
    items = [("old items", y, 0)] if old_writes else []
    items += [("new items", below, 1)] if new_writes else []
    for name, at in programs:
        canvas.rect(PROGRAMS, at, WIDTH, BOX, "mark", 4)
        canvas.text(PROGRAMS + WIDTH / 2, at + 19, name, "ink middle", size=12)
        for _, target, _ in items:
            _line(canvas, at + 10, target + 10, "mark")
        _line(canvas, at + 20, reads + 20, "mark dashes")
    for name, at, colour in items:
        canvas.rect(ITEMS, at, WIDTH, BOX, f"e{colour} area", 4)
        canvas.text(ITEMS + WIDTH / 2, at + 19, name, "ink middle", size=12)
    for number, line in enumerate(SAID[phase]):
        canvas.text(TOLD, y + 30 + 17 * number, line, "muted", size=12)


def _line(canvas: Canvas, y: float, y2: float, style: str) -> None:
    canvas.line(PROGRAMS + WIDTH + 4, y, ITEMS - 4, y2, style)
