"""The traffic on each partition key value, as far as the declarations determine the values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import EntityKey
from hashrange.design.plan.planner import Plan
from hashrange.design.tools.rules.rule import Context, named
from hashrange.model import limits

READ_UNITS_MAX = 3000
WRITE_UNITS_MAX = 1000
VALUES_MAX = 10_000
"""If there are more values, they are not listed: none of them is hot by itself."""
What = Literal["read", "write"]


@dataclass
class Traffic:
    """Capacity units per second on one partition key value, by entity key or pattern."""

    what: What
    value: str
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def units(self) -> float:
        return sum(self.shares.values())

    @property
    def most(self) -> int:
        return READ_UNITS_MAX if self.what == "read" else WRITE_UNITS_MAX

    def __str__(self) -> str:
        text = f"{self.units:,.0f} {self.what} units per second on {self.value!r}, of {self.most:,}"
        if len(self.shares) > 1:
            shares = ", ".join(f"{where} {units:,.0f}" for where, units in self.shares.items())
            text += f" ({shares})"
        return text


def partition_values(entity: Entity, key: EntityKey) -> list[str] | None:
    """The partition key values of an entity; None if the declarations do not list them."""
    columns = []
    count = 1
    for column in key.hash:
        parts: list[list[str]] = []
        for part in column.template.parts:
            if isinstance(part, str):
                parts.append([part])
            elif part.shards:
                parts.append([str(shard) for shard in range(part.shards)])
            elif choices := entity.fields[part.field].choices:
                parts.append(list(choices))
            else:
                return None
            count *= len(parts[-1])
        columns.append(parts)
    if count > VALUES_MAX:
        return None
    texts = [["".join(pieces) for pieces in product(*parts)] for parts in columns]
    return [" / ".join(values) for values in product(*texts)]


def hot_keys(c: Context, rule: str) -> list[Traffic]:
    """The traffic on keys that have more of it than a partition allows.

    If several values have the same shares, only the first is returned.
    """
    found: dict[tuple[What, str | None, str], Traffic] = {}
    for what, source, where, values, units in [*_writes(c, rule), *_reads(c, rule)]:
        for value in values:
            traffic = found.setdefault((what, source, value), Traffic(what, value))
            traffic.shares[where] = traffic.shares.get(where, 0) + units
    hot: dict[tuple[What, tuple[str, ...]], Traffic] = {}
    for traffic in found.values():
        if traffic.units > traffic.most:
            hot.setdefault((traffic.what, tuple(traffic.shares)), traffic)
    return list(hot.values())


Share = tuple[What, str | None, str, list[str], float]
"""(what, index, where, partition key values, units per second on each of these values)"""


def _writes(c: Context, rule: str) -> Iterator[Share]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        size = c.size(rule, entity)
        if size is None:
            continue
        units = (writes.create + writes.rate) * -(-size // limits.WRITE_UNIT_BYTES)
        for key in (entity.key, *entity.indexes):
            values = partition_values(entity, key)
            if values:
                yield "write", key.source.name, named(entity, key), values, units / len(values)
        if c.model.by_type is not None:
            yield "write", c.model.by_type.name, f"{entity} by type", [entity.name], units


def _reads(c: Context, rule: str) -> Iterator[Share]:
    for plan in c.plans:
        values = partition_values(plan.entities[0], plan.route.key) if plan.routes else None
        if not values:
            continue
        units = _read_units(c, rule, plan)
        if units is not None:
            yield "read", plan.source.name, str(plan.pattern), values, units / len(values)


def _read_units(c: Context, rule: str, plan: Plan) -> float | None:
    """Read units per second of a pattern, if its rate, items and their size are declared."""
    facts = plan.pattern.facts
    items = 1 if facts.items is None and plan.pattern.shape == "one" else facts.items
    size = facts.size if facts.size is not None else c.table.volumes.of(plan.entities[0]).size
    if facts.rate is None or items is None or size is None:
        c.unknown(rule, f"rate, items and size of {plan.pattern}")
        return None
    units = facts.rate * -(-items * size // limits.READ_UNIT_BYTES)
    return units if facts.consistent else units / 2
