"""Runs a plan: reads pages, merges partitions, and reads the items that references lead to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.protocols.queries import Explanation
from hashrange.design.execute.batches import get_all
from hashrange.design.execute.observation import units_of
from hashrange.design.execute.reads.cursor import Position, Positions
from hashrange.design.execute.reads.loading import ReadItem
from hashrange.design.execute.reads.request_builder import KeyRange, RequestBuilder
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.model.values import AttributeValue, Item

FILTERED_PAGE = 50
"""The least number of items in a request for a page from which a filter may remove items."""


@dataclass
class PartitionPages:
    """The pages of one partition. `key` is the next ExclusiveStartKey."""

    operation: str
    request: dict[str, Any]
    key: Item | None
    done: bool = False
    rows: list[Item] = field(default_factory=list)

    def read(self, limit: int | None, took: Explanation) -> Steps[int]:
        """Read the next page; returns how many items DynamoDB read for the page."""
        request = dict(self.request)
        if self.key is not None:
            request["ExclusiveStartKey"] = self.key
        if limit is not None:
            request["Limit"] = limit
        response = yield ApiCall(self.operation, request)
        took.pages += 1
        took.capacity += units_of(response)
        self.key = response.get("LastEvaluatedKey")
        self.done = self.key is None
        self.rows += response.get("Items", ())
        read: int = response.get("ScannedCount", len(self.rows))
        return read


class PlanReader:
    """Reads a plan's items, from the start or from a cursor's position."""

    def __init__(
        self,
        builder: RequestBuilder,
        arguments: Mapping[str, Any],
        at: Position | None,
        reverse: bool = False,
        now: datetime | None = None,
    ) -> None:
        self.builder = builder
        self.plan = builder.plan
        self.now = now or builder.clock()
        self.queries = builder.queries(arguments, reverse, self.now)
        self.descending = builder.plan.pattern.facts.latest != reverse
        self.took = Explanation(str(self.plan.pattern), [])
        operation = self.plan.operation
        self.took.requests = [(operation, request) for _, request in self.queries]
        self.partitions = [PartitionPages(operation, request, None) for _, request in self.queries]
        self.groups: dict[int, list[int]] = {}
        for number, (asked, _) in enumerate(self.queries):
            self.groups.setdefault(asked.group if asked is not None else 0, []).append(number)
        self.group = self.start = min(self.groups, default=0)
        self.positions: Positions = [None] * len(self.queries)
        self.read = 0
        if at is not None:
            self._continue(at)

    def _continue(self, at: Position) -> None:
        self.group = self.start = at.group
        for number, key in zip(self.groups[at.group], at.positions, strict=True):
            self.partitions[number].key = self.positions[number] = key
        for number in (n for g, ns in self.groups.items() if g < at.group for n in ns):
            self.partitions[number].done = True

    @property
    def asked(self) -> list[KeyRange | None]:
        return [asked for asked, _ in self.queries]

    @property
    def done(self) -> bool:
        return all(partition.done and not partition.rows for partition in self.partitions)

    def rows(self, limit: int | None) -> Steps[list[ReadItem] | None]:
        """The next items in order, from at least one page; None at the end."""
        while True:
            numbers = self.groups.get(self.group, [])
            partitions = [self.partitions[number] for number in numbers]
            if any(partition.rows or not partition.done for partition in partitions):
                break
            later = [group for group in self.groups if group > self.group]
            if not later:
                return None
            self.group = min(later)
        if len(numbers) == 1:
            raws = yield from self._page(partitions[0], limit)
            rows = [ReadItem(raw, numbers[0], raw) for raw in raws]
        else:
            rows = yield from self._merged(numbers, limit)
        if rows and self.plan.followed is not None:
            rows = yield from self._follow(rows, self.plan.followed)
        return rows

    def raws(self, limit: int | None = None) -> Steps[list[Item]]:
        """The next stored items, without their partitions and positions."""
        if len(self.partitions) == 1 and self.plan.followed is None:
            [partition] = self.partitions
            return [] if partition.done else (yield from self._page(partition, limit))
        rows = yield from self.rows(limit)
        return [row.raw for row in rows or ()]

    def _page(self, partition: PartitionPages, limit: int | None) -> Steps[list[Item]]:
        self.read += yield from partition.read(limit, self.took)
        raws, partition.rows = partition.rows, []
        return raws

    def _merged(self, numbers: Sequence[int], limit: int | None) -> Steps[list[ReadItem]]:
        """The next items of several partitions, in the order of their sort keys.

        Stops at the end of a partition's page, because the next page may have the next item.
        """
        partitions = {number: self.partitions[number] for number in numbers}
        for partition in partitions.values():
            while not partition.rows and not partition.done:
                self.read += yield from partition.read(limit, self.took)
        rows = []
        while all(partition.rows or partition.done for partition in partitions.values()):
            candidates = [n for n, partition in partitions.items() if partition.rows]
            if not candidates:
                break
            pick = max if self.descending else min
            first = pick(candidates, key=lambda n: self._order(partitions[n].rows[0]))
            raw = partitions[first].rows.pop(0)
            rows.append(ReadItem(raw, first, raw))
        return rows

    def _order(self, raw: Item) -> tuple[Any, ...]:
        return tuple(_sortable(raw[column.attribute]) for column in self.plan.source.range)

    def _follow(self, rows: list[ReadItem], followed: Entity) -> Steps[list[ReadItem]]:
        """The items to which `rows` refer, in the same order, without missing items."""
        keys = [followed.primary_key(self._related(row.raw)) for row in rows]
        raws = yield from get_all(self.builder.table_name, keys, self.took)
        return [
            ReadItem(raw, row.partition, row.raw)
            for row, raw in zip(rows, raws, strict=True)
            if raw is not None
        ]

    def _related(self, raw: Item) -> dict[str, Any]:
        """The primary key, by field, of the item to which `raw` refers."""
        item = self.plan.route.entity.load(raw)
        return {name: getattr(item, held) for name, held in self.plan.held.items()}

    # ---- positions ----

    def after(self, rows: Sequence[ReadItem]) -> Position:
        """The position after the last of `rows`, from which the next page continues.

        `rows` must begin with the first item that was read.
        """
        positions = list(self.positions)
        group = self.start
        for row in rows:
            positions[row.partition] = self.position(row.position)
            asked = self.queries[row.partition][0]
            group = asked.group if asked is not None else 0
        return self._in_group(group, positions)

    def here(self, rows: Sequence[ReadItem]) -> Position:
        """Like `after`, but the next page also skips later items that DynamoDB filtered out."""
        positions = list(self.positions)
        for row in rows:
            positions[row.partition] = self.position(row.position)
        for n, partition in enumerate(self.partitions):
            if not partition.rows and partition.key is not None:
                positions[n] = partition.key
        return self._in_group(self.group, positions)

    def _in_group(self, group: int, positions: Positions) -> Position:
        return Position(group, [positions[n] for n in self.groups[group]], self.now)

    def position(self, raw: Item) -> Item:
        return {name: raw[name] for name in self.position_names}

    @cached_property
    def position_names(self) -> set[str]:
        columns = self.plan.source.columns + self.builder.model.table.columns
        return {column.attribute for column in columns}


def _sortable(value: AttributeValue) -> Any:
    [(tag, content)] = value.items()
    return Decimal(content) if tag == "N" else content
