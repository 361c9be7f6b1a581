"""The reads of patterns: an example call on the drawn items, and the rows in its range."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from hashrange.design.declare.item import Item
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.table_model import TableModel
from hashrange.design.drawing.item_collections import Row, SourceRows
from hashrange.design.errors import BadValue, ItemError
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall
from hashrange.design.execute.reads.request_builder import KeyRange
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.table import Table
from hashrange.expressions import Expressions

CANDIDATES_MAX = 24
"""The number of calls of a pattern that are tried. The call that returns most items is drawn."""
ROWS_MAX = 12
"""The number of rows that is enough for an example. More rows do not make a call better."""
PREFIX_CHARS = 3


@dataclass(frozen=True)
class PatternRead:
    """An example call of a pattern on the drawn items. `rows` are the rows that the call reads."""

    number: int
    plan: Plan
    call: str
    rows: tuple[Row, ...]
    returned: frozenset[int]
    """The `id()` of each row that the call returns."""
    range_size: int
    """The number of rows in the range. With a limit, the call may read only one of them."""


def numbered(table: Table) -> list[tuple[int, "Plan | Unplanned"]]:
    """The table's patterns, with the numbers that they have in all pictures."""
    return list(enumerate(table.plans.values(), 1))


def reads_of(table: Table, drawn: SourceRows) -> list[PatternRead]:
    """For each pattern on the drawn table or index, an example of a read. Patterns whose examples
    read no rows are left out."""
    items = [loaded for row in drawn.rows if (loaded := _load(row)) is not None]
    reads = []
    for number, plan in numbered(table):
        if isinstance(plan, Plan) and plan.source.name == drawn.source.name:
            tried = [_read(table.model, number, plan, drawn, call)
                     for call in _calls(table.model, plan, items)]  # fmt: skip
            best = max(tried, key=_worth, default=None)
            if best is not None and best.rows:
                reads.append(best)
    return reads


def _worth(read: PatternRead) -> tuple[int, int, int]:
    """A sort key, highest for the best example call.

    The best call returns the most items. Among equals, it has the most rows in its range, and then
    reads the fewest rows. Counts above ROWS_MAX are taken as ROWS_MAX.
    """
    range_size = min(read.range_size, ROWS_MAX)
    return min(len(read.returned), ROWS_MAX), range_size, -len(read.rows)


def _load(row: Row) -> Item | None:
    try:
        return None if row.entity is None else row.entity.load(row.raw)
    except ItemError:
        return None


# ---- calls ----


def _calls(model: TableModel, plan: Plan, items: Sequence[Item]) -> Iterator[BoundPattern]:
    pattern = plan.pattern
    call = PatternCall(pattern, model)
    if pattern.by_type is not None:
        for entity in model.entities:
            yield call.bind((), {pattern.by_type: entity.model})
        return
    model_class = plan.entities[0].model if plan.routes else pattern.entities[0]
    chosen = [item for item in items if type(item) is model_class]
    arguments = pattern.arguments
    asked: set[str] = set()
    for item in chosen if arguments else chosen[:1]:
        values = {a.name: _argument(a, item, chosen) for a in arguments}
        if None in values.values() or repr(values) in asked:
            continue
        asked.add(repr(values))
        try:
            yield call.bind((), values)
        except BadValue:
            continue
        if len(asked) == CANDIDATES_MAX:
            return


def _argument(argument: Argument, item: Item, others: Sequence[Item]) -> Any:
    if argument.operator == "shard":
        return 0
    if argument.operator == "any of":
        return list(dict.fromkeys(getattr(one, argument.field) for one in (item, *others)))[:2]
    value = _day(argument, getattr(item, argument.field, None))
    if value is None:
        return None
    if argument.operator in ("between", "before", "at most"):
        stored = [v for o in others if (v := getattr(o, argument.field)) is not None]
        most = _day(argument, max(stored))
        return (value, most) if argument.operator == "between" else most
    if argument.operator == "begins with":
        return value[:PREFIX_CHARS]
    return value


def _day(argument: Argument, value: Any) -> Any:
    """The value as the pattern takes it: a datetime becomes its UTC day if `argument` is a date."""
    if argument.python is date and isinstance(value, datetime):
        return value.astimezone(UTC).date()
    return value


def _shown(bound: BoundPattern) -> str:
    """The call as Python text: `floors('b-1')`."""
    values = ", ".join(_literal(value) for value in bound.arguments.values() if value is not None)
    return f"{bound.call.pattern.name}({values})"


def _literal(value: Any) -> str:
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return repr(value) if isinstance(value, (str, int)) else str(value)


# ---- rows ----


def _read(
    model: TableModel, number: int, plan: Plan, drawn: SourceRows, bound: BoundPattern
) -> PatternRead:
    plan = bound.builder.plan
    rows: list[Row] = []
    if plan.operation == "GetItem":
        key = bound.builder.key(bound.arguments)
        rows = [row for row in drawn.rows if key.items() <= row.raw.items()]
    else:
        for asked, _ in bound.builder.queries(bound.arguments):
            rows += _in_range(drawn, asked)
    returned = [row for row in rows if _returns(plan, bound.arguments, row)]
    if plan.pattern.shape == "one":
        returned = returned[-1:] if plan.pattern.facts.latest else returned[:1]
    drawn_rows = returned if bound.builder.limited else rows
    ids = frozenset(id(row) for row in returned)
    return PatternRead(number, plan, _shown(bound), tuple(drawn_rows), ids, len(rows))


def _in_range(drawn: SourceRows, asked: KeyRange | None) -> list[Row]:
    if asked is None:
        return drawn.rows
    known = dict(asked.equals)
    hashes = [known[column.attribute] for column in drawn.source.hash]
    return [row for row in drawn.partition(hashes) if asked.holds(row.raw)]


def _returns(plan: Plan, arguments: Mapping[str, Any], row: Row) -> bool:
    entities = [entity.name for entity in plan.entities]
    if entities and (row.entity is None or row.entity.name not in entities):
        return False
    if plan.filter is None:
        return True
    values = plan.filter.bind(arguments)
    condition = Expressions(plan.filter.names, values or None).condition(plan.filter.text)
    return bool(condition.matches(row.raw))
