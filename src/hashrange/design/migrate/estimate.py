"""An estimate of what a migration costs, from the present number of items of the table."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hashrange.design.execute.steps import Steps
from hashrange.design.migrate.counting import counted
from hashrange.design.migrate.indexes import Indexes
from hashrange.design.migrate.policy import kept_out, policy, unprotected
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.twins import Twin
from hashrange.design.table import Table
from hashrange.design.tools.cost.price_list import prices_of
from hashrange.design.tools.cost.units import read_units, write_units
from hashrange.design.tools.stored_items import describe

PRICES = "us-east-1"


@dataclass(frozen=True)
class Step:
    """The work of one phase and its cost.

    `units` are write units, `reads` are read units, and `usd` is their price in dollars. `hours` is
    None if no rate was given.
    """

    phase: str
    text: str
    items: int = 0
    units: int = 0
    reads: float = 0.0
    usd: float = 0.0
    hours: float | None = None


@dataclass(frozen=True)
class MigrationPlan:
    """The result of `Migration.plan`: the steps in order, and notes for the user.

    `policy` is the resource policy that denies writes by programs that do not follow the migration;
    None if no policy can deny only these writes. `kept_out` says whether they are denied now.
    """

    table: str
    entities: tuple[str, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    policy: dict[str, Any] | None = None
    kept_out: bool = False

    def __str__(self) -> str:
        lines = [f"{self.table}: {'; '.join(self.entities)}", ""]
        for step in self.steps:
            line = f"{step.phase:<12}{step.text}"
            if step.units or step.reads:
                line += f": {step.items:,} items, {step.units:,} write units"
                line += f", {step.reads:,.0f} read units, about ${step.usd:,.2f}"
            if step.hours is not None:
                line += f", {step.hours:,.1f} hours"
            lines.append(line)
        lines += ["", *self.notes]
        if self.policy is not None and not self.kept_out:
            lines += ["", json.dumps(self.policy, indent=2)]
        return "\n".join(lines)

    def json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def estimate(
    old: Table,
    twins: Sequence[Twin],
    indexes: Indexes,
    rate: float | None,
    side: Side,
    waits: float,
) -> Steps[MigrationPlan]:
    """The steps of a migration and their costs.

    `rate` is the number of items per second. `side` is the view of a program of the old model.
    `waits` is the time in seconds after which no write of an earlier phase can arrive. Raises
    DesignError if there is no such table, or if the counts of programs (see `counting`) do not
    allow a migration.
    """
    described = yield from describe(old.name)
    counts = yield from counted(old.model)
    table_items, size = described.get("ItemCount", 0), described.get("TableSizeBytes", 0)
    items = sum(_items(old, twin, table_items) for twin in twins)
    each = write_units(size / table_items if table_items else 1)
    scan = read_units(max(size, 1), True)
    moved = any(not twin.keeps_key for twin in twins)
    prices = prices_of(PRICES)

    def step(phase: str, text: str, units: int = 0, reads: float = 0.0) -> Step:
        usd = prices["on_demand_writes"].of(units) + prices["on_demand_reads"].of(reads)
        timed = rate is not None and units > 0
        hours = items / rate / 3600 if timed and rate else None
        return Step(phase, text, items if units else 0, units, reads, usd, hours)

    added = ", ".join(str(source) for source in indexes.added) or "no index"
    per_item = 4 * each if moved else 2 * each
    steps = [
        step("expand", f"adds {added}, one UpdateTable each"),
        step("dual", f"programs write both items; the migrator waits {waits:,.0f} s"),
        step("backfill", "mirrors each old item", items * per_item, scan),
        step("verify", "compares all items", 0, scan * 3),
        step("read-new", "programs of the old model read the new items"),
        step("new", "programs of the new model may run"),
        step("contracting", "deletes the old items", items * each if moved else 0, scan),
    ]
    dropped = ", ".join(str(source) for source in indexes.dropped)
    steps.append(step("done", f"drops {dropped}" if dropped else "programs open the new table"))
    reason = unprotected(side)
    kept = yield from kept_out(side)
    return MigrationPlan(
        old.name,
        tuple(map(_shown, twins)),
        tuple(steps),
        (*_notes(side.guards), str(counts), _note(reason, kept)),
        policy(side, described.get("TableArn", "*")) if reason is None else None,
        kept,
    )


def _items(old: Table, twin: Twin, table_items: int) -> int:
    declared = old.volumes.count(twin.own)
    return table_items if declared is None else int(declared)


def _shown(twin: Twin) -> str:
    def key(entity: object) -> str:
        columns = entity.key.columns  # type: ignore[attr-defined]
        return " / ".join(str(column.template) for column in columns)

    if twin.keeps_key:
        return f"{twin.own} items are added to new indexes"
    return f"{twin.own} {key(twin.own)} becomes {twin.other} {key(twin.other)}"


def _notes(guards: int) -> tuple[str, ...]:
    unit = 6 if guards else 4
    return (
        "Writes of items that the migration changes cost more in the phases from `dual` to `new`: "
        f"each reads the item first, and costs {unit} write units for each kilobyte.",
        "The key ranges of both models are disjoint in the table and in every index.",
    )


def _note(reason: str | None, kept: bool) -> str:
    if kept:
        return (
            "The policy of the table keeps out programs that do not follow the migration: remove "
            "the policy after `finish`."
        )
    stray = "Writes of such a program are not prevented, but `verify` finds them."
    if reason is not None:
        return f"A program that does not follow the migration is not kept out: {reason}. {stray}"
    return (
        "A program that does not follow the migration is not kept out, unless the table gets this "
        f"policy before the start. {stray}"
    )
