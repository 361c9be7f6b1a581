"""The effects of a decision: writes, changes of counters, and the capacity that they consume."""

from msgspec import Struct, field

from hashrange import kv
from hashrange.engine.capacity import Charge, Receipt, VectorCharge, write_units
from hashrange.engine.decision import ItemChange
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import RowKey, collection_key
from hashrange.model.limits import VECTOR_REQUEST_BYTES_MIN
from hashrange.model.tables import Index, Table, TableOrIndex, VectorIndex

Counters = dict[bytes | kv.Key, int]
"""Maps the name of each counter, and the key of each item collection, to the amount by which its
count or size changes. In a check of a database, maps them to the expected values instead."""


class Effects(Struct, gc=False):
    """Collects the effects of one decision.

    `now` is the time of the decision in milliseconds, rounded up like the stored clock, so that no
    later commit has an earlier time.
    """

    receipt: Receipt
    now: int
    writes: list[kv.Write] = field(default_factory=list)
    counters: Counters = field(default_factory=dict)

    def charge(self, change: ItemChange, index: Index | None, key: RowKey, size: int) -> None:
        """Charge for a row of `size` bytes that is written at `key`; `index` is None for the table.

        A change that the service makes by itself is not charged.
        """
        if change.expired:
            return
        units = write_units(size)
        if index is None and self.receipt.transactional:
            units *= 2
        self.receipt.charges.append(Charge(change.table, index, key.key, units, True, key.raw))

    def charge_vector(self, change: ItemChange, index: VectorIndex, size: int) -> None:
        """Charge for an entry of `size` bytes in a vector index, also in a transaction."""
        if change.expired:
            return
        if self.receipt.vector_bytes is None:
            self.receipt.vector_bytes = []
        charged = max(size, VECTOR_REQUEST_BYTES_MIN)
        self.receipt.vector_bytes.append(VectorCharge(change.table, index, charged))

    def all_writes(self) -> list[kv.Write]:
        """The writes of the decision, with one more write for each counter that changes."""
        for name, delta in self.counters.items():
            assert isinstance(name, bytes), (
                "sizes of item collections must be turned into rows first"
            )
            if delta:
                self.writes.append(kv.Add(name, delta))
        return self.writes


def count_rows(counters: Counters, source: TableOrIndex, key: bytes, rows: int, size: int) -> None:
    """Add `rows` and `size` (bytes) to the counters of `source` that include the row at `key`."""
    if not rows and not size:
        return
    partition = source.counted_in(key)
    if rows:
        _add(counters, system.item_count(source.space, partition), rows)
    if size:
        _add(counters, system.size_bytes(source.space, partition), size)


def count_collection(counters: Counters, table: Table, key: RowKey, size: int) -> None:
    """Add `size`, in bytes, to the size of the collection of the item at `key`."""
    if size:
        _add(counters, collection_key(table, key), size)


def _add(counters: Counters, name: bytes | kv.Key, delta: int) -> None:
    counters[name] = counters.get(name, 0) + delta
