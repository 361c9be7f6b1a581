"""`hashrange check`: every index and every counter against its recomputation from the tables."""

from collections import Counter
from collections.abc import Iterator

from hashrange import kv
from hashrange.engine.indexes import secondary
from hashrange.engine.indexes.secondary import Entry
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import RowKey, table_key
from hashrange.engine.keyspace.rows import DamagedRow, Row
from hashrange.model.tables import Index, Table
from hashrange.model.values import item_size
from hashrange.runtime import source

CHUNK_ROWS = 1000


def problems(store: kv.Store) -> Iterator[str]:
    """One line per problem, as of one moment."""
    snapshot = store.snapshot()
    try:
        for _, value in _rows(snapshot, kv.SYSTEM_SPACE, system.TABLES, system.AFTER_TABLES):
            yield from _table_problems(snapshot, system.decode(value, Table))
    finally:
        snapshot.close()


def _rows(
    snapshot: kv.Snapshot, space: int, start: bytes = b"", end: bytes | None = None
) -> Iterator[tuple[bytes, bytes]]:
    while True:
        page = source.page(snapshot, kv.Range(space, start, end, rows_max=CHUNK_ROWS))
        yield from page.rows
        if page.exhausted:
            return
        start = page.rows[-1][0] + b"\x00"


def _table_problems(snapshot: kv.Snapshot, table: Table) -> Iterator[str]:
    """Items, then that each has its entries, then that there are no others."""
    counts: Counter[bytes] = Counter()
    for key, value in _rows(snapshot, table.space):
        where = f"table {table.name}, row {key.hex()}"
        try:
            row = Row(value)
            owner = table_key(table, row.item)
            size = item_size(row.item)
        except (DamagedRow, ValueError, KeyError) as problem:
            yield f"{where}: {problem}"
            continue
        if owner.key != key or owner.raw != row.raw:
            yield f"{where}: the item under it has another key"
        if size != row.size:
            yield f"{where}: weighs {row.size}, its item {size} bytes"
        _count(counts, table, table.space, key, size, collects=True)
        for index in table.indexes:
            if not index.building or key < index.built_to:
                yield from _entry_problems(snapshot, table, index, owner, row, counts)
    yield from _count_problems(snapshot, table, counts)


def _entry_problems(
    snapshot: kv.Snapshot,
    table: Table,
    index: Index,
    owner: RowKey,
    row: Row,
    counts: Counter[bytes],
) -> Iterator[str]:
    entry = secondary.entry(table, index, owner, row.item)
    if entry is None:
        return
    value = source.row(snapshot, index.space, entry.key.key)
    if value is None or not _shows(value, entry):
        what = "is missing" if value is None else "differs from its item"
        yield f"table {table.name}, index {index.name}: entry {entry.key.key.hex()} {what}"
    _count(counts, table, index.space, owner.key, entry.size, collects=index.local)


def _shows(value: bytes, entry: Entry) -> bool:
    """The order of attributes may differ: writing an item in another order changes no view."""
    try:
        row = Row(value)
        return (row.raw, row.item, row.size) == (entry.key.raw, entry.view, entry.size)
    except (DamagedRow, ValueError):
        return False


def _count(
    counts: Counter[bytes], table: Table, space: int, key: bytes, size: int, collects: bool
) -> None:
    counts[system.item_count(space)] += 1
    counts[system.size_bytes(space)] += size
    if collects and table.has_local_indexes:
        counts[system.collection_bytes(table.space, key[: kv.PARTITION_BYTES])] += size


def _count_problems(snapshot: kv.Snapshot, table: Table, counts: Counter[bytes]) -> Iterator[str]:
    """Counters against what was counted, and for each index that it has no other entries."""
    for view in (table, *table.indexes):
        found = sum(1 for _ in _rows(snapshot, view.space))
        name = f"index {view.name}" if isinstance(view, Index) else "items"
        if found != counts[system.item_count(view.space)]:
            expected = counts[system.item_count(view.space)]
            yield f"table {table.name}, {name}: {found} rows where {expected} belong"
        counts.setdefault(system.item_count(view.space), 0)
        counts.setdefault(system.size_bytes(view.space), 0)
    for counter, expected in counts.items():
        [stored] = source.counters(snapshot, counter)
        if stored != expected:
            name = counter.decode("latin-1")
            yield f"table {table.name}: counter {name} is {stored}, not {expected}"
