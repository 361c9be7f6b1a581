"""Steps of an index build: the table from its first row to its last, a chunk at a time.

From the moment the index is in the table's definition every write keeps it up; a step puts
entries for rows that nobody has written since. Each step is decided like any other write, so it
does not matter who runs it, nor how often.
"""

from hashrange import kv
from hashrange.engine import entries, fetch
from hashrange.engine.decision import Backfill
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import RowKey
from hashrange.model.tables import Index, Table


def step(table: Table, index: Index) -> Fetch[Backfill]:
    start = yield from fetch.system_row(system.backfill_row(index.space), bytes)
    rows, left = yield from fetch.rows(table, Bounds(start or b"", None), False, None, None)
    entries = [
        entry
        for row in rows
        if (entry := entries.entry(table, index, RowKey(b"", row.raw), row.item))
    ]
    there = yield kv.Get(tuple((index.space, entry.key.key) for entry in entries))
    missing = [entry for entry, value in zip(entries, there, strict=True) if value is None]
    return Backfill(index, missing, left.start if left else None)
