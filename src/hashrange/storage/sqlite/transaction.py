"""The write transaction. It passes most writes to SQLite at once, but appended rows and counters
only at the commit.
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from struct import Struct

import apsw

from hashrange.kv import (
    Add,
    Answer,
    Append,
    Counters,
    CreateSpace,
    Delete,
    DropSpace,
    Get,
    Head,
    Max,
    Purge,
    Put,
    Read,
    StoreError,
    Write,
)
from hashrange.storage.sqlite.format import SEQUENCE, create_space
from hashrange.storage.sqlite.problems import NO_TABLE, absent_space
from hashrange.storage.sqlite.reads import answer, counter, dropped, head, statements, values

_COUNT = (
    "INSERT INTO statistics VALUES (?1, max(?2, ?3)) "
    "ON CONFLICT (name) DO UPDATE SET number = max(number + ?2, ?3)"
)
"""Changes a counter, for `Add` and for `Max`. The parameters are the name, the number to add, and
the smallest result."""

_NO_FLOOR = -1 << 63
_number = Struct(">Q").pack

MANY_WRITES = 16
"""If a call has at least this many writes, the rows that are put into a space are written by one
statement, which runs with many sets of values."""
_OF_COMMIT = (Append, Add, Max)
"""The kinds of writes that are made at the commit."""


class SqliteTransaction:
    """A write transaction on the store's write connection.

    `explain(error, committing)` returns the store error for a failed write or a failed COMMIT.
    `ended` is called at the end, and lets the next writer begin.
    """

    __slots__ = (
        "_added",
        "_appended",
        "_connection",
        "_cursor",
        "_ended",
        "_explain",
        "_raised",
    )

    def __init__(
        self,
        connection: apsw.Connection,
        explain: Callable[[apsw.Error, bool], StoreError],
        ended: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._cursor = connection.cursor()  # a single cursor, so that no read is left unfinished
        self._explain = explain
        self._ended = ended
        self._added: dict[bytes, int] = {}
        self._raised: dict[bytes, int] = {}
        self._appended: dict[int, list[Append]] = {}
        """The rows to append, by space. They are written together, which takes two thirds of the
        time of single statements."""

    def read(self, read: Read, /) -> Answer:
        try:
            if type(read) is Get:
                return values(self._cursor, read.keys)
            if isinstance(read, Counters):
                return [self._counter(name) for name in read.names]
            if isinstance(read, Head):
                value, number = head(self._cursor, read)
                if self._added or self._raised:
                    number = self._with_pending(read.name, number)
                return value, number
            return answer(self._cursor, read)
        except apsw.Error as error:
            raise self._explain(error, False) from error

    def write(self, writes: Sequence[Write], /) -> None:
        try:
            if len(writes) >= MANY_WRITES:
                self._write_many(writes)
                return
            for write in writes:
                if type(write) is Put:  # the usual case
                    put = statements(write.space).put
                    self._cursor.execute(put, (write.key, write.value))
                else:
                    self._write(write)
        except apsw.Error as error:
            raise self._problem(error, False) from error

    def commit(self) -> None:
        committing = False
        try:
            if self._appended:
                self._append_all()
            if self._added or self._raised:
                added = zip(self._added, self._added.values(), repeat(_NO_FLOOR))
                raised = zip(self._raised, repeat(0), self._raised.values())
                self._cursor.executemany(_COUNT, (*added, *raised))
            committing = True
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            problem = self._problem(error, committing)
            self.rollback()
            raise problem from error
        except BaseException:
            self.rollback()
            raise
        self._ended()

    def rollback(self) -> None:
        """Roll back, unless SQLite has done so itself after an error."""
        try:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except apsw.Error as error:
            raise self._explain(error, False) from error
        finally:
            self._ended()

    def _problem(self, error: apsw.Error, committing: bool) -> Exception:
        if isinstance(error, NO_TABLE) and absent_space(error):
            return LookupError(f"a write to a space that does not exist: {error}")
        return self._explain(error, committing)

    def _write_many(self, writes: Sequence[Write]) -> None:
        puts: dict[int, list[tuple[bytes, bytes]]] = {}
        for write in writes:
            if type(write) is Put:
                puts.setdefault(write.space, []).append((write.key, write.value))
            else:
                if type(write) not in _OF_COMMIT:
                    self._put_many(puts)
                self._write(write)
        self._put_many(puts)

    def _append_all(self) -> None:
        """Put the appended rows. Each key ends with a number from a sequence, which the whole file
        shares."""
        last = counter(self._cursor, SEQUENCE)
        for space, appends in self._appended.items():
            numbered = enumerate(appends, last + 1)
            rows = [(each.prefix + _number(at), each.value) for at, each in numbered]
            self._cursor.executemany(statements(space).put, rows)
            last += len(appends)
        self._raised[SEQUENCE] = last

    def _put_many(self, rows: dict[int, list[tuple[bytes, bytes]]]) -> None:
        for space, some in rows.items():
            self._cursor.executemany(statements(space).put, some)
        rows.clear()

    def _write(self, write: Write) -> None:
        execute = self._cursor.execute
        match write:
            case Append():
                self._appended.setdefault(write.space, []).append(write)
            case Add():
                self._added[write.name] = self._added.get(write.name, 0) + write.delta
            case Max():
                self._raised[write.name] = max(self._raised.get(write.name, 0), write.value)
            case Delete():
                execute(statements(write.space).delete, (write.key,))
            case CreateSpace():
                create_space(self._connection, write.space)
            case DropSpace():
                self._appended.pop(write.space, None)
                execute(f"ALTER TABLE s{write.space:d} RENAME TO d{write.space:d}")
            case Purge():
                self._purge(write.space, write.rows_max)

    def _counter(self, name: bytes) -> int:
        return self._with_pending(name, counter(self._cursor, name))

    def _with_pending(self, name: bytes, stored: int) -> int:
        number = stored + self._added.get(name, 0)
        return max(number, self._raised.get(name, number))

    def _purge(self, space: int, rows_max: int) -> None:
        if space not in dropped(self._cursor):
            return  # another process has emptied it
        execute = self._cursor.execute
        some = f"SELECT rowid FROM d{space:d} LIMIT ?"
        execute(f"DELETE FROM d{space:d} WHERE rowid IN ({some})", (rows_max,))
        if execute(some, (1,)).get is None:
            execute(f"DROP TABLE d{space:d}")
