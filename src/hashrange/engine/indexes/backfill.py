"""Steps of an index build, which reads the table from its first row to its last in chunks.

The table's definition has the build's progress, so a write knows whether its item is in the index
yet: if so, the write updates the index, otherwise it leaves the item to the build. Each step is
decided like any other write, so it does not matter which process runs it.
"""

from hashrange.engine import fetch
from hashrange.engine.decision import Backfill
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.model.limits import PAGE_BYTES_MAX
from hashrange.model.tables import AnyIndex, Table


def next_step(table: Table, index: AnyIndex) -> Fetch[tuple[Backfill, bytes | None]]:
    """A step, and the key of the table at which the next step starts (None: there is none)."""
    bounds = Bounds(index.built_to, None)
    rows, left = yield from fetch.rows(table, bounds, False, None, PAGE_BYTES_MAX)
    return Backfill(table, index, rows), left.start if left else None
