"""Steps of an index build: the table from its first row to its last, a chunk at a time.

How far the build has come is in the table's definition, so a write knows whether the item has
its entry yet: behind that point it keeps the entry up, before it leaves the item to the build.
Each step is decided like any other write, so it does not matter who runs it.
"""

from hashrange.engine import fetch
from hashrange.engine.decision import Backfill
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes import expiry, secondary
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.model.limits import PAGE_BYTES_MAX
from hashrange.model.tables import Index, Table, TimeToLive

Step = tuple[Backfill, bytes | None]
"""What to write, and the first key of the table that was not looked at (None: there is none)."""


def index_step(table: Table, index: Index) -> Fetch[Step]:
    """Entries of a secondary index."""
    rows, rest = yield from _rows(table, index.built_to)
    found = [
        entry
        for row in rows
        if (entry := secondary.entry(table, index, RowKey(b"", row.raw), row.item))
    ]
    puts = [secondary.put_entry(index, entry) for entry in found]
    size = sum(entry.size for entry in found)
    return Backfill(index.space, puts, len(puts), size), rest


def expiry_step(table: Table, ttl: TimeToLive) -> Fetch[Step]:
    """Rows of the hidden index by expiry, which nobody counts."""
    rows, rest = yield from _rows(table, ttl.built_to)
    puts = [put for row in rows if (put := expiry.row(ttl, row.raw, row.item))]
    return Backfill(ttl.space, puts), rest


def _rows(table: Table, start: bytes) -> Fetch[tuple[list[Row], bytes | None]]:
    rows, left = yield from fetch.rows(table, Bounds(start, None), False, None, PAGE_BYTES_MAX)
    return rows, left.start if left else None
