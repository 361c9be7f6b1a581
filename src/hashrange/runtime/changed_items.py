"""The items of a table that changed between two moments, for incremental exports."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from hashrange import kv
from hashrange.engine import history
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.rows import Row
from hashrange.model.tables import Table
from hashrange.model.values import Item
from hashrange.operations.queries.selection import Selection
from hashrange.runtime import source

_ITEMS = 500
_CREATE = "CREATE TABLE changed (key BLOB PRIMARY KEY, old, last, new, known DEFAULT 0)"
_FIRST = (
    "INSERT INTO changed (key, old, last) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET last = max(last, excluded.last)"
)
_LATER = "UPDATE changed SET new = ?, known = 1 WHERE key = ? AND NOT known"


class Changed(NamedTuple):
    """The state of a changed item at the beginning and at the end of a period, and the time of its
    last change. `old` or `new` is None if the item did not exist then."""

    keys: Item
    old: Item | None
    new: Item | None
    milliseconds: int


def changed_items(
    snapshot: kv.Snapshot, table: Table, after: int, until: int, chosen: Selection
) -> Iterator[Changed]:
    """The items, among those that `chosen` selects, that changed later than `after` and not later
    than `until`. Both are in epoch milliseconds.

    The items are collected in a temporary file, because there may be many. An item that was
    inserted and deleted within the period is left out.
    """

    def page(read: kv.Range) -> kv.Page:
        return source.page(snapshot, read)

    with closing(sqlite3.connect("", isolation_level=None)) as rows:
        rows.execute(_CREATE)
        rows.execute("BEGIN")
        for some in history.changes(table, after, until, page):
            rows.executemany(_FIRST, some)
        for some in history.changes(table, until, None, page):
            rows.executemany(_LATER, [(each.before, each.key) for each in some])
        cursor = rows.execute("SELECT key, old, last, new, known FROM changed ORDER BY key")
        while batch := cursor.fetchmany(_ITEMS):
            now = source.rows(snapshot, tuple((table.space, key) for key, *_ in batch))
            for (key, old, last, new, known), current in zip(batch, now, strict=True):
                images = _item(old), _item(new if known else current)
                changed = _chosen(table, key, images, last, chosen)
                if changed is not None:
                    yield changed


def _item(row: bytes | None) -> Item | None:
    return None if row is None else Row(row).item


def _chosen(
    table: Table,
    key: bytes,
    images: tuple[Item | None, Item | None],
    milliseconds: int,
    chosen: Selection,
) -> Changed | None:
    """The change of an item, with the attributes that `chosen` projects; None if `chosen` does not
    select the item. `images` are the item before and after the change."""
    old, new = images
    judged = new or old
    if judged is None or not _is_within(key, chosen.bounds):
        return None
    if chosen.filter is not None and not chosen.filter.matches(judged):
        return None
    keys = {name: judged[name] for name in table.key}
    if chosen.projection is not None:
        project = chosen.projection.project
        old, new = old and project(old), new and project(new)
    return Changed(keys, old, new, milliseconds)


def _is_within(key: bytes, bounds: Bounds) -> bool:
    return key >= bounds.start and (bounds.end is None or key < bounds.end)
