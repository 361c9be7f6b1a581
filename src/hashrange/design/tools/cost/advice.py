"""The largest expenses of a table, and how to lower each of them."""

from collections.abc import Iterator

from hashrange.design.plan.plans import Plan
from hashrange.design.table import Table
from hashrange.design.tools.cost.lines import CostLine
from hashrange.design.tools.cost.report import Cost, Expense
from hashrange.design.tools.cost.units import TABLE

SHOWN = 3


def largest(table: Table, cost: Cost) -> tuple[Expense, ...]:
    """The three largest expenses of the table in a month, in on-demand mode."""
    expenses = [*_calls(table, cost), *_stored(cost)]
    expenses = [expense for expense in expenses if expense.usd > 0]
    return tuple(sorted(expenses, key=lambda expense: -expense.usd)[:SHOWN])


def _calls(table: Table, cost: Cost) -> Iterator[Expense]:
    for line in cost.lines:
        usd = cost.usd_of(line)
        if usd:
            plan = table.plans.get(line.name)
            advice = _read(line, plan, usd) if isinstance(plan, Plan) else _written(line)
            yield Expense(line.name, usd, advice)


def _read(line: CostLine, plan: Plan, usd: float) -> str:
    facts = plan.pattern.facts
    if facts.consistent:
        return f"Without @st.consistent it would be ${usd / 2:,.2f}."
    if plan.operation == "Scan":
        return "An index of the wanted items would replace the scan."
    if plan.filter is not None:
        return "A sparse index (when=) of the wanted items would save reading the others."
    if plan.outsiders:
        others = " and ".join(str(entity) for entity in plan.outsiders)
        return f"With another delimiter in its keys it would not read {others}."
    if plan.followed is not None:
        return f"A copy of the needed fields would save reading each {plan.followed}."
    if plan.route_shards:
        return f"It queries {plan.route_shards} shards: if the traffic is low, fewer are enough."
    if plan.pattern.shape == "many" and line.read_units > 1:
        return "An index that projects only the needed fields, or smaller pages, would read less."
    return "A cache before the table would save repeated reads."


def _written(line: CostLine) -> str:
    indexes = {name: units for name, units in line.writes.items() if name != TABLE}
    if line.copies:
        return f"It also writes {line.copies:g} copies. With @st.through, there would be no copies."
    if indexes and sum(indexes.values()) >= line.writes.get(TABLE, 0) / 2:
        name = max(indexes, key=lambda one: indexes[one])
        return (
            f"{name} accounts for {indexes[name]:g} of the {line.write_units:g} write units: "
            "project fewer fields, or leave items out of it."
        )
    if line.transaction:
        return (
            "Copies or unique texts make it a transaction, which doubles the table's units: copies "
            'with sync="stream" need no transaction.'
        )
    if line.writes.get(TABLE, 0) > 1:
        return (
            "A write is charged for the whole item: split off the part that changes, or shorten "
            "the item."
        )
    return "A write costs at least one unit: write less often, or store several facts in one item."


def _stored(cost: Cost) -> Iterator[Expense]:
    for line in cost.storage:
        where = "" if line.source == TABLE else f" in {line.source}"
        advice = (
            "Old items can expire (st.TTL), or be moved elsewhere."
            if line.source == TABLE
            else "The index can project fewer fields, or hold fewer items (when=)."
        )
        yield Expense(f"storage of {line.entity}{where}", cost.storage_usd(line.size), advice)
