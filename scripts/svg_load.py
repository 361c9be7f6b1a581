"""Plots of load over time: credit and debt, heat, indexes that fall behind, costs of copies."""

from collections.abc import Sequence
from io import StringIO
from math import log10
from typing import Any

import demo_hot
import hot_index
import hot_keys
import index_behind
import large_collection
import large_writes
import late_index
import renames
from rich.console import Console
from svg_plot import (
    RIGHT,
    Axis,
    Note,
    Panel,
    Point,
    Series,
    head,
    plot,
    rendered,
    stacked,
)
from svg_terminal import COLUMNS, screen

WRITTEN, REFUSED, OTHER, THIRD = 2, None, 0, 1
"""The colours of what is written, of what is refused, and of a second and third partition."""


def pictures() -> dict[str, str]:
    """The pictures by name."""
    return {
        "partitions-large-writes": four_writes(),
        "partitions-burst": burst(),
        "partitions-split-helps": split_helps(),
        "partitions-one-hot-key": one_hot_key(),
        "partitions-isolated-key": isolated_key(),
        "partitions-index-behind": index_falls_behind(),
        "partitions-late-index": index_is_late(),
        "partitions-large-collection": collection_grows(),
        "partitions-hot-index": hot_indexes(),
        "demo-hot": demo(),
        "partitions-renames": renamed(),
    }


# ---- credit and debt ----


def four_writes() -> str:
    writes = large_writes.four_writes()
    points: list[Point] = [(0, 1000)]
    for write in writes:
        points += [(write.seconds * 1000, write.before), (write.seconds * 1000, write.after)]
    end, last = 700.0, points[-1]
    points.append((end, last[1] + (end - last[0])))
    notes = [
        Note(write.seconds * 1000, write.before, f"write {number}")
        if write.reason is None
        else Note(write.seconds * 1000, write.after, f"write {number} is refused", "bad")
        for number, write in enumerate(writes, 1)
    ]
    return plot(
        "Three writes of 400 KB, and the fourth is refused",
        "Each costs 400 units. A partition serves 1,000 units a second, and a write passes "
        "while the credit is above zero, whatever it will cost: the third leaves a debt, "
        "which is paid off in time.",
        Axis("milliseconds", range(0, 701, 100)),
        [
            Panel(
                "credit of the partition, in write units",
                (-400, -200, 0, 200, 400, 600, 800, 1000, 1200),
                [Series("credit", points, kind="line")],
                height=240,
                limits=[(1000, "the bucket holds one second: 1,000 units")],
                notes=notes,
            )
        ],
    )


def burst() -> str:
    seconds = large_writes.burst()
    credit = [(each.seconds, each.credit) for each in seconds]
    full = sum(each.refused == 0 and each.written > 0 for each in seconds)
    return plot(
        "A table saves what it does not use for five minutes",
        "A table with 100 provisioned write units is idle for 300 seconds, then gets 400 units "
        f"a second. Its savings last for {full} seconds; after that, it serves 100 units a "
        "second.",
        Axis("seconds", range(0, 601, 60)),
        [
            Panel(
                "credit of the table, in write units",
                (0, 10_000, 20_000, 30_000, 40_000),
                [Series("credit", credit, kind="line")],
                limits=[(30_000, "300 seconds of 100 units")],
            ),
            _writes("write units per second", seconds, (0, 100, 200, 300, 400)),
        ],
    )


def _writes(label: str, seconds: Sequence[Any], ticks: Sequence[float]) -> Panel:
    written = [(each.seconds, each.written) for each in seconds]
    refused = [(each.seconds, each.refused) for each in seconds]
    series = stacked(Series("written", written, WRITTEN), Series("refused", refused, REFUSED))
    return Panel(label, ticks, series, height=120)


# ---- heat ----


def split_helps() -> str:
    windows = hot_keys.many_keys()
    split_at = next(each.seconds for each in windows if len(each.written) > 1)
    return _heat(
        "A hot partition with many keys: a split helps",
        "14 writes a second to fifty keys of one partition, which serves 10. After ten "
        "minutes it is split at the median of its keys, and both halves together serve nearly "
        "all.",
        windows,
        [(split_at, "split")],
    )


def one_hot_key() -> str:
    return _heat(
        "A hot partition with one key: no split would help",
        "The same 14 writes a second, to one item. It cannot be in two partitions, so there "
        "is no split, and four writes a second are refused for as long as the load goes "
        "on.",
        hot_keys.one_key(),
        [],
    )


def isolated_key() -> str:
    windows = hot_keys.one_among_others()
    split_at = next(each.seconds for each in windows if len(each.written) > 1)
    return _heat(
        "A hot key among others gets a partition of its own",
        "Of the same 14 writes a second, four of five are to one item. After ten minutes the "
        "partition is divided before and after its key. The other keys are no longer refused; "
        "the hot one still is, above the 10 writes of its partition.",
        windows,
        [(split_at, "split")],
    )


def _heat(
    title: str,
    told: str,
    windows: Sequence[hot_keys.Window],
    marks: Sequence[tuple[float, str]],
) -> str:
    parts = sorted({number for window in windows for number in window.written})
    colours = (WRITTEN, OTHER, THIRD)
    series = [
        Series(
            f"partition {part}",
            [(window.seconds / 60, window.written.get(part, 0)) for window in windows],
            colours[part],
        )
        for part in parts
    ]
    refused = [(window.seconds / 60, window.refused) for window in windows]
    return plot(
        title,
        f"{told} All figures are a hundredth of DynamoDB's, where a partition serves 1,000 units.",
        Axis("minutes", range(0, hot_keys.MINUTES + 1, 2)),
        [
            Panel(
                "writes per second",
                (0, 5, 10, 15, 20),
                stacked(*series, Series("refused", refused, REFUSED)),
                height=170,
                limits=[(10, "what one partition serves")],
                marks=[(seconds / 60, text) for seconds, text in marks],
            )
        ],
    )


# ---- indexes ----


def index_falls_behind() -> str:
    outcome = index_behind.run()
    credit = [(each.seconds, each.credit) for each in outcome.seconds]
    [(reason, _)] = outcome.reasons
    return plot(
        "An index that falls behind holds up its table",
        "The table has 40 write units a second, its index only 10. For three minutes, 20 writes a "
        "second arrive. Once the index owes 100 units, writes of the table are refused:\n"
        f"{reason}, with the ARN of the index.",
        Axis("seconds", range(0, 271, 30)),
        [
            Panel(
                "credit of the index, in write units",
                (-200, 0, 200, 400, 600),
                [Series("credit", credit, OTHER, "line")],
                height=190,
                limits=[(-index_behind.BACKLOG_UNITS, "below this, writes are refused")],
            ),
            _writes("writes to the table per second", outcome.seconds, (0, 5, 10, 15, 20)),
        ],
    )


def index_is_late() -> str:
    moments = late_index.run()
    written = [(float(each.seconds), float(each.written)) for each in moments]
    shown = [(float(each.seconds), float(each.shown)) for each in moments]
    return plot(
        "An index in debt shows its entries late",
        "800 items are written at once, and the index has one write unit a second. Each entry "
        "appears when its units and those of all entries before it have been served.",
        Axis("seconds", range(0, 841, 120)),
        [
            Panel(
                "items of the table, and entries that the index shows",
                (0, 200, 400, 600, 800),
                [
                    Series("written", written, OTHER, "line"),
                    Series("in the index", shown, WRITTEN, "line"),
                ],
                height=190,
            )
        ],
    )


def collection_grows() -> str:
    local, divided = large_collection.grow(True), large_collection.grow(False)
    lines = [
        [(float(each.writes), each.bytes / 1000) for each in growth.moments]
        for growth in (local, divided)
    ]
    parts = [(float(each.writes), float(each.partitions)) for each in divided.moments]
    first = next(each for each in local.moments if each.bytes == local.moments[-1].bytes)
    return plot(
        "One item collection, with and without a local index",
        "Messages of 8 KB are put into one chat. The limit here is 100 KB, for DynamoDB's 10 GB: "
        "with a local index the collection must fit into one partition; without one it is divided "
        "at its sort keys.",
        Axis("writes", range(0, large_collection.ITEMS + 1, 5)),
        [
            Panel(
                "size of the collection, in KB",
                (0, 50, 100, 150, 200, 250),
                [
                    Series("with a local index", lines[0], THIRD, "line"),
                    Series("without one", lines[1], WRITTEN, "line"),
                ],
                height=190,
                limits=[(100, "the limit with a local index")],
                notes=[Note(first.writes + 1, first.bytes / 1000, f"{local.refusal}", "bad")],
            ),
            Panel(
                "partitions of the collection without a local index",
                (0, 1, 2, 3, 4, 5),
                [Series("partitions", parts, WRITTEN, "step")],
                height=90,
            ),
        ],
    )


def hot_indexes() -> str:
    panels = []
    for name in hot_index.DESIGNS:
        run = hot_index.finished(name)
        written, refused = _per_minute(run.written), _per_minute(run.refused)
        series = stacked(Series("written", written, WRITTEN), Series("refused", refused, REFUSED))
        assert run.units is not None
        table, index = run.units
        label = f"{name}: {table:,.0f} units of the table, {index:,.0f} of GSI4"
        panels.append(Panel(label, (0, 10, 20, 30), series, height=100))
    return plot(
        "One hot key in an index, and two ways to avoid it",
        "For twenty minutes, 20 measurements a second arrive; refused ones are sent again, up "
        "to 30 writes a second. A partition serves 10 write units a second, a hundredth "
        "of DynamoDB's 1,000.\nWrites per second, by the entityType of a measurement:",
        Axis("minutes", range(0, 41, 5)),
        panels,
    )


def demo() -> str:
    """The end of `make demo-hot`, in a terminal."""
    printed = StringIO()
    out = Console(file=printed, width=COLUMNS, color_system=None)
    runs = [hot_index.finished(name) for name in hot_index.DESIGNS]
    out.print(demo_hot.INTRODUCTION, demo_hot.shown(runs), sep="", highlight=False)
    lines = [("said", line.rstrip()) for line in printed.getvalue().splitlines()]
    return screen([("typed", "make demo-hot"), *lines])


def _per_minute(writes: Sequence[int]) -> list[Point]:
    """The mean of each half minute; the last point ends the last one."""
    points = [
        (start / 60, sum(part) / len(part))
        for start in range(0, len(writes), 30)
        if (part := writes[start : start + 30])
    ]
    return [*points, (len(writes) / 60, 0)]


# ---- copies ----

BARS_LEFT, DECADES = 66.0, 6
DECADE = (RIGHT - BARS_LEFT) / DECADES


def renamed() -> str:
    user, some = renames.user(), renames.server()
    times = renames.SERVER_MEMBERS // some.copies
    every = renames.Rename(
        renames.SERVER_MEMBERS,
        some.table_units * times,
        some.index_units * times,
        renames.SERVER_MEMBERS / renames.PARTITION_WRITE_UNITS,
    )
    rows = [
        ("a user's name, copied to 50 servers", "measured", user, WRITTEN),
        (f"a server's name, copied to {some.copies:,} members", "measured", some, OTHER),
        (
            f"a server's name, copied to {every.copies:,} members",
            f"computed: {times} times that",
            every,
            OTHER,
        ),
    ]
    title = "Renaming a user is cheap; renaming a server may not be"
    canvas, top = head(
        title,
        "Each copy is an item of its own: one write unit in the table, and one in the index. "
        "The copies of a server's name are all under one partition key, which serves 1,000 "
        "write units a second.",
    )
    top += 14
    bottom = top + 64 * len(rows)
    for decade in range(DECADES + 1):
        x = BARS_LEFT + DECADE * decade
        for number in range(len(rows)):
            canvas.line(x, top + 64 * number + 39, x, top + 64 * number + 57, "rule")
        style = "muted end" if decade == DECADES else "muted middle"
        canvas.text(x, bottom + 16, f"{10**decade:,}", style, size=11)
    middle = (BARS_LEFT + RIGHT) / 2
    text = "write units of the table; each mark is ten times the one before"
    canvas.text(middle, bottom + 36, text, "ink middle", size=12)
    for number, (name, how, rename, colour) in enumerate(rows):
        y = top + 64 * number
        width = DECADE * log10(rename.table_units)
        canvas.rect(BARS_LEFT, y + 42, width, 12, f"e{colour}", 2)
        canvas.text(BARS_LEFT + 4, y + 18, f"{name} ({how})", "ink bold", size=12.5)
        canvas.text(BARS_LEFT + 4, y + 34, _told(rename), "ink", size=12)
    return rendered(canvas, title)


def _told(rename: renames.Rename) -> str:
    table, index = rename.table_units, rename.index_units
    units = f"{table:,.0f} units of the table and {index:,.0f} of the index"
    if not rename.seconds:
        return f"{units}, at once"
    minutes, seconds = divmod(round(rename.seconds), 60)
    return f"{units}, in {f'{minutes} min ' if minutes else ''}{seconds} s"
