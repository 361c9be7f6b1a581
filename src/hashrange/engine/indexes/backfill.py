"""Steps of an index build, which reads the table from its first row to its last in chunks.

The table's definition has the build's progress, so a write knows whether its item is in the index
yet: if so, the write updates the index, otherwise it leaves the item to the build. Each step is
decided like any other write, so it does not matter which process runs it.

An index that is built from the log needs no such progress: see `propagation`.
"""

from collections.abc import Sequence
from itertools import takewhile

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.decision import Backfill
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.rows import Row
from hashrange.model.limits import PAGE_BYTES_MAX
from hashrange.model.tables import AnyIndex, Table


def next_step(table: Table, index: AnyIndex) -> Fetch[tuple[Backfill, bytes | None]]:
    """The next step of a build, and the key of the table at which the step after it starts (None:
    there is none)."""
    bounds = Bounds(index.built_to, None)
    rows, left = yield from fetch.rows(table, bounds, False, None, PAGE_BYTES_MAX)
    return Backfill(table, index, rows), left.start if left else None


def next_keys(table: Table, start: bytes) -> Fetch[tuple[Sequence[bytes], bytes | None]]:
    """The keys of the next items, and the key at which the following items start (None: there are
    none)."""
    bounds = Bounds(start, None)
    rows, left = yield from fetch.stored_rows(table, bounds, False, None, PAGE_BYTES_MAX)
    return [key for key, _ in rows], left.start if left else None


def items_of_one_slot(
    table: Table, keys: Sequence[bytes]
) -> Fetch[tuple[Sequence[Row], Sequence[bytes]]]:
    """The items with the first `keys`, up to a key that is in another slot, and the remaining
    keys."""
    slot = kv.slot_of(keys[0])
    first = list(takewhile(lambda key: kv.slot_of(key) == slot, keys))
    values = yield kv.Get(tuple([(table.space, key) for key in first]))
    return [Row(value) for value in values if value is not None], keys[len(first) :]
