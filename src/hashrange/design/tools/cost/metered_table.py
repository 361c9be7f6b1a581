"""A table with a few items that answers the requests of a write and counts their units.

It supports only the requests of the toolkit's writes. It takes all conditions as true, because only
writes that succeed are counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.declare.table_model import TableModel
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.tools.cost.units import charges, entry
from hashrange.expressions import Expressions
from hashrange.model.values import Item, item_size

PADDING = "~"
"""The name of an attribute that is added to an item so that it has the declared size of its
entity."""


@dataclass(frozen=True)
class MeteredRead:
    """A read.

    `sizes` has the bytes of the items by entity. `source` is the index that was read, None for the
    table.
    """

    operation: str
    source: str | None
    sizes: Mapping[str, int]
    consistent: bool


@dataclass(frozen=True)
class MeteredWrite:
    """A write.

    `entity` is the name of the item's entity, or "" for a unique marker. `units` are by table and
    index.
    """

    kind: str
    entity: str
    units: Mapping[str, float]


@dataclass
class Meter:
    """The requests of a call, and the units that they consumed."""

    operations: list[str] = field(default_factory=list)
    reads: list[MeteredRead] = field(default_factory=list)
    writes: list[MeteredWrite] = field(default_factory=list)


class MeteredTable:
    """A connection to a metered table, for the toolkit's writes.

    `sizes` has the declared size in bytes of an item, by entity.
    """

    def __init__(self, model: TableModel, sizes: Mapping[str, int]) -> None:
        self.model = model
        self.sizes = sizes
        self.loader = Loader(model, [entity.model for entity in model.entities])
        self.items: dict[str, Item] = {}
        self.meter = Meter()

    def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        self.meter.operations.append(operation)
        response: dict[str, Any] = getattr(self, f"_{operation.lower()}")(payload)
        return response

    def entity_of(self, item: Item) -> str:
        entity = self.loader.recognise(item)
        return "" if entity is None else str(entity)

    def name(self, key: Item) -> str:
        return repr([key[column.attribute] for column in self.model.table.columns])

    def _padded(self, item: Item) -> Item:
        """The item, padded to its declared size if it is smaller."""
        bare = {name: value for name, value in item.items() if name != PADDING}
        missing = self.sizes.get(self.entity_of(bare), 0) - item_size(bare)
        return bare if missing < 1 else {**bare, PADDING: {"S": "x" * (missing - 1)}}

    # ---- reads ----

    def _read(self, operation: str, items: Iterable[Item], payload: Mapping[str, Any]) -> None:
        index = payload.get("IndexName")
        sizes: dict[str, int] = {}
        for item in items:
            name = self.entity_of(item)
            sizes[name] = sizes.get(name, 0) + self._entry_size(index, item)
        consistent = bool(payload.get("ConsistentRead"))
        self.meter.reads.append(MeteredRead(operation, index, sizes, consistent))

    def _entry_size(self, index: str | None, item: Item) -> int:
        source = next(s for s in self.model.sources if s.name == index)
        shown = item if source.name is None else entry(self.model, source, item)
        return item_size(shown or {})

    def _getitem(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        item = self.items.get(self.name(payload["Key"]))
        self._read("GetItem", [item or {}], payload)
        return {"Item": item} if item is not None else {}

    def _batchgetitem(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        [(table, asked)] = payload["RequestItems"].items()
        items = [self.items.get(self.name(key)) for key in asked["Keys"]]
        for item in items:
            self._read("BatchGetItem", [item or {}], asked)
        return {"Responses": {table: [item for item in items if item is not None]}}

    def _query(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        condition = _expressions(payload).condition(payload["KeyConditionExpression"])
        items = [item for item in self.items.values() if condition.matches(item)]
        self._read("Query", items, payload)
        return {"Items": items, "Count": len(items)}

    # ---- writes ----

    def _write(self, kind: str, key: Item, new: Item | None, transaction: bool) -> Item | None:
        name = self.name(key)
        old, new = self.items.get(name), None if new is None else self._padded(new)
        units = charges(self.model, old, new, transaction=transaction)
        self.meter.writes.append(MeteredWrite(kind, self.entity_of(new or old or {}), units))
        self.items.pop(name, None)
        if new is not None:
            self.items[name] = new
        return new

    def _putitem(self, payload: Mapping[str, Any], transaction: bool = False) -> dict[str, Any]:
        self._write("Put", payload["Item"], payload["Item"], transaction)
        return {}

    def _deleteitem(self, payload: Mapping[str, Any], transaction: bool = False) -> dict[str, Any]:
        self._write("Delete", payload["Key"], None, transaction)
        return {}

    def _updateitem(self, payload: Mapping[str, Any], transaction: bool = False) -> dict[str, Any]:
        old = self.items.get(self.name(payload["Key"])) or payload["Key"]
        new = _expressions(payload).update(payload["UpdateExpression"]).apply(old)
        return {"Attributes": self._write("Update", payload["Key"], new, transaction)}

    def _transactwriteitems(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        for action in payload["TransactItems"]:
            [(kind, parameters)] = action.items()
            if kind == "ConditionCheck":
                checked = self.items.get(self.name(parameters["Key"]))
                units = charges(self.model, checked, checked, transaction=True)
                entity = self.entity_of(checked or {})
                self.meter.writes.append(MeteredWrite(kind, entity, {"table": units["table"]}))
            else:
                getattr(self, f"_{kind.lower()}item")(parameters, transaction=True)
        return {}


def _expressions(payload: Mapping[str, Any]) -> Expressions:
    names = payload.get("ExpressionAttributeNames")
    return Expressions(names, payload.get("ExpressionAttributeValues"))
