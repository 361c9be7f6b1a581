"""The cost of a call of a pattern, computed from the declared numbers and sizes of items."""

import math
from collections.abc import Iterator

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import Source
from hashrange.design.plan.plans import Plan
from hashrange.design.tools.cost.examples import Examples
from hashrange.design.tools.cost.lines import CostLine
from hashrange.design.tools.cost.units import TABLE, added, page_units, read_units
from hashrange.design.tools.rules.rule import Context
from hashrange.model import limits

BATCH_KEYS_MAX = 100
SCAN_PARTITIONS = 4
"""The number of partitions of a new on-demand table. The units of a Scan are rounded up for each
partition."""


class ReadCosts:
    def __init__(self, context: Context, examples: Examples) -> None:
        self.context = context
        self.examples = examples
        self.model = context.model

    def line(self, plan: Plan) -> CostLine:
        call = _Call(self, plan)
        if plan.operation == "GetItem":
            call.get()
        elif plan.operation == "Scan":
            call.scan()
        elif plan.operation == "SearchVectors":
            call.search()
        else:
            call.query()
        rate = plan.pattern.facts.rate
        notes = tuple(call.notes)
        name = str(plan.pattern)
        return CostLine(name, "pattern", call.units, requests=call.requests, rate=rate, notes=notes)


class _Call:
    def __init__(self, costs: ReadCosts, plan: Plan) -> None:
        self.context, self.examples, self.model = costs.context, costs.examples, costs.model
        self.plan = plan
        self.facts = plan.pattern.facts
        self.units: dict[str, float] = {}
        self.requests: float = 1
        self.notes: list[str] = []

    def get(self) -> None:
        size = self._size(self.plan.entities[0], self.plan.source)
        self.units = {TABLE: read_units(size, self.facts.consistent)}

    def scan(self) -> None:
        total = 0.0
        for entity in self.model.entities:
            count = self.context.table.volumes.count(entity)
            if count is None:
                self.notes.append(
                    f"the number of {entity} items is not declared, and assumed to be 0"
                )
            total += (count or 0) * self.examples.size(entity, self.model.table)
        self.notes.append(f"estimate: the table has {SCAN_PARTITIONS} partitions")
        share = page_units(total / SCAN_PARTITIONS, 1, self.facts.consistent)
        self.units = {TABLE: share[0] * SCAN_PARTITIONS}
        self.requests = max(1, math.ceil(total / (1024 * 1024)))

    def search(self) -> None:
        """Add a note with the bytes of a vector search.

        A search consumes bytes instead of units, and the price list has no price for them.
        """
        search, facts = self.plan.search, self.plan.pattern.search
        assert search is not None, "the plan must be that of a search"
        assert facts is not None, "the plan must be that of a search"
        count = self.facts.items or facts.top or limits.TOP_K_MAX
        sizes = [self._size(entity, self.plan.source) for entity in self.plan.entities]
        searched = limits.SEARCHED_BYTES_PER_DIMENSION * search.dimensions + count * max(sizes)
        total = max(searched, limits.VECTOR_REQUEST_BYTES_MIN)
        self.notes.append(
            f"estimate: {total:,.0f} bytes of vector search, whose price is not included"
        )

    def query(self) -> None:
        items, size = self._read_items()
        if self.plan.limited:
            items = min(items, 1)
        queries = self.plan.queries_max
        if queries > 1:
            self.notes.append(f"estimate: each of {queries} queries reads the same number of items")
        units, pages = page_units(items / queries, size, self.facts.consistent)
        self.units = {self._arm: units * queries}
        self.requests = pages * queries
        if self.plan.fetches:
            fetched = self._size(self.plan.entities[0], self.model.table, fact=False)
            each = items * read_units(fetched, self.facts.consistent)
            self.units = added(self.units, {TABLE: each})
        if self.plan.followed is not None:
            self._follow(self.plan.followed, items)

    @property
    def _arm(self) -> str:
        return self.plan.source.name or TABLE

    def _follow(self, followed: Entity, items: float) -> None:
        if set(self.plan.held.values()) <= self.plan.route.equal_fields:
            items = min(items, 1)  # all references hold the same key
        size = self._size(followed, self.model.table, fact=False)
        self.units = added(self.units, {TABLE: items * read_units(size, False)})
        self.requests += math.ceil(items / BATCH_KEYS_MAX)

    # ---- numbers of items ----

    def _read_items(self) -> tuple[float, float]:
        """(number, mean size in bytes) of the items that the pattern's Query reads."""
        shares = [*self._shares()]
        items = sum(count for count, _ in shares)
        total = sum(count * size for count, size in shares)
        outside = [*self._outsiders()]
        items += sum(count for count, _ in outside)
        total += sum(count * size for count, size in outside)
        return items, total / items if items else 0

    def _shares(self) -> Iterator[tuple[float, float]]:
        plan, filtered = self.plan, self.plan.filter is not None
        if plan.pattern.shape == "one" and not filtered:
            yield 1, self._size(plan.entities[0], plan.source)
            return
        entities = plan.entities or tuple(self.model.entities)
        declared = self.facts.items
        if declared is not None and not filtered:
            sizes = [self._size(entity, plan.source) for entity in entities]
            if len(sizes) > 1:
                self.notes.append(
                    "estimate: the result has the same number of items of each entity"
                )
            yield declared, sum(sizes) / len(sizes)
            return
        for number, entity in enumerate(entities):
            bound = plan.routes[number].bound if plan.routes else ()
            each = self.context.each("cost", entity, bound)
            if each is None and declared is not None:
                self.notes.append("estimate: no item is filtered out")
            elif each is None:
                self.notes.append(
                    f"the number of {entity} items is not declared, and assumed to be 1"
                )
            count = each.mean if each is not None else declared or 1
            yield count, self._size(entity, plan.source)

    def _outsiders(self) -> Iterator[tuple[float, float]]:
        for entity in self.plan.outsiders:
            each = self.context.each("cost", entity, self.plan.route.bound)
            if each is None:
                self.notes.append(
                    f"the number of {entity} items in the range that is read is not declared, and "
                    "assumed to be 0"
                )
            else:
                yield each.mean, self._size(entity, self.plan.source, fact=False)

    def _size(self, entity: Entity, source: Source, *, fact: bool = True) -> float:
        whole = source.name is None or source.project == "ALL"
        if fact and self.facts.size is not None and whole and not self.plan.fetches:
            return self.facts.size
        if str(entity) not in self.examples.declared or source.project != "ALL":
            self.notes.append(f"estimate: each {entity} has the size of an example")
        return self.examples.size(entity, source)
