"""A thread that looks for damage in the background, slowly, and stops all writes if it finds some.

A damaged page of a file rarely causes an error. More often a row is no longer found, and a read
answers as if the item did not exist. Only comparisons reveal such damage: of items with the entries
of their indexes, in both directions, and of the two trees that a store keeps of each space. Nothing
should be written to a damaged file, so the database becomes read-only when damage is found.

The work is done in parts of a few milliseconds. Each part has its own snapshot, so that it does not
delay checkpoints. The thread pauses between parts, so that it uses a small share of one core.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from logging import getLogger
from threading import Event, Lock, Thread
from time import monotonic, perf_counter
from typing import Protocol

from hashrange import forks, kv
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.rows import DamagedRow
from hashrange.model.tables import AnyIndex, Table
from hashrange.runtime import source
from hashrange.upkeep.integrity import TableCheck

SHARE = 0.02
"""The largest share of one core that the thread uses."""

PART_SECONDS = 0.002
PASS_SECONDS_MIN = 60.0
"""The shortest interval between the beginnings of two passes over everything."""

ELECTION_SECONDS = 2.0
"""The interval at which a process checks whether the store has elected it to do the search."""

_ROWS = 50
_BYTES = 256 * 1024

_log = getLogger("hashrange")


class RefusesWrites(Protocol):
    def refuse_writes(self, reason: str, /) -> None: ...


class Scrubber(forks.Forkable):
    """Searches a store for damage in a thread.

    Call `start` once. `close` returns when the current part is done.
    """

    def __init__(self, store: kv.Store, runtime: RefusesWrites) -> None:
        self._store = store
        self._runtime = runtime
        self._thread: Thread | None = None
        self._lock = Lock()
        self._closing = Event()
        self._problem = ""
        self._tell: Callable[[str], None] = lambda reason: None
        self.passes = 0
        """The number of complete passes."""
        forks.watch(self)

    def start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = Thread(target=self._loop, name="hashrange-scrubber", daemon=True)
                self._thread.start()

    def on_damage(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with one line about the damage when damage is found.

        The call may come from any thread. If damage has already been found, `tell` is called now.
        """
        with self._lock:
            self._tell = tell
            problem = self._problem
        if problem:
            tell(problem)

    def close(self) -> None:
        self._closing.set()
        if self._thread:
            self._thread.join()

    def after_fork_in_child(self) -> None:
        """Forget the thread: the parent continues the search."""
        self._lock = Lock()
        self._closing = Event()
        self._thread = None

    def at_exit(self) -> None:
        self._closing.set()
        if self._thread:
            self._thread.join(forks.wait_seconds())

    def _loop(self) -> None:
        while not self._closing.is_set():
            begun = monotonic()
            if not self._store.elected():
                self._closing.wait(ELECTION_SECONDS)
                continue
            try:
                problem = self._pass()
            except (kv.Damaged, DamagedRow) as error:
                problem = str(error)
            except kv.StoreError as error:
                _log.warning("the search for damage was interrupted: %s", error)
                problem = ""
            else:
                self.passes += 1
            if problem:
                self._report(problem)
                return
            self._closing.wait(PASS_SECONDS_MIN - (monotonic() - begun))

    def _pass(self) -> str:
        """Search everything once. Returns the first problem, or an empty text."""
        parts = scrub(self._store, PART_SECONDS)
        while not self._closing.is_set():
            begun = perf_counter()
            problems = next(parts, None)
            if problems is None:
                break
            if problems:
                return problems[0]
            self._closing.wait((perf_counter() - begun) / SHARE)
        return ""

    def _report(self, problem: str) -> None:
        reason = (
            f"damage was found: {problem}; the database is now read-only: run `hashrange check`, "
            "and restore a backup"
        )
        self._runtime.refuse_writes(reason)
        _log.critical("%s", reason)
        with self._lock:
            self._problem, tell = reason, self._tell
        tell(reason)


def scrub(store: kv.Store, seconds: float) -> Iterator[list[str]]:
    """Search for damage in parts of about this many seconds. Yields the problems of each part."""
    return chain(store.scrub(seconds), _table_parts(store, seconds))


def _table_parts(store: kv.Store, seconds: float) -> Iterator[list[str]]:
    for name in _table_names(store):
        yield from _Walk(store, name, seconds).parts()


def _table_names(store: kv.Store) -> list[str]:
    snapshot = store.snapshot()
    try:
        tables = kv.Range(kv.SYSTEM_SPACE, system.TABLES, system.AFTER_TABLES)
        return [system.decode(row, Table).name for _, row in source.page(snapshot, tables).rows]
    finally:
        snapshot.close()


class _Walk:
    """Search one table and its indexes, until the end or until the table's definition changes."""

    def __init__(self, store: kv.Store, name: str, seconds: float) -> None:
        self._store = store
        self._name = name
        self._seconds = seconds
        self._table: Table | None = None

    def parts(self) -> Iterator[list[str]]:
        self._table = self._current_table()
        if self._table is None:
            return
        for index in (None, *self._table.maintained):
            start: bytes | None = b""
            while start is not None:
                problems: list[str] = []
                start = self._part(index, start, problems)
                yield [f"table {self._name}, {problem}" for problem in problems]

    def _part(self, index: AnyIndex | None, start: bytes, problems: list[str]) -> bytes | None:
        """Search a part of the index, or of the table if `index` is None, from the key `start` on.

        Adds the problems to `problems`. Returns the key at which the next part begins; None at the
        end.
        """
        end = perf_counter() + self._seconds
        snapshot = self._store.snapshot()
        try:
            table = _read_table(snapshot, self._name)
            if table is None or table != self._table:
                return None  # its definition has changed: the next pass searches it
            check = TableCheck(snapshot, table)
            space = table.space if index is None else index.space
            page = source.page(
                snapshot, kv.Range(space, start, None, rows_max=_ROWS, weight_max=_BYTES)
            )
            for key, value in page.rows:
                if index is None:
                    problems += check.item_problems([(key, value)])
                else:
                    problems += check.entry_problems(index, key, value)
                start = key + b"\x00"
                if perf_counter() > end:
                    return start
            return None if page.exhausted else start
        finally:
            snapshot.close()

    def _current_table(self) -> Table | None:
        snapshot = self._store.snapshot()
        try:
            return _read_table(snapshot, self._name)
        finally:
            snapshot.close()


def _read_table(snapshot: kv.Snapshot, name: str) -> Table | None:
    value = source.row(snapshot, kv.SYSTEM_SPACE, system.table_row(name))
    return None if value is None else system.decode(value, Table)
