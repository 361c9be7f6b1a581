"""The traffic on each partition key value, as far as the declarations determine the values.

Values made of constants, choices and shards can be listed. Values made of other fields cannot, but
their number is limited: for example, `fleet#{fleet}` has at most as many values as there are items
of the entity with the primary key `fleet`. New items have the present time, so if a key contains
the day, all items of one day have the same value in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import product
from typing import Literal

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.markers import PERIODS
from hashrange.design.declare.schema import EntityKey
from hashrange.design.plan.plans import Plan
from hashrange.design.tools.rules.rule import Context, named
from hashrange.model import limits

READ_UNITS_MAX = 3000
WRITE_UNITS_MAX = 1000
VALUES_MAX = 10_000
"""The largest number of partition key values that are listed. If there are more, none of them is
taken to be hot."""
What = Literal["read", "write"]


@dataclass
class Traffic:
    """Capacity units per second on one partition key value.

    `shares` has the units by entity key or pattern. If the values cannot be listed, `value` is
    their template, and `which` says which values are meant, e.g. "each of 5 ".
    """

    what: What
    value: str
    which: str = ""
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def units(self) -> float:
        return sum(self.shares.values())

    @property
    def where(self) -> str:
        """The entity key or pattern with the largest share."""
        return max(self.shares, key=lambda where: self.shares[where])

    @property
    def most(self) -> int:
        return READ_UNITS_MAX if self.what == "read" else WRITE_UNITS_MAX

    def __str__(self) -> str:
        where = f"{self.which}{self.value!r}"
        text = (
            f"{self.units:,.0f} {self.what} units per second on {where}, which allows {self.most:,}"
        )
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


@dataclass
class _Spread:
    """The partition key values over which an entity's traffic is spread.

    `mean` is the average share of one value in the traffic, and `largest` the share of the value
    with the most items. `which` says which values are meant if `values` has only a template.
    """

    values: list[str]
    mean: float
    largest: float
    which: str = ""


def _spread(c: Context, entity: Entity, key: EntityKey, new: bool = False) -> _Spread | None:
    values = partition_values(entity, key)
    if values:
        return _Spread(values, 1 / len(values), 1 / len(values))
    known = 1.0
    names: set[str] = set()
    for column in key.hash:
        for part in column.template.placeholders:
            kind = entity.fields[part.field]
            if part.shards:
                known /= part.shards
            elif kind.choices:
                known /= len(kind.choices)
            elif kind.python not in (date, datetime):
                names.add(part.field)
            elif not new or not column.template.formats[part].units <= PERIODS["day"]:
                return None
    text = " / ".join(str(column.template) for column in key.hash)
    if not names:
        return _Spread([text], known, known)
    parent = _fewest(c, entity, names)
    if parent is None:
        return None
    count = c.table.volumes.count(parent) or 1
    largest = max(_largest(c, entity, parent), 1 / count)
    return _Spread([text], known / count, known * largest, f"each of {count / known:,.0f} ")


def _fewest(c: Context, entity: Entity, names: set[str]) -> Entity | None:
    """The entity with the fewest items among those whose primary key holds these fields."""
    holders = [
        (count, other)
        for other in c.entities
        if any(names <= one.fields for one in c.model.references.between(entity, other))
        if (count := c.table.volumes.count(other)) is not None
    ]
    return min(holders, key=lambda one: one[0])[1] if holders else None


def _largest(c: Context, entity: Entity, parent: Entity) -> float:
    """The largest share of the entity's items below one parent; 0 if it is not declared."""
    per, count = c.table.volumes.per(entity, parent), c.table.volumes.count(entity)
    return min(1.0, per.max / count) if per is not None and count else 0.0


def hot_keys(c: Context, rule: str, *, largest: bool = False) -> list[Traffic]:
    """The partition key values with more traffic than a partition allows.

    The items of a parent share a partition key value. Without `largest`, each parent is taken to
    have the same traffic. With it, the traffic of a parent is in proportion to its items, and the
    result is about the parent with the most items. Of several values with traffic of the same
    entity keys and patterns, only the first is returned.
    """
    traffics: dict[tuple[What, str | None, str], Traffic] = {}
    for what, source, where, spread, units in [*_writes(c, rule), *_reads(c, rule)]:
        share = spread.largest if largest else spread.mean
        for value in spread.values:
            which = "the key with the most items, " if largest and spread.which else spread.which
            traffic = traffics.setdefault((what, source, value), Traffic(what, value, which))
            traffic.shares[where] = traffic.shares.get(where, 0) + units * share
    hot: dict[tuple[What, tuple[str, ...]], Traffic] = {}
    for traffic in traffics.values():
        if traffic.units > traffic.most:
            hot.setdefault((traffic.what, tuple(traffic.shares)), traffic)
    return list(hot.values())


Share = tuple[What, str | None, str, _Spread, float]
"""(what, index, where, partition key values, units per second for all these values together)"""


def _writes(c: Context, rule: str) -> Iterator[Share]:
    for writes in c.table.writes:
        entity = c.model.entity(writes.entity)
        size = c.size(rule, entity) or 1  # a write takes at least one unit
        units = (writes.create + writes.rate) * -(-size // limits.WRITE_UNIT_BYTES)
        for key in (entity.key, *entity.indexes):
            spread = _spread(c, entity, key, new=not writes.rate)
            if spread is not None:
                yield "write", key.source.name, named(entity, key), spread, units
        if c.model.by_type is not None:
            by_type = _Spread([entity.name], 1, 1)
            yield "write", c.model.by_type.name, f"{entity} by type", by_type, units


def _reads(c: Context, rule: str) -> Iterator[Share]:
    for plan in c.plans:
        spread = _spread(c, plan.entities[0], plan.route.key) if plan.routes else None
        if spread is None:
            continue
        units = _read_units(c, rule, plan)
        if units is not None:
            yield "read", plan.source.name, str(plan.pattern), spread, units


def _read_units(c: Context, rule: str, plan: Plan) -> float | None:
    """The read units per second of a pattern, if its rate, items and their size are declared."""
    facts = plan.pattern.facts
    items = 1 if facts.items is None and plan.pattern.shape == "one" else facts.items
    size = facts.size if facts.size is not None else c.table.volumes.of(plan.entities[0]).size
    if facts.rate is None or items is None or size is None:
        c.unknown(rule, f"rate, items and size of {plan.pattern}")
        return None
    units = facts.rate * -(-items * size // limits.READ_UNIT_BYTES)
    return units if facts.consistent else units / 2
