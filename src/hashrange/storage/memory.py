"""The store in memory: a dict and sorted keys for each space, one writer, and an undo log.

The open transaction changes rows in place and notes their old values in `_undo`. So a snapshot
looks for a row in three places: its own copies of old values, the undo log, and the current rows.
When a transaction commits, every open snapshot copies the undo log.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from operator import itemgetter

from hashrange import forks
from hashrange.kv import (
    SYSTEM_SPACE,
    Add,
    Answer,
    Append,
    Busy,
    Counters,
    CreateSpace,
    Delete,
    Dropped,
    DropSpace,
    Get,
    Head,
    Key,
    Max,
    Purge,
    Put,
    Range,
    Read,
    StoreError,
    Write,
)
from hashrange.paging import cut, page_of, small
from hashrange.storage.memory_rows import Rows, Spaces, State, rows_of

Undo = dict[int, dict[bytes, bytes | None]]
"""Maps the space and the key of each row that the open transaction has changed to the row's earlier
value; None if the row was absent."""


class MemoryStore(forks.Forkable):
    """A store whose rows are lost when the process ends."""

    slow_commits = False
    busy_seconds = 30.0
    """The longest time that `begin` waits for another thread's transaction."""

    def __init__(self) -> None:
        self._spaces = Spaces({SYSTEM_SPACE: Rows()}, {})
        self._counters: dict[bytes, int] = {}
        self._sequence = 0
        self._undo: Undo = {}
        self._snapshots: set[MemorySnapshot] = set()
        self._lock = threading.Lock()  # held for one step
        self._writing = threading.Lock()  # held for one transaction
        self._stopped = False
        forks.watch(self)

    def snapshot(self, brief: bool = False, /) -> "MemorySnapshot":
        with self._lock:
            snapshot = MemorySnapshot(self)
            self._snapshots.add(snapshot)
        return snapshot

    def glance(self, one: Key, other: Key, /) -> tuple[bytes | None, bytes | None]:
        with self._lock:
            if not self._undo:
                live = self._spaces.live
                try:
                    return live[one[0]].values.get(one[1]), live[other[0]].values.get(other[1])
                except KeyError:
                    pass  # one of the spaces is absent
            return self._committed(one), self._committed(other)

    def _committed(self, key: Key) -> bytes | None:
        space, name = key
        rows = self._spaces.live.get(space)
        if rows is None:
            return None
        value = rows.values.get(name)
        if self._undo and space in self._undo:
            return self._undo[space].get(name, value)
        return value

    def begin(self, wait: bool = True, /) -> "MemoryTransaction":
        if not self._writing.acquire(wait, self.busy_seconds if wait else -1):
            raise Busy("another thread is writing")
        return MemoryTransaction(self)

    def state(self) -> State:
        """The committed state. Waits until the open transaction has ended."""
        transaction = self.begin()
        try:
            return self._state()
        finally:
            transaction.rollback()

    def go_on_from(self, following: Callable[[State], State], /) -> None:
        """Wait until the open transaction has ended, then replace the state with
        `following(state)`.

        Open snapshots still see the old state. The numbers that `Append` gives to rows continue;
        they do not start again.
        """
        transaction = self.begin()
        try:
            spaces, counters = following(self._state())
            with self._lock:
                self._leave_to_snapshots()
                self._spaces = Spaces({space: rows_of(spaces[space]) for space in spaces}, {})
                self._counters = dict(counters)
        finally:
            transaction.rollback()

    def _state(self) -> State:
        spaces = {space: dict(rows.values) for space, rows in self._spaces.live.items()}
        return State(spaces, dict(self._counters))

    def _leave_to_snapshots(self) -> None:
        """Move the current rows to a separate store, from which the open snapshots then read."""
        before = MemoryStore()
        before._spaces, before._counters = self._spaces, self._counters
        before._snapshots, self._snapshots = self._snapshots, set()
        for snapshot in before._snapshots:
            snapshot._store = before

    def backup(self, path: str, /, compact: bool = False) -> None:
        raise StoreError("a database in memory has no file to copy")

    def verify(self) -> Iterator[str]:
        """Yield nothing: there is no disk that could damage a value."""
        return iter(())

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        return iter(())

    def elected(self) -> bool:
        return True

    def figures(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        """Does nothing: there is no file to close."""

    def before_fork(self) -> None:
        """Take the locks before a fork. In the child, a lock that another thread held would never
        be released: this thread does not exist there."""
        self._stopped = self._writing.acquire(timeout=forks.wait_seconds())
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()
        if self._stopped:
            self._writing.release()

    after_fork_in_child = after_fork_in_parent


class MemorySnapshot:
    __slots__ = ("_counters", "_kept", "_spaces", "_store")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._spaces = store._spaces
        self._kept: dict[int, Rows[bytes | None]] = {}
        self._counters: dict[bytes, int] = {}

    def read(self, read: Read, /) -> Answer:
        with self._store._lock:
            match read:
                case Get():
                    values = [self._value(space, key) for space, key in read.keys]
                    if read.bytes_max is not None:
                        return small(values, read.bytes_max)
                    return values if read.weight_max is None else cut(values, read.weight_max)
                case Range():
                    self._keep(self._store._undo, {})
                    return page_of(self._items(read), read)
                case Counters():
                    now = self._store._counters
                    return [self._counters.get(n, now.get(n, 0)) for n in read.names]
                case Head():
                    number = self._store._counters.get(read.name, 0)
                    return self._value(*read.key), self._counters.get(read.name, number)
                case Dropped():
                    return list(self._spaces.dropped)

    def close(self) -> None:
        with self._store._lock:
            self._store._snapshots.discard(self)

    def _value(self, space: int, key: bytes) -> bytes | None:
        rows = self._spaces.live.get(space)
        if rows is None:
            return None
        if (kept := self._kept.get(space)) and key in kept.values:
            return kept.values[key]
        value = rows.values.get(key)
        if (undo := self._store._undo.get(space)) is not None:
            return undo.get(key, value)
        return value

    def _items(self, read: Range) -> Iterator[tuple[bytes, bytes]]:
        rows = self._spaces.live.get(read.space)
        if rows is None:
            return iter(())
        now = rows.items(read.start, read.end, read.reverse)
        kept = self._kept.get(read.space)
        return now if kept is None else _overlay(now, kept, read)

    def _keep(self, undo: Undo, counters: dict[bytes, int]) -> None:
        """Copy the values that a transaction has replaced. Older copies of the same rows stay."""
        for space, changes in undo.items():
            kept = self._kept.setdefault(space, Rows())
            for key, value in changes.items():
                if key not in kept.values:
                    kept.put(key, value)
        for name, number in counters.items():
            self._counters.setdefault(name, number)


def _overlay(
    now: Iterator[tuple[bytes, bytes]], kept: Rows[bytes | None], read: Range
) -> Iterator[tuple[bytes, bytes]]:
    unchanged = (row for row in now if row[0] not in kept.values)
    before = kept.items(read.start, read.end, read.reverse)
    both = merge(unchanged, before, key=itemgetter(0), reverse=read.reverse)
    return ((key, value) for key, value in both if value is not None)


class MemoryTransaction:
    __slots__ = ("_added", "_raised", "_spaces", "_store")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._spaces = store._spaces
        self._added: dict[bytes, int] = {}
        self._raised: dict[bytes, int] = {}

    def read(self, read: Read, /) -> Answer:
        live = self._spaces.live
        with self._store._lock:
            match read:
                case Get():
                    return [
                        rows.values.get(key) if (rows := live.get(space)) else None
                        for space, key in read.keys
                    ]
                case Range():
                    rows = live.get(read.space)
                    stored = rows.items(read.start, read.end, read.reverse) if rows else ()
                    return page_of(stored, read)
                case Counters():
                    return [self._counter(name) for name in read.names]
                case Head():
                    space, key = read.key
                    value = rows.values.get(key) if (rows := live.get(space)) else None
                    return value, self._counter(read.name)
                case Dropped():
                    return list(self._spaces.dropped)

    def write(self, writes: Sequence[Write], /) -> None:
        with self._store._lock:
            for write in writes:
                self._write(write)

    def commit(self) -> None:
        store = self._store
        with store._lock:
            stored, raised = store._counters, self._raised
            added = {
                name: raised.get(name, stored.get(name, 0)) + delta
                for name, delta in self._added.items()
            }
            counters = raised | added
            if store._snapshots:
                before = {name: store._counters.get(name, 0) for name in counters}
                for snapshot in store._snapshots:
                    snapshot._keep(store._undo, before)
            store._counters.update(counters)
            store._spaces = self._spaces
            store._undo = {}
        store._writing.release()

    def rollback(self) -> None:
        store = self._store
        with store._lock:
            for space, changes in store._undo.items():
                rows = store._spaces.live.get(space) or store._spaces.dropped.get(space)
                if rows is not None:  # otherwise this transaction has created the space
                    _restore(rows, changes)
            store._undo = {}
        store._writing.release()

    def _write(self, write: Write) -> None:
        match write:
            case Put():
                self._put(write.space, write.key, write.value)
            case Delete():
                self._delete(self._spaces.live[write.space], write.space, write.key)
            case Add():
                self._added[write.name] = self._added.get(write.name, 0) + write.delta
            case Max():
                self._raised[write.name] = max(self._counter(write.name), write.value)
            case Append():
                self._store._sequence += 1
                number = self._store._sequence.to_bytes(8, "big")
                self._put(write.space, write.prefix + number, write.value)
            case CreateSpace():
                self._create(write.space)
            case DropSpace():
                self._drop(write.space)
            case Purge():
                self._purge(write.space, write.rows_max)

    def _counter(self, name: bytes) -> int:
        stored = self._store._counters.get(name, 0)
        return self._raised.get(name, stored) + self._added.get(name, 0)

    def _put(self, space: int, key: bytes, value: bytes) -> None:
        rows = self._spaces.live[space]
        self._store._undo.setdefault(space, {}).setdefault(key, rows.values.get(key))
        rows.put(key, value)

    def _delete(self, rows: Rows[bytes], space: int, key: bytes) -> None:
        value = rows.values.get(key)
        if value is not None:
            self._store._undo.setdefault(space, {}).setdefault(key, value)
            rows.remove(key)

    def _create(self, space: int) -> None:
        live, dropped = self._spaces
        assert space not in {**live, **dropped}, f"the space {space} must be new"
        self._spaces = Spaces({**live, space: Rows()}, dropped)

    def _drop(self, space: int) -> None:
        live, dropped = self._spaces
        self._spaces = Spaces(
            {other: rows for other, rows in live.items() if other != space},
            {**dropped, space: live[space]},
        )

    def _purge(self, space: int, rows_max: int) -> None:
        live, dropped = self._spaces
        rows = dropped.get(space)
        if rows is None:
            return  # another step has emptied the space
        for key, _ in page_of(
            rows.items(b"", None, False), Range(space, b"", None, False, rows_max)
        ).rows:
            self._delete(rows, space, key)
        if not rows.values:
            self._spaces = Spaces(live, {s: r for s, r in dropped.items() if s != space})


def _restore(rows: Rows[bytes], changes: dict[bytes, bytes | None]) -> None:
    for key, value in changes.items():
        if value is not None:
            rows.put(key, value)
        elif key in rows.values:
            rows.remove(key)
