"""`st.cost`: the cost of a table from its declared volumes, rates and sizes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hashrange.design.declare.item import Item
from hashrange.design.errors import BadValue
from hashrange.design.plan.plans import Plan
from hashrange.design.table import Table
from hashrange.design.tools.cost.advice import largest
from hashrange.design.tools.cost.examples import Examples
from hashrange.design.tools.cost.lines import SECONDS_PER_MONTH, CostLine, StorageLine
from hashrange.design.tools.cost.price_list import Prices, prices_of
from hashrange.design.tools.cost.reads import ReadCosts
from hashrange.design.tools.cost.report import (
    GB,
    STREAM_READS_PER_SECOND,
    Cost,
    Expense,
    Mode,
    local_names,
)
from hashrange.design.tools.cost.storage import storage_lines
from hashrange.design.tools.cost.writes import WriteCosts
from hashrange.design.tools.rules.rule import Context

UTILISATION = 0.7
"""The default share of provisioned capacity that is consumed. It is also the default target of
DynamoDB's auto scaling."""


def cost(
    table: Table,
    *,
    region: str = "us-east-1",
    mode: Mode = "both",
    utilisation: float = UTILISATION,
    prices: Path | None = None,
    examples: Sequence[Item] = (),
) -> Cost:
    """The cost of the table, computed from its `st.rate`, `st.writes` and `st.volumes`.

    `utilisation` is the share of provisioned capacity that is used, above 0 and at most 1. `prices`
    is a file whose prices replace those of the package.

    `examples` are items of any entities. They give the sizes that are not declared, and the sizes
    of index entries with only some fields. The first item of an entity gives the size of its items,
    and a second one gives the values that edits assign. Without examples of an entity, examples are
    generated. Raises NoPrices.
    """
    if not 0 < utilisation <= 1:
        raise BadValue(f"the utilisation must be above 0 and at most 1, not {utilisation}")
    rates = prices_of(region, prices)
    context, known = Context(table), Examples(table, examples)
    lines = tuple(_lines(context, known))
    storage = tuple(storage_lines(context, known))
    features = tuple(_features(table, rates, storage))
    unchecked = tuple(sorted(what for rule, what in context.unchecked if rule == "cost"))
    unrated = tuple(f"rate of {line.name}" for line in lines if line.rate is None)
    made = Cost(
        table.name, mode, rates, utilisation, lines, storage, features, (),
        (*unchecked, *unrated), local_names(table.model),
    )  # fmt: skip
    return replace(made, largest=largest(table, made))


def _lines(context: Context, examples: Examples) -> Iterator[CostLine]:
    reads, writes = ReadCosts(context, examples), WriteCosts(context, examples)
    for plan in context.table.plans.values():
        if isinstance(plan, Plan):
            yield reads.line(plan)
        else:
            rate = plan.pattern.facts.rate
            notes = ("no key or index serves this pattern",)
            yield CostLine(str(plan.pattern), "pattern", requests=0, rate=rate, notes=notes)
    for declared in context.table.writes:
        yield from writes.lines(declared)


def _features(table: Table, prices: Prices, storage: Sequence[StorageLine]) -> Iterator[Expense]:
    """The cost of each paid feature that the table declares.

    Backups and point-in-time recovery do not include indexes, so only the table's bytes are
    charged.
    """
    stored = sum(line.size for line in storage if line.source == "table") / GB
    if table.recovery:
        yield Expense("point-in-time recovery", prices["recovery"].of(stored))
    if table.backups:
        usd = prices["backups"].of(stored * table.backups)
        yield Expense(f"{table.backups} full backups", usd)
    if table.model.stream:
        calls = STREAM_READS_PER_SECOND * SECONDS_PER_MONTH
        name = f"stream, estimated for one reader, {STREAM_READS_PER_SECOND} calls a second"
        yield Expense(name, prices["stream_reads"].of(calls))
