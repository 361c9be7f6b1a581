"""Running a plan: pages, merged shards and follow-up reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.protocols import Explanation
from hashrange.design.execute.batches import get_all
from hashrange.design.execute.observation import units_of
from hashrange.design.execute.reads.cursor import Positions
from hashrange.design.execute.reads.loading import ReadItem
from hashrange.design.execute.reads.request_builder import KeyRange, RequestBuilder
from hashrange.design.execute.steps import ApiCall, Steps
from hashrange.model.values import AttributeValue, Item

FILTERED_PAGE = 50
"""How many items to read at a time for a page if some may be filtered out."""


@dataclass
class PartitionPages:
    """The pages of one partition. `key` is the next ExclusiveStartKey."""

    operation: str
    request: dict[str, Any]
    key: Item | None
    done: bool = False
    rows: list[Item] = field(default_factory=list)

    def read(self, limit: int | None, took: Explanation) -> Steps[int]:
        """Read the next page; returns how many items DynamoDB read for it."""
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
    """Reads a plan's items, from the start or from a cursor's positions."""

    def __init__(
        self,
        builder: RequestBuilder,
        arguments: Mapping[str, Any],
        at: Positions | None,
        reverse: bool = False,
    ) -> None:
        self.builder = builder
        self.plan = builder.plan
        self.queries = builder.queries(arguments, reverse)
        self.descending = builder.plan.pattern.facts.latest != reverse
        self.took = Explanation(str(self.plan.pattern), [])
        self.positions: Positions = at or [None] * len(self.queries)
        operation = self.plan.operation
        self.took.requests = [(operation, request) for _, request in self.queries]
        self.partitions = [
            PartitionPages(operation, request, position)
            for (_, request), position in zip(self.queries, self.positions, strict=True)
        ]
        self.read = 0

    @property
    def asked(self) -> list[KeyRange | None]:
        return [asked for asked, _ in self.queries]

    @property
    def done(self) -> bool:
        return all(partition.done and not partition.rows for partition in self.partitions)

    def rows(self, limit: int | None) -> Steps[list[ReadItem] | None]:
        """The next items in order, from at least one page; None at the end."""
        if len(self.partitions) == 1:
            rows = yield from self._one(limit)
        else:
            rows = yield from self._merged(limit)
        if rows and self.plan.followed is not None:
            rows = yield from self._follow(rows, self.plan.followed)
        return rows

    def raws(self, limit: int | None = None) -> Steps[list[Item]]:
        """The next stored items, for a caller that does not need their positions."""
        if len(self.partitions) == 1 and self.plan.followed is None:
            return (yield from self._page(limit)) or []
        rows = yield from self.rows(limit)
        return [row.raw for row in rows or ()]

    def _one(self, limit: int | None) -> Steps[list[ReadItem] | None]:
        raws = yield from self._page(limit)
        return None if raws is None else [ReadItem(raw, 0, raw) for raw in raws]

    def _page(self, limit: int | None) -> Steps[list[Item] | None]:
        [partition] = self.partitions
        if partition.done:
            return None
        self.read += yield from partition.read(limit, self.took)
        raws, partition.rows = partition.rows, []
        return raws

    def _merged(self, limit: int | None) -> Steps[list[ReadItem] | None]:
        """Items of all partitions in the order of their sort keys, as far as it is known."""
        for partition in self.partitions:
            while not partition.rows and not partition.done:
                self.read += yield from partition.read(limit, self.took)
        rows = []
        while all(partition.rows or partition.done for partition in self.partitions):
            candidates = [n for n, partition in enumerate(self.partitions) if partition.rows]
            if not candidates:
                break
            pick = max if self.descending else min
            first = pick(candidates, key=lambda n: self._order(self.partitions[n].rows[0]))
            raw = self.partitions[first].rows.pop(0)
            rows.append(ReadItem(raw, first, raw))
        return rows or None

    def _order(self, raw: Item) -> tuple[Any, ...]:
        return tuple(_sortable(raw[column.attribute]) for column in self.plan.source.range)

    def _follow(self, rows: list[ReadItem], followed: Entity) -> Steps[list[ReadItem]]:
        """The existing items among those whose keys `rows` contain, in the same order."""
        keys = [followed.primary_key(self._related(row.raw)) for row in rows]
        found = yield from get_all(self.builder.table_name, keys, self.took)
        return [
            ReadItem(raw, row.partition, row.raw)
            for row, raw in zip(rows, found, strict=True)
            if raw is not None
        ]

    def _related(self, raw: Item) -> dict[str, Any]:
        """The followed item's key fields, from an item of the relation."""
        item = self.plan.route.entity.load(raw)
        return {name: getattr(item, held) for name, held in self.plan.held.items()}

    # ---- positions ----

    def after(self, rows: Sequence[ReadItem]) -> Positions:
        """The positions after these items, which are all items since the start."""
        positions = list(self.positions)
        for row in rows:
            positions[row.partition] = self.position(row.position)
        return positions

    def here(self, rows: Sequence[ReadItem]) -> Positions:
        """As `after`, but past the items that DynamoDB read and filtered out."""
        positions = self.after(rows)
        for n, partition in enumerate(self.partitions):
            if not partition.rows and partition.key is not None:
                positions[n] = partition.key
        return positions

    def position(self, raw: Item) -> Item:
        return {name: raw[name] for name in self.position_names}

    @cached_property
    def position_names(self) -> set[str]:
        columns = self.plan.source.columns + self.builder.model.table.columns
        return {column.attribute for column in columns}


def _sortable(value: AttributeValue) -> Any:
    [(tag, content)] = value.items()
    return Decimal(content) if tag == "N" else content
