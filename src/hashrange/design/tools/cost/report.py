"""The result of `st.cost`: lines for calls and for stored items, with their costs in a month."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hashrange.design.declare.table_model import TableModel
from hashrange.design.tools.cost.lines import SECONDS_PER_MONTH, CostLine, StorageLine
from hashrange.design.tools.cost.price_list import Prices
from hashrange.design.tools.cost.units import TABLE, added

Mode = Literal["on-demand", "provisioned", "both"]
GB = 1024**3
HOURS = SECONDS_PER_MONTH / 3600
STREAM_READS_PER_SECOND = 4
"""The number of reads per second of one shard by one consumer. AWS Lambda reads at this rate."""


@dataclass(frozen=True)
class Expense:
    """The cost of one line in a month, and how to lower it."""

    name: str
    usd: float
    advice: str = ""


@dataclass(frozen=True)
class Cost:
    """The cost of a table.

    `unchecked` names the missing declarations: numbers on which the cost depends. `features` has
    the dollars per month of each paid feature that the table declares. `utilisation` is the share
    of the provisioned capacity that is used on average.
    """

    table: str
    mode: Mode
    prices: Prices
    utilisation: float
    lines: tuple[CostLine, ...]
    storage: tuple[StorageLine, ...]
    features: tuple[Expense, ...]
    largest: tuple[Expense, ...]
    unchecked: tuple[str, ...]
    locals: frozenset[str] = frozenset()
    """The names of local indexes. Their units are counted as units of the table."""

    def line(self, name: str) -> CostLine:
        """The line of a pattern or write, by its name. Raises KeyError."""
        lines = [line for line in self.lines if line.name == name]
        if not lines:
            raise KeyError(name)
        return lines[0]

    # ---- money per month ----

    def usd_of(self, line: CostLine) -> float | None:
        """The dollars per month of a line in on-demand mode; None if its rate is not declared."""
        if line.calls is None:
            return None
        reads = self.prices["on_demand_reads"].of(line.read_units * line.calls)
        return reads + self.prices["on_demand_writes"].of(line.write_units * line.calls)

    def storage_usd(self, bytes_stored: float) -> float:
        return self.prices["storage"].of(bytes_stored / GB)

    @property
    def stored_bytes(self) -> float:
        return sum(line.size for line in self.storage)

    @property
    def fixed_usd(self) -> float:
        """The dollars per month for storage and features, which cost the same in both modes."""
        return self.storage_usd(self.stored_bytes) + sum(f.usd for f in self.features)

    @property
    def on_demand_usd(self) -> float:
        return sum(self.usd_of(line) or 0 for line in self.lines) + self.fixed_usd

    @property
    def provisioned_usd(self) -> float:
        reads = sum(units for units, _ in self.capacity.values())
        writes = sum(units for _, units in self.capacity.values())
        hourly = self.prices["provisioned_reads"].of(reads)
        hourly += self.prices["provisioned_writes"].of(writes)
        return hourly * HOURS + self.fixed_usd

    @property
    def capacity(self) -> dict[str, tuple[int, int]]:
        """(read, write) capacity units to provision for the table and each global index."""
        reads: dict[str, float] = {TABLE: 0}
        writes: dict[str, float] = {TABLE: 0}
        for line in self.lines:
            rate = line.rate or 0
            reads = added(reads, {self._pool(n): u * rate for n, u in line.reads.items()})
            writes = added(writes, {self._pool(n): u * rate for n, u in line.writes.items()})
        names = dict.fromkeys([*reads, *writes])
        return {n: (self._units(reads.get(n, 0)), self._units(writes.get(n, 0))) for n in names}

    def _pool(self, source: str) -> str:
        return TABLE if source in self.locals else source

    def _units(self, per_second: float) -> int:
        return max(1, math.ceil(round(per_second / self.utilisation, 6)))

    # ---- as text ----

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> Iterator[str]:
        yield f"{self.table}: cost in {self.prices.region}, prices of {self.prices.date}"
        yield ""
        head = ["call", "calls a month", "requests", "read units", "write units", "$ a month"]
        yield from aligned([head, *(self._row(line) for line in self.lines)])
        yield ""
        rows = [["stored", "in", "GB", "$ a month"]]
        for one in self.storage:
            usd = self.storage_usd(one.size)
            rows.append([one.entity, one.source, f"{one.size / GB:,.3f}", f"{usd:,.2f}"])
        yield from aligned(rows)
        for feature in self.features:
            yield f"{feature.name}: ${feature.usd:,.2f} a month"
        yield ""
        if self.mode != "provisioned":
            yield f"on demand: ${self.on_demand_usd:,.2f} a month (estimate)"
        if self.mode != "on-demand":
            units = "; ".join(f"{n} {r} RCU, {w} WCU" for n, (r, w) in self.capacity.items())
            yield (
                f"provisioned: ${self.provisioned_usd:,.2f} a month (estimate) "
                f"at {self.utilisation:.0%} utilisation: {units}"
            )
        for expense in self.largest:
            yield f"large expense: {expense.name}, ${expense.usd:,.2f} a month. {expense.advice}"
        yield from self._notes()

    def _row(self, line: CostLine) -> list[str]:
        usd = self.usd_of(line)
        copies = f" with {line.copies:g} copies" if line.copies else ""
        return [
            line.name + copies,
            "?" if line.calls is None else f"{line.calls:,.0f}",
            f"{line.requests:g}",
            _by_source(line.reads),
            _by_source(line.writes),
            "?" if usd is None else f"{usd:,.2f}",
        ]

    def _notes(self) -> Iterator[str]:
        named = [(line.name, line.notes) for line in self.lines]
        named += [(f"{one.entity} in {one.source}", one.notes) for one in self.storage]
        for name, notes in named:
            for note in notes:
                yield f"{name}: {note}"
        for what in self.unchecked:
            yield f"not declared: {what}"
        for item, price in self.prices.items.items():
            yield f"price of {item.replace('_', ' ')}: {price}"

    # ---- as data ----

    def json(self) -> str:
        return json.dumps(self.data(), indent=2, ensure_ascii=False)

    def data(self) -> dict[str, Any]:
        """The whole result as plain values, with the notes of lines and the sources of prices."""
        return {
            "table": self.table,
            "region": self.prices.region,
            "calls": [
                {
                    "name": line.name,
                    "kind": line.kind,
                    "per_second": line.rate,
                    "per_month": line.calls,
                    "requests": line.requests,
                    "read_units": dict(line.reads),
                    "write_units": dict(line.writes),
                    "copies": line.copies,
                    "usd_per_month": self.usd_of(line),
                    "notes": list(line.notes) or ["declared"],
                }
                for line in self.lines
            ],
            "storage": [
                {
                    "entity": one.entity,
                    "in": one.source,
                    "bytes": one.size,
                    "usd_per_month": self.storage_usd(one.size),
                    "notes": list(one.notes) or ["declared"],
                }
                for one in self.storage
            ],
            "features": [{"name": f.name, "usd_per_month": f.usd} for f in self.features],
            **self._totals(),
            "largest": [vars(expense) for expense in self.largest],
            "not_declared": list(self.unchecked),
            "prices": {
                "date": self.prices.date,
                **{name: vars(price) for name, price in self.prices.items.items()},
            },
        }

    def _totals(self) -> dict[str, Any]:
        totals: dict[str, Any] = {"estimate": True}
        if self.mode != "provisioned":
            totals["on_demand_usd_per_month"] = self.on_demand_usd
        if self.mode != "on-demand":
            totals["provisioned_usd_per_month"] = self.provisioned_usd
            totals["utilisation"] = self.utilisation
            totals["capacity"] = {n: {"read": r, "write": w} for n, (r, w) in self.capacity.items()}
        return totals


def _by_source(units: dict[str, float] | Any) -> str:
    """Capacity units as text: '2' for the table alone, '1 + 1 GSI1' for the table and an index."""
    parts = [f"{u:g}" if name == TABLE else f"{u:g} {name}" for name, u in units.items()]
    return " + ".join(parts) or "0"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table with these rows. All columns but the first are aligned right."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if n else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def local_names(model: TableModel) -> frozenset[str]:
    return frozenset(str(s.name) for s in model.indexes if s.kind == "LSI")
