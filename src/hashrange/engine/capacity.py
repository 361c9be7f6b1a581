"""Capacity arithmetic, and its place in responses. The rules: docs/reference/capacity.md.

Reads are counted in 4 KB, writes in 1 KB, transactions twice; the doubling does not reach the
index arms. An arm of zero units is left out, but for the table's own.
"""

from typing import Any

from hashrange.model.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from hashrange.model.tables import Index, Table
from hashrange.model.values import Item


def read_units(size_bytes: int, consistent: bool) -> float:
    """Of one item or one page; nothing at all costs as much as one byte."""
    units = max(1, -(-size_bytes // READ_UNIT_BYTES))
    return float(units) if consistent else units / 2


def write_units(size_bytes: int) -> float:
    return float(max(1, -(-size_bytes // WRITE_UNIT_BYTES)))


class Consumed:
    """What a request consumed of one table: its own arm and an arm per index."""

    __slots__ = ("indexes", "own", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.own = 0.0
        self.indexes: dict[str, float] = {}

    def add(self, units: float, index: Index | None = None) -> None:
        if index is None:
            self.own += units
        else:
            self.indexes[index.name] = self.indexes.get(index.name, 0.0) + units

    @property
    def total(self) -> float:
        return self.own + sum(self.indexes.values())

    def render(
        self, mode: str, table_name: str | None = None, split: str | None = None
    ) -> dict[str, Any]:
        """The ConsumedCapacity of a response; `mode` is TOTAL or INDEXES.

        `table_name` is the name or ARN that the request used. `split` (ReadCapacityUnits or
        WriteCapacityUnits) repeats the units under that member, as transactions do.
        """

        def arm(units: float) -> dict[str, float]:
            return {"CapacityUnits": units, split: units} if split else {"CapacityUnits": units}

        shown: dict[str, Any] = {"TableName": table_name or self.table.name, **arm(self.total)}
        if mode == "INDEXES":
            shown["Table"] = arm(self.own)
            for index in self.table.indexes:
                if index.name in self.indexes:
                    member = "LocalSecondaryIndexes" if index.local else "GlobalSecondaryIndexes"
                    shown.setdefault(member, {})[index.name] = arm(self.indexes[index.name])
        return shown


class Receipt:
    """What a decision's changes consumed, per table in order of first use.

    With `transactional`, the tables' own arms are charged twice. `collections` holds the sizes
    in bytes, after the changes, of the item collections they touched: by table name, then by
    partition digest, each with the collection's key.
    """

    __slots__ = ("collections", "consumed", "transactional")

    def __init__(self, transactional: bool = False) -> None:
        self.consumed: dict[str, Consumed] = {}
        self.collections: dict[str, dict[bytes, tuple[Item, int]]] = {}
        self.transactional = transactional

    def of(self, table: Table) -> Consumed:
        if table.name not in self.consumed:
            self.consumed[table.name] = Consumed(table)
        return self.consumed[table.name]
