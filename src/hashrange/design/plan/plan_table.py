"""The access-pattern table: one row for each pattern, with the usual columns.

    Access pattern | Base table / GSI / LSI | Operation | Partition key value | Sort key value
                   | Other conditions / filters

Key values are templates. If no key serves a pattern, the last column has the reason.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from hashrange.design.declare.patterns import TOP, Argument
from hashrange.design.declare.schema import KeyColumn
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.plan.routes import SortTest

COLUMNS = (
    "Access pattern",
    "Base table / GSI / LSI",
    "Operation",
    "Partition key value",
    "Sort key value",
    "Other conditions / filters",
)
OPEN_END = "…"


@dataclass(frozen=True)
class PlanRow:
    """A row of the table. Key values are in backticks, as in Markdown."""

    pattern: str
    source: str
    operation: str
    hash: str
    sort: str
    other: str


@dataclass(frozen=True)
class PlanTable:
    """The result of `Table.plan`. `str()` gives the text form."""

    table: str
    rows: tuple[PlanRow, ...]

    def __str__(self) -> str:
        cells = [COLUMNS, *(astuple(row) for row in self.rows)]
        plain = [[cell.replace("`", "") for cell in line] for line in cells]
        widths = [max(len(line[n]) for line in plain) for n in range(len(COLUMNS))]
        lines = [_line(line, widths) for line in plain]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return "\n".join(lines)

    def markdown(self) -> str:
        lines = [COLUMNS, ["---"] * len(COLUMNS), *(astuple(row) for row in self.rows)]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in escaped)

    def json(self) -> str:
        rows = [
            dict(zip(COLUMNS, (cell.replace("`", "") for cell in astuple(row)), strict=True))
            for row in self.rows
        ]
        return json.dumps({"table": self.table, "patterns": rows}, indent=2, ensure_ascii=False)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return " | ".join(cell.ljust(width) for cell, width in pairs).rstrip()


def plan_row(plan: Plan | Unplanned, types: Sequence[str]) -> PlanRow:
    """The row of a pattern.

    `types` are the names of all entities: the keys of an index by the entity's type.
    """
    pattern = plan.pattern
    if isinstance(plan, Unplanned):
        return PlanRow(pattern.title, "none", "refused", "", "", str(plan.error))
    return PlanRow(
        pattern.title,
        str(plan.source),
        plan.operation,
        _hash(plan, types),
        _sort(plan),
        " ".join(_other(plan)),
    )


def _hash(plan: Plan, types: Sequence[str]) -> str:
    if plan.pattern.by_type is not None:
        return f"{plan.source.hash[0].attribute}=" + " | ".join(f"`{name}`" for name in types)
    columns = plan.route.key.hash if plan.routes else ()
    return " ".join(_equals(column) for column in columns)


def _equals(column: KeyColumn) -> str:
    return f"{column.attribute}=`{column.template}`"


def _sort(plan: Plan) -> str:
    if plan.common is not None:
        column = plan.route.key.range[:1]
        text = "".join(str(part) for part in plan.common)
        return f"{column[0].attribute} begins_with `{text}`" if text else ""
    if not plan.routes:
        return ""
    tests = [_equals(column) for column in plan.route.equals]
    if plan.test is not None:
        tests.append(_test(plan.test))
    return " ".join(tests)


def _test(test: SortTest) -> str:
    attribute = test.column.attribute
    known = "".join(str(part) for part in test.parts)
    if test.begins is not None:
        return f"{attribute} begins_with `{known}{{{test.begins.name}}}`"
    if not test.ranged:
        return f"{attribute} begins_with `{known}`"
    if test.column.natural is not None:
        return f"{attribute} {_natural(test)}"
    side = 1 if test.column.template.formats[test.placeholder].descending else 0
    first, last = test.end(side), test.end(1 - side)
    low, high = _end(test, first), _end(test, last)
    if last and not known + low:
        signs = _SIGNS_DESCENDING if side else _SIGNS
        return f"{attribute} {signs[last.operator]} `{high}`"
    above = "after " if first and first.operator in _EXCLUDING else ""
    below = "before " if last and last.operator in _EXCLUDING else ""
    return f"{attribute} between {above}`{known}{low}` and {below}`{known}{high or OPEN_END}`"


def _end(test: SortTest, argument: Argument | None) -> str:
    if argument is None:
        return ""
    return str(test.placeholder._replace(field=argument.name))


_EXCLUDING = ("after", "before")
_SIGNS = {"at least": ">=", "after": ">", "at most": "<=", "before": "<", "between": "<="}
_SIGNS_DESCENDING = {"at least": "<=", "after": "<", "between": "<="}


def _natural(test: SortTest) -> str:
    ends = [end for end in (test.low, test.high) if end is not None]
    if ends[0].operator == "between":
        return f"between `{{{ends[0].name}}}` and `{{{ends[0].name}}}`"
    return " and ".join(f"{_SIGNS[end.operator]} `{{{end.name}}}`" for end in ends)


def _searched(plan: Plan) -> Iterator[str]:
    """The filters of a search and its `TopK`, for the last column."""
    assert plan.search is not None, "the plan must be that of a search"
    partition = {column.natural for column in plan.route.key.hash}
    names = [field for field in plan.route.bound if field not in partition]
    tests = [f"{plan.route.entity.attributes[name]}=`{{{name}}}`" for name in names]
    if plan.search.types is not None and len(plan.routes) == 1:
        tests.append(f"{plan.search.types}=`{plan.route.entity.name}`")
    if tests:
        yield f"filter {' '.join(tests)}"
    yield f"TopK=`{{{TOP}}}` by {plan.search.distance.replace('_', ' ')}"


def _other(plan: Plan) -> Iterator[str]:
    facts = plan.pattern.facts
    if plan.search is not None:
        yield from _searched(plan)
    if plan.limited:
        yield "Limit=1"
    if facts.latest:
        yield "ScanIndexForward=false"
    if facts.consistent:
        yield "ConsistentRead=true"
    if plan.pattern.shape == "count":
        yield "Select=COUNT"
    bucket = plan.route.bucket if plan.routes else None
    if bucket is not None:
        yield f"in up to {facts.buckets} {bucket.unit.name}s, one after the other"
    if plan.route_shards:
        yield f"in {plan.route_shards} shards, merged"
    for argument in plan.route.scattered if plan.routes else ():
        count = len(argument.values) or "the given"
        yield f"for each of {count} values of {argument.field}, merged"
    if plan.routes and plan.route.shard is not None:
        yield f"in the shard `{{{plan.route.shard.name}}}`"
    if plan.outsiders:
        yield f"only {' | '.join(f'`{entity.name}`' for entity in plan.entities)}"
    if facts.where is not None:
        yield f"filter `{facts.where}`"
    if plan.followed is not None:
        yield f"then BatchGetItem `{plan.followed}`"
    if facts.scan is not None and plan.operation == "Scan":
        yield f"allowed: {facts.scan}"
