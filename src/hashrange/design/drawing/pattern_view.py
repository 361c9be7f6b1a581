"""The access patterns, grouped by the table or index that serves them."""

from hashrange.design.declare.patterns import TOP, Pattern
from hashrange.design.declare.schema import Source
from hashrange.design.drawing.pattern_reads import numbered
from hashrange.design.drawing.style import css, entity_class
from hashrange.design.drawing.svg import MARGIN, Canvas, text_width
from hashrange.design.plan.plan_table import PlanRow, plan_row
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.table import Table

ROW = 44.0
CONDITION_CHARS = 100
REASON_CHARS = 130


def draw_patterns(table: Table) -> str:
    """Draw the patterns under the table or index that serves them, with the returned entities."""
    return _PatternPicture(table).render()


class _PatternPicture:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.canvas = Canvas()
        self.types = [entity.name for entity in table.model.entities]
        self.numbers = {e.model: n for n, e in enumerate(table.model.entities)}
        self.plans = numbered(table)
        rows = {number: plan_row(plan, self.types) for number, plan in self.plans}
        self.rows: dict[int, PlanRow] = rows
        titles = [
            max(text_width(rows[n].pattern, "bold", 12.5), text_width(_call(p.pattern), "mono", 11))
            for n, p in self.plans
        ]
        self.title_width = max(titles, default=0) + 30

    def render(self) -> str:
        name = self.table.name
        self.canvas.text(MARGIN, MARGIN + 14, f"{name} · access patterns", "ink bold", size=17)
        refused = [(n, plan) for n, plan in self.plans if isinstance(plan, Unplanned)]
        served = len(self.plans) - len(refused)
        self.canvas.text(MARGIN, MARGIN + 33, f"{served} of {len(self.plans)} served", "muted")
        y = MARGIN + 54
        for source in (*self.table.model.sources, *(v.source for v in self.table.model.vectors)):
            mine = [
                (n, plan)
                for n, plan in self.plans
                if isinstance(plan, Plan) and plan.source.name == source.name
            ]
            y = self._source(source, mine, y)
        if refused:
            y = self._refused(refused, y)
        return self.canvas.render(f"{name}: access patterns", css())

    def _source(self, source: Source, plans: list[tuple[int, Plan]], y: float) -> float:
        title = "Base table" if source.name is None else source.name
        keys = ", ".join(column.attribute for column in source.columns)
        self.canvas.run(MARGIN, y + 12, (title, "ink bold", 13.5), (keys, "muted mono", 11))
        y += 22
        if not plans:
            self.canvas.text(MARGIN + 14, y + 10, "no pattern reads it", "muted", size=12)
            return y + 30
        top = y
        for number, plan in plans:
            self._pattern(number, plan, y)
            y += ROW
        self.canvas.line(MARGIN + 1, top, MARGIN + 1, y - 8, "mark")
        return y + 10

    def _pattern(self, number: int, plan: Plan, y: float) -> None:
        row = self.rows[number]
        self._number(number, y)
        x = MARGIN + 38
        self.canvas.text(x, y + 13, row.pattern, "ink bold", size=12.5)
        self.canvas.text(x, y + 29, _call(plan.pattern), "muted mono", size=11)
        x += self.title_width
        condition = " ".join(part for part in (row.hash, row.sort) if part).replace("`", "")
        self.canvas.text(x, y + 13, row.operation, "ink bold", size=12)
        start = x + 70
        self.canvas.text(start, y + 13, condition, "ink mono", size=11.5, most=CONDITION_CHARS)
        other = row.other.replace("`", "")
        if other:
            self.canvas.text(start, y + 29, other, "muted mono", size=11, most=CONDITION_CHARS)
        self._chips(plan.pattern, x, y + 29)

    def _chips(self, pattern: Pattern, x: float, y: float) -> None:
        """Draw a square for each entity that the pattern returns, in the entity's colour."""
        models = pattern.entities or tuple(self.numbers)
        for number, model in enumerate(models):
            self.canvas.rect(x + number * 11, y - 8, 9, 9, entity_class(self.numbers[model]), 2)

    def _number(self, number: int, y: float) -> None:
        self.canvas.circle(MARGIN + 20, y + 12, 9, "disc")
        self.canvas.text(MARGIN + 20, y + 15.7, str(number), "number bold middle", size=10.5)

    def _refused(self, plans: list[tuple[int, Unplanned]], y: float) -> float:
        self.canvas.text(MARGIN, y + 12, "No key or index serves these", "bad bold", size=13.5)
        y += 22
        for number, plan in plans:
            self._number(number, y)
            self.canvas.text(MARGIN + 38, y + 13, self.rows[number].pattern, "bad bold", size=12.5)
            self.canvas.text(
                MARGIN + 38, y + 29, plan.reason, "muted mono", size=11, most=REASON_CHARS
            )
            y += ROW
        return y


def _call(pattern: Pattern) -> str:
    """The pattern as text: `floors(building_id) → many Floor`."""
    names = [argument.name for argument in pattern.arguments]
    names = [pattern.by_type, *names] if pattern.by_type else names
    if pattern.search is not None:
        names = [pattern.search.vector, *names, TOP]
    return f"{pattern.name}({', '.join(names)}) → {_returned(pattern)}"


def _returned(pattern: Pattern) -> str:
    if pattern.shape == "count":
        return "a count"
    names = " | ".join(result.__name__ for result in pattern.results) or "of that entity"
    shapes = {"one": f"{names} or None", "nearest": f"the nearest {names}"}
    return shapes.get(pattern.shape, f"many {names}")
