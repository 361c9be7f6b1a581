"""Running a plan: pages, merged shards, follow-up reads, and stored items back to items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import View, viewed
from hashrange.design.declare.model import TableModel
from hashrange.design.declare.protocols import Explanation
from hashrange.design.errors import ItemError
from hashrange.design.execute.asking import Asking, KeyRange
from hashrange.design.execute.batches import get_all
from hashrange.design.execute.cursor import Positions
from hashrange.design.execute.steps import Call, Steps
from hashrange.model.values import AttributeValue, Item

FILTERED_PAGE = 50
"""How many items are read at a time for a page of which some may be filtered out."""


# ---- stored items to what the pattern returns ----


class Loader:
    """Recognises stored items and makes them what a pattern returns."""

    def __init__(self, model: TableModel, results: Sequence[type[Any]]) -> None:
        self.model = model
        self._makers: dict[str, Callable[[Item], Any]] = {}
        for result in results:
            if issubclass(result, View):
                entity = model.entity(viewed(result))
                self._makers[entity.name] = _ViewLoader(model, entity, result).load
            else:
                entity = model.entity(result)
                self._makers[entity.name] = entity.load

    def recognise(self, raw: Item) -> Entity | None:
        """The stored item's entity; None if the table does not know it."""
        attribute = self.model.type_attribute
        if attribute is not None and attribute in raw:
            return self.model.by_name.get(raw[attribute].get("S", ""))
        return next((e for e in self._by_key if e.recognises(raw)), None)

    @cached_property
    def _by_key(self) -> list[Entity]:
        """Those that the pattern returns first; among them, the more specific templates."""
        return sorted(
            self.model.entities,
            key=lambda e: (
                e.name not in self._makers,
                -sum(len(c.template.literal_text) for c in e.key.columns),
            ),
        )

    def load_all(self, raws: Sequence[Item], items: "Items") -> list[Any]:
        """As `Items.take`, for who neither stops nor goes on elsewhere: a plain iteration."""
        attribute, makers = self.model.type_attribute or "", self._makers
        found = []
        for raw in raws:
            try:
                maker = makers[raw[attribute]["S"]]
            except KeyError:
                entity = self.recognise(raw)
                items.skipped += entity is None
                if entity is None or entity.name not in makers:
                    continue
                maker = makers[entity.name]
            found.append(maker(raw))
        return found

    def wants(self, entity: Entity) -> bool:
        return entity.name in self._makers

    def load(self, entity: Entity, raw: Item) -> Any:
        """Raises ItemError."""
        return self._makers[entity.name](raw)


@dataclass(frozen=True)
class _ViewLoader:
    model: TableModel
    entity: Entity
    view: type[View[Any]]

    def load(self, raw: Item) -> Any:
        stored = self.entity.values(raw)
        values: dict[str, Any] = {}
        for name in self.view.model_fields:
            attribute = self.entity.attributes[name]
            if attribute in stored:
                values[name] = stored[attribute]
        if len(values) < len(self.view.model_fields):
            values = {**self._from_keys(raw), **values}
        try:
            return self.view.model_validate(values)
        except ValidationError as error:
            key = self.entity.key_of(raw)
            raise ItemError(f"{self.view.__name__} ({key}): {error}", key) from error

    def _from_keys(self, raw: Item) -> dict[str, Any]:
        """Fields that only stand in the text of a key, as in an index of keys alone."""
        found: dict[str, Any] = {}
        for key in (self.entity.key, *self.entity.indexes):
            for column in key.columns:
                text = raw.get(column.attribute, {}).get("S")
                if column.natural is None and text is not None:
                    found = {**column.template.read(text), **found}
        return {n: v for n, v in found.items() if n in self.view.model_fields}


# ---- rows ----


@dataclass
class Stream:
    """One partition's rows. `key` is where it goes on; a Query that gave no key has ended."""

    operation: str
    request: dict[str, Any]
    key: Item | None
    done: bool = False
    rows: list[Item] = field(default_factory=list)

    def read(self, limit: int | None, took: Explanation) -> Steps[int]:
        """One page more; how many items DynamoDB read for it."""
        request = dict(self.request)
        if self.key is not None:
            request["ExclusiveStartKey"] = self.key
        if limit is not None:
            request["Limit"] = limit
        response = yield Call(self.operation, request)
        took.pages += 1
        took.capacity += response.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
        self.key = response.get("LastEvaluatedKey")
        self.done = self.key is None
        self.rows += response.get("Items", ())
        read: int = response.get("ScannedCount", len(self.rows))
        return read


class Row(NamedTuple):
    """A stored item, and which stream it is from. `position` is the relation's item, if other."""

    raw: Item
    stream: int
    position: Item


class Run:
    """One reading of a plan, from its start or from a cursor's positions."""

    def __init__(self, asking: Asking, arguments: Mapping[str, Any], at: Positions | None) -> None:
        self.asking = asking
        self.plan = asking.plan
        self.queries = asking.queries(arguments)
        self.took = Explanation(str(self.plan.pattern), [])
        self.positions: Positions = at or [None] * len(self.queries)
        operation = self.plan.operation
        self.took.requests = [(operation, request) for _, request in self.queries]
        self.streams = [
            Stream(operation, request, position)
            for (_, request), position in zip(self.queries, self.positions, strict=True)
        ]
        self.read = 0

    @property
    def asked(self) -> list[KeyRange | None]:
        return [asked for asked, _ in self.queries]

    @property
    def done(self) -> bool:
        return all(stream.done and not stream.rows for stream in self.streams)

    def rows(self, limit: int | None) -> Steps[list[Row] | None]:
        """The next rows in order, at least one page; None at the end."""
        if len(self.streams) == 1:
            rows = yield from self._one(limit)
        else:
            rows = yield from self._merged(limit)
        if rows and self.plan.followed is not None:
            rows = yield from self._follow(rows, self.plan.followed)
        return rows

    def raws(self) -> Steps[list[Item]]:
        """The next stored items, for who does not ask where they are from."""
        if len(self.streams) == 1 and self.plan.followed is None:
            return (yield from self._page(None)) or []
        rows = yield from self.rows(None)
        return [row.raw for row in rows or ()]

    def _one(self, limit: int | None) -> Steps[list[Row] | None]:
        raws = yield from self._page(limit)
        return None if raws is None else [Row(raw, 0, raw) for raw in raws]

    def _page(self, limit: int | None) -> Steps[list[Item] | None]:
        [stream] = self.streams
        if stream.done:
            return None
        self.read += yield from stream.read(limit, self.took)
        raws, stream.rows = stream.rows, []
        return raws

    def _merged(self, limit: int | None) -> Steps[list[Row] | None]:
        """Rows of all streams in the order of their sort keys, as far as it is known."""
        for stream in self.streams:
            while not stream.rows and not stream.done:
                self.read += yield from stream.read(limit, self.took)
        rows = []
        while all(stream.rows or stream.done for stream in self.streams):
            candidates = [n for n, stream in enumerate(self.streams) if stream.rows]
            if not candidates:
                break
            pick = max if self.plan.pattern.facts.latest else min
            first = pick(candidates, key=lambda n: self._order(self.streams[n].rows[0]))
            raw = self.streams[first].rows.pop(0)
            rows.append(Row(raw, first, raw))
        return rows or None

    def _order(self, raw: Item) -> tuple[Any, ...]:
        return tuple(_sortable(raw[column.attribute]) for column in self.plan.source.range)

    def _follow(self, rows: list[Row], followed: Entity) -> Steps[list[Row]]:
        """The items whose keys the rows name, in the rows' order; those that are gone are not."""
        keys = [followed.primary_key(self._related(row.raw)) for row in rows]
        found = yield from get_all(self.asking.table_name, keys, self.took)
        return [
            Row(raw, row.stream, row.raw)
            for row, raw in zip(rows, found, strict=True)
            if raw is not None
        ]

    def _related(self, raw: Item) -> dict[str, Any]:
        entity = self.plan.route.entity
        return vars(entity.load(raw))

    # ---- where it stands ----

    def after(self, rows: Sequence[Row]) -> Positions:
        """The positions once these rows, all since the start, are done with."""
        positions = list(self.positions)
        for row in rows:
            positions[row.stream] = self.position(row.position)
        return positions

    def here(self, rows: Sequence[Row]) -> Positions:
        """`after`, but past what DynamoDB read and did not give: for a reader who stops here."""
        positions = self.after(rows)
        for n, stream in enumerate(self.streams):
            if not stream.rows and stream.key is not None:
                positions[n] = stream.key
        return positions

    def position(self, raw: Item) -> Item:
        return {name: raw[name] for name in self.position_names}

    @cached_property
    def position_names(self) -> set[str]:
        columns = self.plan.source.columns + self.asking.model.table.columns
        return {column.attribute for column in columns}


def _sortable(value: AttributeValue) -> Any:
    [(tag, content)] = value.items()
    return Decimal(content) if tag == "N" else content


# ---- items ----


@dataclass
class Items:
    """What became of rows: results with their rows, and what was left out on the way."""

    results: list[tuple[Any, int]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    skipped: int = 0
    errors: list[ItemError] = field(default_factory=list)

    def take(self, rows: Sequence[Row], loader: Loader, collect: bool) -> Iterator[Any]:
        """Load rows; each result also remembers after how many rows it came."""
        for row in rows:
            self.rows.append(row)
            entity = loader.recognise(row.raw)
            if entity is None:
                self.skipped += 1
            elif loader.wants(entity):
                try:
                    result = loader.load(entity, row.raw)
                except ItemError as error:
                    if not collect:
                        raise
                    self.errors.append(error)
                    continue
                self.results.append((result, len(self.rows)))
                yield result
