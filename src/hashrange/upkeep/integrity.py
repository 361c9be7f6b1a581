"""`hashrange check`: compares stored indexes and counters with values computed from the tables."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any

from hashrange import kv
from hashrange.engine.effects import Counters, count_collection, count_rows
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes import MAINTAINERS, propagation
from hashrange.engine.indexes.maintainer import Checked, is_built
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import RowKey, table_key
from hashrange.engine.keyspace.rows import DamagedRow, Row
from hashrange.engine.vectors.sizes import stored_size
from hashrange.model.tables import AnyIndex, Index, Table, TimeToLive, VectorIndex
from hashrange.model.values import item_size
from hashrange.runtime import source

CHUNK_ROWS = 1000
CHUNK_BYTES = 1024 * 1024
"""The largest total size of a page of items. Their index entries are read together."""

_Check = tuple[AnyIndex, Fetch[Checked]]
"""An index, and the check of its row for one item. The check has not begun yet."""


def problems(store: kv.Store) -> Iterator[str]:
    """Yield one line for each problem in the database. The check is as of one moment."""
    snapshot = store.snapshot()
    try:
        for _, value in _rows(snapshot, kv.SYSTEM_SPACE, system.TABLES, system.AFTER_TABLES):
            yield from TableCheck(snapshot, system.decode(value, Table)).problems()
    finally:
        snapshot.close()


def _rows(
    snapshot: kv.Snapshot, space: int, start: bytes = b"", end: bytes | None = None
) -> Iterator[tuple[bytes, bytes]]:
    return chain.from_iterable(_pages(snapshot, space, start, end))


def _pages(
    snapshot: kv.Snapshot, space: int, start: bytes = b"", end: bytes | None = None
) -> Iterator[list[tuple[bytes, bytes]]]:
    while True:
        chunk = kv.Range(space, start, end, rows_max=CHUNK_ROWS, weight_max=CHUNK_BYTES)
        page = source.page(snapshot, chunk)
        yield page.rows
        if page.exhausted:
            return
        start = page.rows[-1][0] + b"\x00"


class TableCheck:
    """Checks one table: its items, and that each index has exactly the rows for these items.

    An index that is updated from a log is compared with the items as they were before the changes
    that still wait in the log. If it is still being built from the log, only its existing entries
    are checked.
    """

    def __init__(self, snapshot: kv.Snapshot, table: Table) -> None:
        self.snapshot = snapshot
        self._table = table
        self._items = 0
        """The number of the table's rows that have been read."""
        self._expected: Counter[int] = Counter()
        """The number of rows that each space should have."""
        self._counters: Counters = defaultdict(int)
        """The correct values of the counters, and of the sizes of item collections."""

    def problems(self) -> Iterator[str]:
        for rows in _pages(self.snapshot, self._table.space):
            self._items += len(rows)
            for problem in self.item_problems(rows):
                yield f"table {self._table.name}, {problem}"
        checks = [
            self._check(index, owner, row)
            for (space, _), (owner, row) in self._shown.items()
            for index in self._checked
            if index.space == space and row is not None
        ]
        for problem in self._index_problems(checks):
            yield f"table {self._table.name}, {problem}"
        others = self._count_problems(), self.counter_problems(), self._collection_problems()
        for problem in chain.from_iterable(others):
            yield f"table {self._table.name}, {problem}"

    def item_problems(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[str]:
        """Check some rows of the table, and the index rows of their items."""
        checks: list[_Check] = []
        for key, value in rows:
            yield from self._row_problems(key, value, checks)
        yield from self._index_problems(checks)

    def _check(self, index: AnyIndex, owner: RowKey, row: Row) -> _Check:
        return index, MAINTAINERS[type(index)].check(self._table, index, owner, row)

    def _index_problems(self, checks: Sequence[_Check]) -> Iterator[str]:
        answers = self._answers([check for _, check in checks])
        for (index, _), checked in zip(checks, answers, strict=True):
            if checked.key is not None:
                self._expected[index.space] += 1
                maintainer = MAINTAINERS[type(index)]
                maintainer.count(self._table, index, checked.key, 1, checked.size, self._counters)
            if checked.problem:
                yield f"{_name(index)}: {checked.problem}"

    def _row_problems(self, key: bytes, value: bytes, checks: list[_Check]) -> Iterator[str]:
        """Check a row of the table, and add the checks of its item's index rows to `checks`."""
        where, table = f"row {key.hex()}", self._table
        try:
            row = Row(value)
            owner = table_key(table, row.item)
            size = item_size(row.item)
        except (DamagedRow, ValueError, KeyError) as problem:
            yield f"{where}: {problem}"
            return
        if owner.key != key or owner.raw != row.raw:
            yield f"{where}: the row has an item with another key"
        if size != row.size:
            yield f"{where}: the stored size is {row.size} bytes, but the item has {size} bytes"
        self._expected[table.space] += 1
        count_rows(self._counters, table, key, 1, _stored_size(table, row, key))
        if table.has_local_indexes:
            count_collection(self._counters, table, owner, size)
        for index in self._checked:
            if is_built(index, RowKey(key, b"")) and (index.space, key) not in self._shown:
                checks.append(self._check(index, owner, row))

    def entry_problems(self, index: AnyIndex, key: bytes, value: bytes) -> Iterator[str]:
        """Check that a row of an index is the row that its item should have."""
        where, maintainer = f"{_name(index)}: row {key.hex()}", MAINTAINERS[type(index)]
        try:
            owner = maintainer.owner(self._table, Row(value))
            row = self._row_shown(index, owner)
            if row is None:
                yield f"{where}: its item is missing"
                return
            [checked] = self._answers([maintainer.check(self._table, index, owner, row)])
        except (DamagedRow, ValueError, KeyError) as problem:
            yield f"{where}: {problem}"
            return
        if checked.key is None or checked.key.key != key:
            yield f"{where}: it differs from its item"

    @cached_property
    def _checked(self) -> tuple[AnyIndex, ...]:
        """The indexes that are checked for missing rows.

        An index that is being built from the log is left out, because it does not have all rows
        yet.
        """
        table = self._table
        return tuple(index for index in table.maintained if index not in table.built_from_log)

    @cached_property
    def _shown(self) -> dict[kv.Key, tuple[RowKey, Row | None]]:
        """The items that an index still shows in an older state: see `propagation.shown`."""
        log = self._table.index_log
        return {} if log is None else propagation.shown(self._table, _rows(self.snapshot, log))

    def _row_shown(self, index: AnyIndex, owner: RowKey) -> Row | None:
        """The row of the item with the key `owner` as the index should show it, if there is one."""
        if (index.space, owner.key) in self._shown:
            return self._shown[index.space, owner.key][1]
        stored = source.row(self.snapshot, self._table.space, owner.key)
        return None if stored is None else Row(stored)

    def _answers(self, checks: Sequence[Fetch[Checked]]) -> list[Checked]:
        """Run checks together: in each round, one read gets the rows that all of them need next."""
        results: dict[int, Checked] = {}
        replies: dict[int, Any] = dict.fromkeys(range(len(checks)))
        while replies:
            asked: dict[int, kv.Get] = {}
            for number, reply in replies.items():
                try:
                    read = checks[number].send(reply)
                    assert isinstance(read, kv.Get), "a check must read rows by their keys"
                    asked[number] = read
                except StopIteration as end:
                    results[number] = end.value
            keys = tuple(chain.from_iterable(read.keys for read in asked.values()))
            rows = iter(source.rows(self.snapshot, keys) if keys else [])
            replies = {each: list(islice(rows, len(read.keys))) for each, read in asked.items()}
        return [results[number] for number in range(len(checks))]

    def _count_problems(self) -> Iterator[str]:
        """Yield the spaces that have too many or too few rows."""
        for view in (self._table, *self._checked):
            if view is self._table:
                count = self._items
            else:
                count = sum(1 for _ in _rows(self.snapshot, view.space))
            expected = self._expected[view.space]
            if count != expected:
                yield f"{_name(view)}: {count} rows instead of {expected}"

    def counter_problems(self) -> Iterator[str]:
        names = {name for name in self._counters if isinstance(name, bytes)}
        for view in (self._table, *self._table.declared_indexes):
            if view in self._table.built_from_log:
                continue
            for number in (partition.number for partition in view.partitions):
                names |= {
                    system.item_count(view.space, number),
                    system.size_bytes(view.space, number),
                }
        for name in sorted(names):
            [stored] = source.counters(self.snapshot, name)
            if stored != self._counters[name]:
                shown = name.decode("latin-1")
                yield f"counter {shown} is {stored}, but should be {self._counters[name]}"

    def _collection_problems(self) -> Iterator[str]:
        space = self._table.collections
        if space is None:
            return
        counters = self._counters.items()
        expected = {name[1]: size for name, size in counters if isinstance(name, tuple)}
        stored = dict(_rows(self.snapshot, space))
        for partition in sorted(stored.keys() | expected.keys()):
            where, size = f"collection {partition.hex()}", expected.get(partition, 0)
            try:
                stored_size = system.decode_number(stored.get(partition))
            except DamagedRow as problem:
                yield f"{where}: {problem}"
                continue
            if stored_size != size:
                yield f"{where}: the size in bytes is {stored_size}, but should be {size}"


def _stored_size(table: Table, row: Row, key: bytes) -> int:
    return stored_size(table, row.item, key) if table.counts_vectors else row.size


def _name(view: Table | AnyIndex) -> str:
    match view:
        case Index() | VectorIndex():
            return f"index {view.name}"
        case TimeToLive():
            return "time to live"
        case _:
            return "items"
