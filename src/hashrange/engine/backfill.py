"""Steps of an index build: the table from its first row to its last, a chunk at a time.

From the moment the index is in the table's definition every write keeps it up; a step puts
entries for rows that nobody has written since. Each step is decided like any other write, so it
does not matter who runs it, nor how often.
"""

from hashrange import kv
from hashrange.engine import entries, expiry, fetch
from hashrange.engine.decision import Backfill
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.model.tables import Index, Table, TimeToLive


def index_step(table: Table, index: Index) -> Fetch[Backfill]:
    """Entries of a secondary index."""
    rows, resume = yield from _rows(table, index.space)
    found = [
        entry
        for row in rows
        if (entry := entries.entry(table, index, RowKey(b"", row.raw), row.item))
    ]
    there = yield kv.Get(tuple((index.space, entry.key.key) for entry in found))
    missing = [entry for entry, value in zip(found, there, strict=True) if value is None]
    puts = [entries.put_entry(index, entry) for entry in missing]
    size = sum(entry.size for entry in missing)
    return Backfill(index.space, puts, len(puts), size, resume)


def expiry_step(table: Table, ttl: TimeToLive) -> Fetch[Backfill]:
    """Rows of the hidden index by expiry, which nobody counts."""
    rows, resume = yield from _rows(table, ttl.space)
    puts = [put for row in rows if (put := expiry.row(ttl, row.raw, row.item))]
    return Backfill(ttl.space, puts, 0, 0, resume)


def _rows(table: Table, space: int) -> Fetch[tuple[list[Row], bytes | None]]:
    """The next rows of the table for the build of this space, and where to go on."""
    start = yield from fetch.system_row(system.backfill_row(space), bytes)
    rows, left = yield from fetch.rows(table, Bounds(start or b"", None), False, None, None)
    return rows, left.start if left else None
