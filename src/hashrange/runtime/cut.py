"""Reads all items of a table as of an earlier moment, while writes continue."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from msgspec import json

from hashrange import kv
from hashrange.engine import history
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.rows import contents
from hashrange.model.tables import Table
from hashrange.model.values import Item
from hashrange.operations.queries import selection
from hashrange.runtime import source
from hashrange.runtime.changed_items import Changed, changed_items

CHUNK_ROWS = 1000
CHUNK_BYTES = 1024 * 1024

_decode = json.Decoder(Item).decode
_encode = json.Encoder().encode


class Cut:
    """A table with its history, in a snapshot of the store that is held until `close`. If there is
    no such table, `table` is None."""

    def __init__(self, store: kv.Store, table_name: str) -> None:
        self._snapshot = store.snapshot()
        try:
            row = source.row(self._snapshot, kv.SYSTEM_SPACE, system.table_row(table_name))
            self.table = None if row is None else system.decode(row, Table)
        except BaseException:
            self._snapshot.close()
            raise

    def size_bytes(self) -> int:
        """The size of the table in bytes."""
        assert self.table is not None, "the table that is exported must exist"
        names = [system.size_bytes(self.table.space, each.number) for each in self.table.partitions]
        return sum(source.counters(self._snapshot, *names))

    def items(self, at: int, specification: dict[str, Any]) -> Iterator[bytes]:
        """The items that a FilterSpecification chooses, as DynamoDB JSON, as of the time `at`.

        The time is in epoch milliseconds, and must be within the history of the table. Raises
        ValidationException if the specification does not fit the table.
        """
        assert self.table is not None, "the table that is exported must exist"
        chosen = selection.of(specification, self.table)
        with closing(Former(self._snapshot, self.table, at)) as former:
            for rows in self._pages(chosen.bounds):
                values = (former.take(key, value) for key, value in rows)
                yield from _shown([value for value in values if value], chosen)
            for some in former.deleted(chosen.bounds):
                yield from _shown(some, chosen)

    def _pages(self, bounds: Bounds) -> Iterator[list[tuple[bytes, bytes]]]:
        assert self.table is not None, "the table that is exported must exist"
        start = bounds.start
        while True:
            chunk = kv.Range(
                self.table.space, start, bounds.end, rows_max=CHUNK_ROWS, weight_max=CHUNK_BYTES
            )
            page = source.page(self._snapshot, chunk)
            yield page.rows
            if page.exhausted:
                return
            start = page.rows[-1][0] + b"\x00"

    def changes(self, after: int, until: int, specification: dict[str, Any]) -> Iterator[Changed]:
        """The items that changed later than `after` and not later than `until`, both in epoch
        milliseconds.

        A filter is applied to the item as of `until` or, if the item was deleted, as of `after`.
        """
        assert self.table is not None, "the table that is exported must exist"
        chosen = selection.of(specification, self.table)
        return changed_items(self._snapshot, self.table, after, until, chosen)

    def close(self) -> None:
        self._snapshot.close()


class Former:
    """The rows of a table that have changed since the time `at` (in epoch milliseconds), with their
    values at this time.

    They are in a temporary file, because there may be many.
    """

    def __init__(self, snapshot: kv.Snapshot, table: Table, at: int) -> None:
        self._rows = sqlite3.connect("", isolation_level=None)
        self._rows.execute("CREATE TABLE former (key BLOB PRIMARY KEY, value BLOB)")
        self._rows.execute("BEGIN")
        self._some = False
        insert = "INSERT OR IGNORE INTO former VALUES (?, ?)"  # keeps the first change
        for page in history.changes(table, at, None, lambda read: source.page(snapshot, read)):
            self._rows.executemany(insert, [(each.key, each.before) for each in page])
            self._some = self._some or bool(page)

    def take(self, key: bytes, now: bytes) -> bytes | None:
        """The value that a row had at the time `at`; None if the row did not exist then. `now` is
        its current value. Each row can be taken once."""
        if not self._some:
            return now
        cursor = self._rows.execute("DELETE FROM former WHERE key = ? RETURNING value", (key,))
        row = cursor.fetchone()
        cursor.close()
        return row[0] if row else now

    def deleted(self, bounds: Bounds) -> Iterator[list[bytes]]:
        """The values of deleted rows within the bounds. Call `take` for all existing rows
        before."""
        rows = self._rows.execute(
            "SELECT value FROM former WHERE value IS NOT NULL AND key >= ? AND (? OR key < ?)",
            (bounds.start, bounds.end is None, bounds.end),
        )
        while some := rows.fetchmany(CHUNK_ROWS):
            yield [value for (value,) in some]

    def close(self) -> None:
        self._rows.close()


def _shown(values: list[bytes], chosen: selection.Selection) -> Iterator[bytes]:
    """The items in these row values that `chosen` selects, as DynamoDB JSON."""
    _, items = contents([(b"", value) for value in values])
    if chosen.filter is None and chosen.projection is None:
        yield from map(bytes, items)
        return
    for text in items:
        item = _decode(text)
        if chosen.filter is None or chosen.filter.matches(item):
            if chosen.projection is None:
                yield bytes(text)
            else:
                yield _encode(chosen.projection.project(item))
