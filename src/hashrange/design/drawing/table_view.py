"""The picture of a table or an index: its item collections, and the reads of each pattern."""

from collections.abc import Sequence

from hashrange.design.declare.schema import Source
from hashrange.design.drawing.cells import (
    LABEL_CHARS,
    LABEL_SIZE,
    PADDING,
    VALUE_CHARS,
    VALUE_SIZE,
    CellColumn,
    Cells,
    shown_value,
)
from hashrange.design.drawing.item_collections import Collection, Row, SourceRows, collect
from hashrange.design.drawing.lanes import Span, lanes
from hashrange.design.drawing.pattern_reads import PatternRead, reads_of
from hashrange.design.drawing.style import css, entity_class
from hashrange.design.drawing.svg import MARGIN, MONO, Canvas, columns, cut, printable
from hashrange.design.drawing.values import value_text
from hashrange.design.plan.plan_table import plan_row
from hashrange.design.table import Table
from hashrange.design.tools.rules.rule import counted

KEY_CHARS, CALL_CHARS, SAID_CHARS = 40, 80, 130
LABELLED, PLAIN = 33.0, 23.0
"""The heights of a line of cells with and without the names of the attributes, in pixels."""
LANE = 22.0
GAP = 8.0
ABSENT_MAX = 5
"""The largest number of items of an entity that are drawn as missing from a sparse index."""


def draw_source(table: Table, source: Source, rows: Sequence[Row]) -> str:
    """Draw one source, the table or an index. `rows` are all items of the table."""
    return _TablePicture(table, collect(table.model, source, rows)).render()


class _TablePicture:
    def __init__(self, table: Table, drawn: SourceRows) -> None:
        self.table = table
        self.drawn = drawn
        self.source = drawn.source
        self.canvas = Canvas()
        self.cells = Cells(table.model, drawn.source, drawn.rows)
        self.reads = reads_of(table, drawn)
        self.middles: dict[int, float] = {}
        self.spans: dict[int, Span] = {}
        self.hash_width = self._key_width([c.key for c in drawn.collections], self.source.hash)
        sort_keys = [tuple(r.raw[c.attribute] for c in self.source.range) for r in drawn.rows]
        names = [len(row.name) for row in drawn.rows]
        label = max(names, default=0) * (LABEL_SIZE + 1) * 0.62 + 2 * PADDING + 6
        self.range_width = max(self._key_width(sort_keys, self.source.range), label)

    @staticmethod
    def _key_width(keys: Sequence[tuple[dict[str, str], ...]], names: Sequence[object]) -> float:
        texts = [_key_text(key) for key in keys]
        longest = max([columns(cut(printable(t), KEY_CHARS)) for t in texts], default=0)
        title = len(" · ".join(str(getattr(n, "attribute", "")) for n in names)) + 2
        return max(longest, title) * VALUE_SIZE * MONO + 2 * PADDING + 4

    def render(self) -> str:
        place = str(self.source)
        y = self._title(place)
        y = self._entities(y + 14)
        gutter = self._gutter()
        self.left = MARGIN + gutter
        y = self._head(y + 12)
        for collection in self.drawn.collections:
            y = self._collection(collection, y)
        if not self.drawn.collections:
            self.canvas.text(self.left, y + 16, "No items", "muted", size=12)
            y += 26
        self._marks()
        y = self._absent(y)
        self._legend(y + 6)
        return self.canvas.render(f"{self.table.name}: {place}", css())

    # ---- above the rows ----

    def _title(self, place: str) -> float:
        name = place if self.source.name is None else f"{self.source.name}"
        title = f"{self.table.name} · {name}"
        self.canvas.text(MARGIN, MARGIN + 14, title, "ink bold", size=17)
        count = len(self.drawn.rows)
        groups = counted(len(self.drawn.collections), "item collection")
        facts = f"{counted(count, 'item')} in {groups}"
        if self.source.name is not None:
            kind = "global" if self.source.kind == "GSI" else "local"
            project = self.source.project
            shown = project if isinstance(project, str) else ", ".join(project)
            facts = f"{kind} secondary index, projects {shown} · {facts}"
        self.canvas.text(MARGIN, MARGIN + 33, facts, "muted", size=12)
        return MARGIN + 40

    def _entities(self, y: float) -> float:
        counts: dict[str, tuple[int, int]] = {}
        for row in self.drawn.rows:
            number, count = counts.get(row.name, (row.number, 0))
            counts[row.name] = (number, count + 1)
        x = MARGIN
        for name, (number, count) in sorted(counts.items(), key=lambda pair: pair[1]):
            self.canvas.rect(x, y, 12, 12, entity_class(number), 2)
            width = self.canvas.text(x + 18, y + 10.5, f"{name} {count}", "ink", size=12)
            x += width + 40
        return y + 14

    def _head(self, y: float) -> float:
        hashes = " · ".join(column.attribute for column in self.source.hash)
        self.canvas.text(self.left + PADDING, y + 10, "partition key", "muted", size=9.5)
        self.canvas.text(self.left + PADDING, y + 24, hashes, "ink mono bold", size=12)
        x = self.left + self.hash_width + PADDING + 4
        if self.source.range:
            ranges = " · ".join(column.attribute for column in self.source.range)
            self.canvas.text(x, y + 10, "sort key", "muted", size=9.5)
            self.canvas.text(x, y + 24, ranges, "ink mono bold", size=12)
        x += self.range_width
        self.canvas.text(x, y + 24, "attributes", "muted", size=9.5)
        return y + 32

    # ---- rows ----

    def _collection(self, collection: Collection, y: float) -> float:
        top, previous = y, None
        heights = []
        for row in collection.rows:
            height = LABELLED if row.name != previous else PLAIN
            lines = max(1, len(self.cells.lines[row.name]))
            heights.append((height, height * lines))
            previous = row.name
        whole = sum(height for _, height in heights)
        self.canvas.rect(self.left, top, self.hash_width, whole, "cell", 4)
        self.canvas.text(
            self.left + PADDING, top + 20, _key_text(collection.key), "ink mono",
            size=VALUE_SIZE, most=KEY_CHARS,
        )  # fmt: skip
        for row, (line, height) in zip(collection.rows, heights, strict=True):
            self._row(row, y, line, height)
            y += height
        return y + GAP

    def _row(self, row: Row, y: float, line: float, height: float) -> None:
        colour = entity_class(row.number)
        lines = self.cells.lines[row.name]
        x = self.left + self.hash_width + 4
        widest = max((sum(c.width for c in cells) for cells in lines), default=0)
        width = self.range_width + widest
        self.canvas.rect(x, y + 1, width, height - 2, f"{colour} tint", 3)
        self.canvas.rect(x, y + 1, 4, height - 2, f"{colour} band")
        base = y + line - 8
        if line == LABELLED:
            self.canvas.text(x + PADDING + 4, y + 12, row.name, f"{colour} bold", size=10.5)
        if self.source.range:
            key = tuple(row.raw[column.attribute] for column in self.source.range)
            self.canvas.text(
                x + PADDING + 4, base, _key_text(key), "ink mono", size=VALUE_SIZE, most=KEY_CHARS
            )
        for number, cells in enumerate(lines):
            self._line(row, cells, x + self.range_width, y + number * line, line)
        self.middles[id(row)] = y + line / 2
        self.spans[id(row)] = (y + 2, y + height - 2)

    def _line(self, row: Row, cells: Sequence[CellColumn], x: float, y: float, line: float) -> None:
        for cell in cells:
            value = shown_value(row.raw, cell.attribute)
            if line == LABELLED:
                self.canvas.text(x + PADDING, y + 12, cell.attribute, "muted mono",
                    size=LABEL_SIZE, most=LABEL_CHARS,
                )  # fmt: skip
            if value is None:
                self.canvas.rect(x + 4, y + line - 17, cell.width - 9, 12, "hole", 3)
            else:
                style = "muted mono" if cell.key else "ink mono"
                self.canvas.text(
                    x + PADDING, y + line - 8, value, style, size=VALUE_SIZE, most=VALUE_CHARS
                )
            x += cell.width

    # ---- what the patterns read ----

    def _gutter(self) -> float:
        if not self.reads:
            return 0
        order = {id(row): float(n) for n, row in enumerate(self.drawn.rows)}
        spans = [[(order[id(r)], order[id(r)] + 0.5) for r in read.rows] for read in self.reads]
        self.lane = lanes(spans, 0.4)
        return (max(self.lane) + 1) * LANE + 6

    def _marks(self) -> None:
        groups = {id(r): n for n, c in enumerate(self.drawn.collections) for r in c.rows}
        for read, lane in zip(self.reads, self.lane if self.reads else (), strict=True):
            x = MARGIN + lane * LANE + 10
            rows = sorted(read.rows, key=lambda row: self.middles[id(row)])
            parts: dict[int, list[Row]] = {}
            for row in rows:
                parts.setdefault(groups[id(row)], []).append(row)
            for part in parts.values():
                top, bottom = self.middles[id(part[0])], self.middles[id(part[-1])]
                if bottom > top:
                    self.canvas.line(x, top, x, bottom, "mark")
            for row in rows[1:]:
                style = "dot" if id(row) in read.returned else "ring"
                self.canvas.circle(x, self.middles[id(row)], 3.2, style)
            self._disc(x, self.middles[id(rows[0])], read, id(rows[0]) in read.returned)

    def _disc(self, x: float, y: float, read: PatternRead, returned: bool) -> None:
        self.canvas.circle(x, y, 8.5, "disc" if returned else "ring")
        style = "number bold middle" if returned else "ink bold middle"
        self.canvas.text(x, y + 3.6, str(read.number), style, size=10)

    # ---- below the rows ----

    def _absent(self, y: float) -> float:
        """Draw the items that a sparse index leaves out although their entity declares the index.

        `y` is the height at which to begin. Returns the height at which the drawing ends.
        """
        name = self.source.name
        rows = [row for row in self.drawn.absent if row.entity is not None]
        declaring = {
            str(entity)
            for entity in self.table.model.entities
            if any(key.source.name == name for key in entity.indexes)
        }
        ghosts = [row for row in rows if row.name in declaring]
        if ghosts:
            self.canvas.text(self.left, y + 14, f"Not in {name}", "muted bold", size=11)
            y += 22
        shown: dict[str, int] = {}
        for row in ghosts:
            shown[row.name] = shown.get(row.name, 0) + 1
            if shown[row.name] <= ABSENT_MAX:
                y = self._ghost(row, y)
        more = sum(max(0, count - ABSENT_MAX) for count in shown.values())
        if more:
            self.canvas.text(self.left, y + 12, f"and {counted(more, 'more item')}", "muted")
            y += 20
        others = [str(e) for e in self.table.model.entities if str(e) not in declaring]
        by_type = self.table.model.by_type
        if name is not None and others and (by_type is None or by_type.name != name):
            text = f"No items of {', '.join(others)}: they have no key in {name}"
            self.canvas.text(self.left, y + 12, text, "muted", size=11)
            y += 22
        return y

    def _ghost(self, row: Row, y: float) -> float:
        assert row.entity is not None
        key = _key_text(tuple(row.raw[c.attribute] for c in self.table.model.table.columns))
        absent = [c.attribute for c in self.source.columns if c.attribute not in row.raw]
        text = f"{row.name}  {key}"
        width = columns(cut(printable(text), 2 * KEY_CHARS)) * VALUE_SIZE * MONO
        self.canvas.rect(self.left, y, width + 4 * PADDING, 20, "hole", 4)
        self.canvas.text(
            self.left + 2 * PADDING, y + 14, text, f"{entity_class(row.number)} mono",
            size=VALUE_SIZE, most=2 * KEY_CHARS,
        )  # fmt: skip
        x = self.left + width + 5 * PADDING
        self.canvas.text(x, y + 14, f"no {', '.join(absent)}", "muted", size=11)
        return y + 25

    def _legend(self, y: float) -> None:
        types = [entity.name for entity in self.table.model.entities]
        for read in self.reads:
            row = plan_row(read.plan, types)
            self._disc(MARGIN + 10, y + 14, read, True)
            count = f"reads {counted(len(read.rows), 'item')}"
            if len(read.returned) != len(read.rows):
                count += f", returns {len(read.returned)} (filled dots)"
            self.canvas.run(
                MARGIN + 30,
                y + 12,
                (row.pattern, "ink bold", 12),
                (cut(read.call, CALL_CHARS), "ink mono", 11),
                (count, "muted", 11),
            )
            condition = " ".join(part for part in (row.hash, row.sort, row.other) if part)
            text = f"{row.operation} {condition}".replace("`", "")
            self.canvas.text(MARGIN + 30, y + 27, text, "muted mono", size=11, most=SAID_CHARS)
            y += 38


def _key_text(key: Sequence[dict[str, str]]) -> str:
    return " · ".join(value_text(value) for value in key)
