"""Steps of an index build, which reads the table from its first row to its last in chunks.

The progress of a build is stored in the table's definition. So each write knows whether the build
has passed the write's item. If it has, the write updates the index; otherwise the build will add
the item later. Any process may run a step, because a step is decided like any other write.

The build of an index from a log needs no such progress: see `propagation`.
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
    """The next step of a build, and the key of the table at which the following step starts.

    The key is None if this step is the last.
    """
    bounds = Bounds(index.built_to, None)
    rows, left = yield from fetch.rows(table, bounds, False, None, PAGE_BYTES_MAX)
    return Backfill(table, index, rows), left.start if left else None


def next_keys(table: Table, start: bytes) -> Fetch[tuple[Sequence[bytes], bytes | None]]:
    """The keys of the next items, and the key at which to read on; None at the end of the table."""
    bounds = Bounds(start, None)
    rows, left = yield from fetch.stored_rows(table, bounds, False, None, PAGE_BYTES_MAX)
    return [key for key, _ in rows], left.start if left else None


def items_of_one_slot(
    table: Table, keys: Sequence[bytes]
) -> Fetch[tuple[Sequence[Row], Sequence[bytes]]]:
    """Read the first items of `keys` that are in one slot. Also returns the remaining keys."""
    slot = kv.slot_of(keys[0])
    first = list(takewhile(lambda key: kv.slot_of(key) == slot, keys))
    values = yield kv.Get(tuple([(table.space, key) for key in first]))
    return [Row(value) for value in values if value is not None], keys[len(first) :]
