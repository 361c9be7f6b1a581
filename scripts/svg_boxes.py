"""Pictures of what lies where: partitions over the hash, items in partitions, keys on a line."""

from collections.abc import Sequence
from typing import Any

import growth
import key_ranges
import projects_in_boxes
from svg_plot import RIGHT, head, rendered

from hashrange.design.drawing.svg import Canvas

ROW, BOX = 58.0, 40.0
HASH_LEFT = 136.0


def pictures() -> dict[str, str]:
    """The pictures by name."""
    boxes = projects_in_boxes.boxes()
    return {
        "partitions-growth": growing(),
        "partitions-projects-table": _boxed(
            "The table: the projects of an organisation are together",
            "The hash of organisation_id determines the partition. The items of an organisation "
            "are in the order of their names. A partition can have many organisations.",
            boxes["table"],
            ("organisation_id", "name", "owner", "last_updated"),
        ),
        "partitions-projects-local": _boxed(
            "The local index by_last_updated: the same boxes, another order",
            "Its partition key is that of the table, so each entry is in the partition of "
            "its item. Only the order within an organisation is different: it is that of "
            "last_updated.",
            boxes["by_last_updated"],
            ("organisation_id", "last_updated", "name"),
        ),
        "partitions-projects-global": _boxed(
            "The global index by_owner: other boxes",
            "Its partition key is owner, and it has partitions of its own. So the entries of "
            "one organisation are apart here, and those of one owner are together.",
            boxes["by_owner"],
            ("owner", "organisation_id", "name"),
        ),
        "ranges-prefixes": ranges(),
        "ranges-numbers": numbers(),
    }


# ---- a table grows into partitions ----


def growing() -> str:
    moments = growth.grow()
    canvas, top = head(
        "A table grows into partitions",
        "Each box is a partition, above its part of the hash; the colour shows how full it "
        "is. A partition of more than 1 MB (on DynamoDB 10 GB) is split in the middle of "
        "its bytes.",
    )
    top += 10
    for number, moment in enumerate(moments):
        y = top + ROW * number
        canvas.text(24, y + 18, f"{moment.items:,} items", "ink bold", size=12.5)
        count = len(moment.partitions)
        said = f"{count} partition{'s' if count > 1 else ''}"
        canvas.text(24, y + 34, said, "muted", size=12)
        for partition in moment.partitions:
            _partition(canvas, partition, y)
    bottom = top + ROW * len(moments) + 4
    for part in range(5):
        style = "muted end" if part == 4 else "muted middle"
        name = "ffff…" if part == 4 else f"{part * 4:x}000…"
        canvas.text(_hash_x(part / 4), bottom, name, style, size=11)
    middle = (HASH_LEFT + RIGHT) / 2
    canvas.text(middle, bottom + 20, "hash of the partition key", "ink middle", size=12)
    return rendered(canvas, "A table grows from one partition to eight")


def _partition(canvas: Canvas, partition: dict[str, Any], y: float) -> None:
    left, right = _hash_x(_part(partition["from"], 0)), _hash_x(_part(partition["to"], 1))
    full = min(1.0, partition["bytes"] / growth.PARTITION_BYTES)
    canvas.rect(left + 1, y + BOX * (1 - full), right - left - 2, BOX * full, "e0 area")
    canvas.rect(left + 1, y, right - left - 2, BOX, "mark", 3)
    size = f"{partition['bytes'] / 1024:,.0f}"
    label = f"{size} KB" if right - left > 70 else size
    if right - left > 28:
        canvas.text((left + right) / 2, y + BOX / 2 + 4, label, "ink middle", size=11.5)


def _hash_x(part: float) -> float:
    return HASH_LEFT + part * (RIGHT - HASH_LEFT)


def _part(start: str | None, otherwise: float) -> float:
    """How far into the hash a partition begins or ends: 0 to 1."""
    return int(start[:8].ljust(8, "0"), 16) / 16**8 if start else otherwise


# ---- the same items in three pictures ----

_COLUMNS = {"organisation_id": 130, "name": 180, "owner": 90, "last_updated": 120}
_LINE = 21.0


def _boxed(
    title: str, told: str, boxes: list[projects_in_boxes.Box], columns: tuple[str, ...]
) -> str:
    """The partitions below each other, with the rows in them. Each item has its colour."""
    colours = {project[1]: number for number, project in enumerate(projects_in_boxes.PROJECTS)}
    canvas, y = head(title, told)
    y += 16
    x = HASH_LEFT + 36
    for column in columns:
        canvas.text(x, y, column, "ink bold mono", size=12)
        x += _COLUMNS[column]
    y += 12
    for box in boxes:
        height = _LINE * max(1, len(box.rows)) + 14
        start, end = (box.start or "0")[:4].ljust(4, "0"), box.end[:4] if box.end else "end"
        canvas.text(24, y + 19, f"partition {box.number}", "ink bold", size=12.5)
        canvas.text(24, y + 35, f"{start} to {end}", "muted mono", size=11.5)
        canvas.rect(HASH_LEFT, y, RIGHT - HASH_LEFT, height, "mark", 5)
        if not box.rows:
            text = "no key of these items falls into this part of the hash"
            canvas.text(HASH_LEFT + 16, y + 22, text, "muted", size=12)
        for number, row in enumerate(box.rows):
            _row(canvas, row, columns, y + 7 + _LINE * number, colours[row["name"]])
        y += height + 8
    return rendered(canvas, title)


def _row(
    canvas: Canvas, row: dict[str, str], columns: tuple[str, ...], y: float, colour: int
) -> None:
    canvas.rect(HASH_LEFT + 14, y + 4, 12, 12, f"e{colour}", 2)
    x = HASH_LEFT + 36
    for number, column in enumerate(columns):
        style = "ink bold mono" if number == 0 else "ink mono"
        canvas.text(x, y + 14, row[column], style, size=12)
        x += _COLUMNS[column]


# ---- ranges of a sort key ----

KEY_LINE, KEYS_LEFT, LANE = 32.0, 40.0, 20.0


def ranges() -> str:
    line = key_ranges.prefixes()
    title = "A condition on the sort key is an interval on the line of sorted keys"
    canvas, top = head(
        title,
        "One partition key has all these sort keys, in the order of their bytes: capitals "
        "come first. Each bar is a Query: it reads the keys beside the bar, and no others.",
    )
    top += 10
    _keys(canvas, line.keys, KEYS_LEFT, top)
    left = KEYS_LEFT + 282
    within = 0
    for number, pattern in enumerate(line.patterns):
        first, last = _span(line.keys, pattern.found)
        within = within + 1 if last == len(line.patterns[0].found) - 1 else 1
        _interval(canvas, left + LANE * (within - 1), top, first, last, number)
        middle = top + KEY_LINE * (first if last == 2 else (first + last) / 2) + KEY_LINE / 2
        x = left + LANE * 3 + 4
        canvas.text(x, middle - 2, pattern.condition, f"e{number} bold mono", size=11)
        canvas.text(x, middle + 12, pattern.meaning, "muted", size=11.5)
    return rendered(canvas, title)


def numbers() -> str:
    title = "Numbers in a sort key need zeros in front"
    canvas, top = head(
        title,
        "Keys are compared as strings, character by character: 201 comes before 3, as ab comes "
        "before b. With zeros in front, the strings have the order of the numbers.",
    )
    top += 24
    for x, name, form in (
        (40.0, "with six digits", key_ranges.PADDED),
        (384.0, "without zeros", key_ranges.UNPADDED),
    ):
        canvas.text(x - 16, top, name, "ink bold", size=13)
        _number_line(canvas, key_ranges.numbers(form), x, top + 14)
    return rendered(canvas, title)


def _number_line(canvas: Canvas, line: key_ranges.Line, left: float, top: float) -> None:
    """The keys with the intervals beside them, and below them what each interval should be."""
    _keys(canvas, line.keys, left, top)
    y = top + KEY_LINE * len(line.keys) + 28
    for number, pattern in enumerate(line.patterns):
        x = left + 190 + LANE * number
        if pattern.found:
            _interval(canvas, x, top, *_span(line.keys, pattern.found), number)
        canvas.rect(left - 16, y - 10, 10, 10, f"e{number}", 3)
        canvas.text(left, y, pattern.meaning, "ink bold", size=12)
        canvas.text(left, y + 17, pattern.condition, "ink mono", size=11.5)
        numbers = [key.rpartition(":")[2].lstrip("0") for key in pattern.found]
        told = f"finds {' and '.join(numbers) or 'nothing'}"
        if pattern.found == pattern.wanted:
            canvas.text(left, y + 34, told, "muted", size=12)
        else:
            canvas.text(left, y + 34, f"{told}: wrong", "bad bold", size=12)
        y += 62


def _keys(canvas: Canvas, keys: Sequence[str], x: float, top: float) -> None:
    """The line of keys, from top to bottom."""
    canvas.line(x - 8, top, x - 8, top + KEY_LINE * len(keys), "mark")
    for number, key in enumerate(keys):
        y = top + KEY_LINE * (number + 0.5)
        canvas.circle(x - 8, y, 3, "dot")
        canvas.text(x + 4, y + 4, key, "ink mono", size=12)


def _interval(canvas: Canvas, x: float, top: float, first: int, last: int, colour: int) -> None:
    height = KEY_LINE * (last - first + 1) - 6
    canvas.rect(x, top + KEY_LINE * first + 3, 10, height, f"e{colour}", 3)


def _span(keys: Sequence[str], read: Sequence[str]) -> tuple[int, int]:
    """The places of the first and the last of the keys that were read, which have no gap."""
    places = [keys.index(key) for key in read]
    assert places == list(range(places[0], places[-1] + 1)), "a range of keys"
    return places[0], places[-1]
