"""Capacity: the units that reads and writes consume, and the receipt of a request.

The rules are in docs/reference/capacity.md. Reads are counted in units of 4 KB, writes in units of
1 KB. A transaction consumes twice as many units in tables, but not in their indexes.
"""

from typing import ClassVar

from msgspec import Struct, field

from hashrange.engine.keyspace.keys import RowKey
from hashrange.model.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from hashrange.model.tables import Index, Table, TableOrIndex, VectorIndex
from hashrange.model.values import Item


def read_units(size_bytes: int, consistent: bool) -> float:
    """The units for reading one item or one page; at least 0.5, or 1 if the read is consistent."""
    units = -(-size_bytes // READ_UNIT_BYTES) or 1
    return float(units) if consistent else units / 2


def write_units(size_bytes: int) -> float:
    """The units for writing one item or index entry."""
    return float(-(-size_bytes // WRITE_UNIT_BYTES) or 1)


class Charge(Struct, gc=False):
    """Units that a request consumed at one row, or in one range of rows, of a table or index.

    `index` is None for the table itself. `key` is the key of the row, or the beginning of the
    range; it tells which partition was used. `written` distinguishes write units from read units.
    `raw` is the raw key of the row or, for a range, the raw partition key of the rows; empty if it
    is not known.

    For speed, the receipt of a GetItem is its Charge, without a `Receipt` around it.
    """

    returned: ClassVar[int] = 0
    vector_bytes: ClassVar[None] = None

    table: Table
    index: Index | None
    key: bytes
    units: float
    written: bool = False
    raw: bytes = b""

    @staticmethod
    def of_read(table: Table, key: RowKey, size_bytes: int, consistent: bool) -> "Charge":
        """The charge of a request that reads one item; `size_bytes` is 0 if there is none."""
        units = 1.0 if size_bytes <= READ_UNIT_BYTES else read_units(size_bytes, True)
        return Charge(table, None, key.key, units if consistent else units / 2, False, key.raw)

    @property
    def charges(self) -> "list[Charge]":
        return [self]


class VectorCharge(Struct, gc=False):
    """The bytes that the write of an item consumed in one vector index."""

    table: Table
    index: VectorIndex
    bytes: int


class Receipt(Struct, gc=False):
    """The units that a request consumed, whether or not the client asked for them.

    `returned` is the number of items that Query, Scan or SELECT returned. `collections` has each
    item collection that was written to, by the table's name and the partition digest: its key
    attributes, and its size in bytes after the changes. None if no collection was written to.
    """

    transactional: bool = False
    charges: list[Charge] = field(default_factory=list)
    collections: dict[str, dict[bytes, tuple[Item, int]]] | None = None
    returned: int = 0
    vector_bytes: list[VectorCharge] | None = None
    """The bytes that the request consumed in vector indexes."""

    def add_read(self, table: Table, key: RowKey, size_bytes: int, consistent: bool) -> None:
        """Charge the read of one item of a table; `size_bytes` is 0 if there is none."""
        units = read_units(size_bytes, consistent or self.transactional)
        if self.transactional:
            units *= 2
        self.charges.append(Charge(table, None, key.key, units, False, key.raw))

    def add_refused(self, table: Table, key: RowKey, size_bytes: int) -> None:
        """Charge a write whose condition failed, or whose transaction was cancelled.

        `size_bytes` is the size of the stored item, 0 if there is none. The size of the new item
        does not matter. Source: CloudWatch's metrics of the service in 2026.
        """
        units = write_units(size_bytes)
        if self.transactional:
            units *= 2
        self.charges.append(Charge(table, None, key.key, units, True, key.raw))

    def add_range(
        self,
        table: Table,
        source: TableOrIndex,
        start: bytes,
        size_bytes: int,
        consistent: bool,
        raw: bytes = b"",
    ) -> None:
        """Charge the read of a range of rows in one partition. The range begins at the key `start`.

        `size_bytes` is the sum of the sizes of these rows. `raw` is their raw partition key, empty
        if it is not known.
        """
        index = source if isinstance(source, Index) else None
        units = read_units(size_bytes, consistent)
        self.charges.append(Charge(table, index, start, units, False, raw))
