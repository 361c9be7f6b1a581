"""The store in a file. It decides which thread may use which connection, and when."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import apsw

from hashrange import forks
from hashrange.kv import (
    Busy,
    Damaged,
    Durability,
    Key,
    OutcomeUnknown,
    ReadOnly,
    StoreError,
    check_durability,
)
from hashrange.storage.sqlite import log, maintenance
from hashrange.storage.sqlite.checkpoint import Checkpointer
from hashrange.storage.sqlite.format import (
    check_folder,
    connect,
    create_file,
    prepare,
)
from hashrange.storage.sqlite.problems import explain, explain_commit, explain_write
from hashrange.storage.sqlite.readers import Readers
from hashrange.storage.sqlite.reads import glance
from hashrange.storage.sqlite.scrub import scrub
from hashrange.storage.sqlite.snapshot import SqliteSnapshot
from hashrange.storage.sqlite.transaction import SqliteTransaction
from hashrange.storage.sqlite.write_queue import Wait, WriteQueue

_log = logging.getLogger("hashrange")

_inherited: dict[str, tuple[str, apsw.Connection | None]] = {}
"""The files that this process cannot use, because it was forked while they were in use. Maps the
path of each file to the reason, and to a connection that must stay open: closing it would wait for
threads of the parent."""


class SqliteStore(forks.Forkable):
    """A store in one file, which is created if it does not exist.

    `durability` says what an acknowledged commit survives: a power cut ("full"), or only the end of
    the process. In the latter case a power cut may undo the last commits ("relaxed") or damage the
    file ("memory"). `busy_seconds` limits every wait for another process.

    If the file is `archived`, closing it keeps the log, and a `Tail` moves pages into the file
    after they have been shipped. `timer` measures the waits. Its default is the system's clock,
    even while a test replaces `time.monotonic`. Raises the errors of `hashrange.kv`.
    """

    def __init__(
        self,
        path: str,
        *,
        durability: Durability = "full",
        busy_seconds: float = 30.0,
        archived: bool = False,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        check_durability(durability)
        self.path = os.path.abspath(path)
        self.slow_commits = durability == "full"
        self._durability = durability
        self._busy_seconds = busy_seconds
        self._archived = archived
        self._readers = Readers(self._open, self.path, busy_seconds)
        self._timer = timer
        self._writing = threading.Lock()  # held for one transaction
        self._using = threading.Lock()  # held while the write connection is used
        self._write_queue = WriteQueue(self.path)
        self._checkpointer = Checkpointer(self._connect, self._explain_checkpoint, self.path)
        self._commits = 0
        self._broken = ""
        self._closed = False
        self._stopped = False
        self._abandoned = ""
        check_folder(self.path)
        if self.path in _inherited:
            raise StoreError(_inherited[self.path][0])
        self._writer: apsw.Connection | None = self._open_writer()
        forks.watch(self)

    def snapshot(self, brief: bool = False, /) -> SqliteSnapshot:
        if brief and self._using.acquire(blocking=False):
            snapshot = self._snapshot_of_writer()
            if snapshot:
                return snapshot
        connection = self._readers.take()
        try:
            return SqliteSnapshot(self.path, connection, self._give_reader)
        except BaseException as error:
            self._give_reader(connection, False)
            if not isinstance(error, apsw.Error):
                raise
            raise explain(error, self.path) from error

    def glance(self, one: Key, other: Key, /) -> tuple[bytes | None, bytes | None]:
        # A commit invalidates the page cache of every other connection. So while other threads
        # write, the write connection, if it is free, answers two to three times faster than a
        # reader. Brief snapshots use it for the same reason.
        if self._using.acquire(blocking=False):
            try:
                if self._writer is not None:
                    return glance(self._writer, one, other)
            except apsw.BusyError:
                pass  # this connection never waits for a lock, but a reader does
            except apsw.Error as error:
                raise explain(error, self.path) from error
            finally:
                self._using.release()
        connection = self._readers.take()
        try:
            return glance(connection, one, other)
        except apsw.Error as error:
            raise explain(error, self.path) from error
        finally:
            self._give_reader(connection, sound=True)

    def begin(self, wait: bool = True, /) -> SqliteTransaction:
        if self._checkpointer.hold_up(self._busy_seconds if wait else 0):
            raise Busy(f"{self.path}: writers wait for a checkpoint; try again when it is done")
        if not self._writing.acquire(wait, self._busy_seconds if wait else -1):
            raise Busy(f"{self.path}: another thread is writing; try again when it is done")
        self._using.acquire()
        try:
            connection = self._begin(wait)
        except BaseException:
            self._ended()
            raise
        return SqliteTransaction(connection, self._explain_write, self._ended)

    def close(self) -> None:
        """Wait until no transaction is open, then close the file. Closing twice is harmless."""
        if not self._writing.acquire(timeout=self._busy_seconds):
            raise Busy(f"{self.path}: a transaction is open; end it before closing")
        with self._using:
            self._closed = True
            self._disconnect(checkpoint=not self._archived)
        self._writing.release()

    def elected(self) -> bool:
        """See `kv.Store`."""
        return self._write_queue.elected()

    def backup(self, path: str, /, compact: bool = False) -> None:
        """See `kv.Store`. After an error there is no file at `path`."""
        with self._borrowed() as connection:
            maintenance.backup(connection, os.path.abspath(path), compact)

    def verify(self) -> Iterator[str]:
        """Check SQLite's own structures, and the checksum of each value."""
        with self._borrowed() as connection:
            yield from log.problems(connection, self.path)
            yield from maintenance.verify(connection)

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        """See `kv.Store`. Raises StoreError if the file cannot be read at all."""
        try:
            yield from scrub(self._read, self.path, seconds)
        except apsw.Error as error:
            raise explain(error, self.path) from error

    def figures(self) -> dict[str, int]:
        """See `kv.Store`. `wal_bytes` is the size of the log's file, including old frames."""
        figures = {
            "commits": self._commits,
            "checkpoint_failures": self._checkpointer.failures,
            **maintenance.sizes(self.path),
        }
        # A figure that cannot be read is left out.
        with suppress(apsw.Error, StoreError), self._read() as connection:
            figures |= maintenance.pages(connection)
        return figures

    # ---- connections ----

    def _connect(self) -> apsw.Connection:
        return connect(self.path, self._durability, self._busy_seconds)

    @contextmanager
    def _read(self) -> Iterator[apsw.Connection]:
        """Lend a connection for a short time. Afterwards it goes back to the pool."""
        connection = self._readers.take()
        sound = False
        try:
            yield connection
            sound = True
        finally:
            self._give_reader(connection, sound)

    @contextmanager
    def _borrowed(self) -> Iterator[apsw.Connection]:
        """Lend a connection for a long time. Afterwards it is closed."""
        connection = self._readers.take()
        try:
            yield connection
        finally:
            self._readers.give(connection, sound=False)

    def _open(self) -> apsw.Connection:
        if self._abandoned:
            raise StoreError(self._abandoned)
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed; open it again")
        try:
            return self._connect()
        except apsw.Error as error:
            raise explain(error, self.path) from error

    def _open_writer(self) -> apsw.Connection:
        create_file(self.path)
        connection = self._open()
        try:
            self._look_for_lost_commits(connection)
            prepare(connection, self.path)
            connection.pragma("busy_timeout", 0)  # `_begin` waits: it can be interrupted
        except BaseException as error:
            # Leave a refused file unchanged: closing would copy the log into it and remove the log.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
            connection.close()
            if isinstance(error, apsw.Error):
                raise explain(error, self.path) from error
            raise
        connection.set_wal_hook(self._committed)
        self._write_queue.open()
        return connection

    def _look_for_lost_commits(self, connection: apsw.Connection) -> None:
        """Raise `Damaged` if the log has commits that cannot be read. SQLite would drop these
        commits.

        If not every commit is synced, a power cut may have caused the damage. Then the commits are
        dropped for good instead, so that a later start with full durability does not report them.
        """
        damage = log.lost_commits(connection, self.path)
        if damage is None:
            return
        if self._durability == "full":
            raise Damaged(
                f"{self.path}-wal: {damage}; restore a backup, or open the file once in relaxed "
                "durability to go on without these commits (if the file was last written in "
                "relaxed durability, a power cut may be the cause)"
            )
        _log.warning("%s-wal: %s: the database goes on without these commits", self.path, damage)
        with suppress(apsw.BusyError):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _committed(self, _connection: apsw.Connection, _schema: str, pages: int) -> int:
        self._commits += 1
        if not self._archived:
            self._checkpointer.committed(pages)
        return apsw.SQLITE_OK

    def _give_reader(self, connection: apsw.Connection, sound: bool) -> None:
        self._readers.give(connection, sound and not self._closed)

    def _snapshot_of_writer(self) -> SqliteSnapshot | None:
        """A snapshot on the write connection; None if it would have to wait.

        The caller holds `_using`. This lock is released when the snapshot is closed, or at once if
        None is returned.
        """
        writer = self._writer
        if writer is None:
            self._using.release()
            return None
        try:
            return SqliteSnapshot(self.path, writer, self._give_writer)
        except BaseException as error:
            self._give_writer(writer, sound=not writer.in_transaction)
            if not isinstance(error, apsw.Error):
                raise
            return None  # a reader will wait, or raise the error

    def _give_writer(self, connection: apsw.Connection, sound: bool) -> None:
        try:
            if not sound:
                self._writer = None
                connection.close()
        finally:
            self._using.release()

    def _begin(self, wait: bool) -> apsw.Connection:
        if self._broken:
            raise ReadOnly(self._broken)
        if self._writer is None:
            self._writer = self._open_writer()
        if not (self._write_queue.must_wait(self._timer) or self._begun(self._writer)):
            return self._writer
        if not wait:
            raise Busy(f"{self.path}: another process is writing; try again when it is done")
        waiting = Wait(self._busy_seconds, self._timer)
        with self._write_queue.turn(waiting):
            while busy := self._begun(self._writer):
                if waiting.is_over():
                    raise explain(busy, self.path) from busy
                waiting.pause()
        return self._writer

    def _begun(self, writer: apsw.Connection) -> apsw.BusyError | None:
        """Begin a transaction. Returns the error if another process has the write lock."""
        try:
            writer.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            return error
        except apsw.Error as error:
            raise explain(error, self.path) from error
        return None

    def _ended(self) -> None:
        self._using.release()
        self._writing.release()

    def _explain_write(self, error: apsw.Error, committing: bool) -> StoreError:
        system_errno = self._writer.system_errno if self._writer else 0
        problem = (explain_commit if committing else explain_write)(error, self.path, system_errno)
        return self._noted(problem)

    def _explain_checkpoint(self, error: apsw.Error, system_errno: int) -> StoreError:
        # If a sync fails, the system may discard unwritten data, and the next sync succeeds without
        # it. So no other checkpoint follows.
        return self._noted(explain_write(error, self.path, system_errno))

    def _noted(self, problem: StoreError) -> StoreError:
        if isinstance(problem, ReadOnly | OutcomeUnknown):
            self._broken = str(problem)
        return problem

    def _disconnect(self, checkpoint: bool) -> None:
        """Close the idle connections. With `checkpoint`, this moves the log into the file."""
        self._checkpointer.wait()
        self._write_queue.close()
        writer, self._writer = self._writer, None
        idle = [] if writer is None else [writer]
        idle += self._readers.take_idle()
        if writer is not None and checkpoint:
            # SQLite ignores errors of the checkpoint that it runs itself when it closes the file.
            checkpoint = not self._broken and self._checkpointer.finish(writer)
        for connection in idle:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, not checkpoint)
            connection.close()

    # ---- forks, and the end of the process ----

    def before_fork(self) -> None:
        """Close all connections: a child would consider the locks of an inherited one its own."""
        self._stopped = self._stop()
        if self._stopped:
            self._disconnect(checkpoint=False)

    def after_fork_in_parent(self) -> None:
        self._readers.resume()
        if self._stopped:
            self._write_queue.open()
            self._ended()

    def after_fork_in_child(self) -> None:
        self._readers.after_fork_in_child()
        self._writing, self._using = threading.Lock(), threading.Lock()
        self._write_queue.forget()
        if not self._stopped:
            self._abandoned = (
                f"{self.path}: cannot be used in this process, because it was forked while the "
                "database was in use; end all reads, transactions and backups before a fork, or "
                "open the database in a process that is spawned"
            )
            _inherited[self.path] = self._abandoned, self._writer
            self._writer = None

    def at_exit(self) -> None:
        self._closed = True
        if self._stop():
            self._disconnect(checkpoint=not self._archived)
            self._ended()
        self._readers.resume()

    def _stop(self) -> bool:
        """Wait until no connection is in use, then keep all connections from being used.

        Returns whether this succeeded in time; if not, the locks are as before.
        """
        deadline = time.monotonic() + min(forks.wait_seconds(), self._busy_seconds)
        if not self._readers.stop(deadline - time.monotonic()):
            return False
        if not self._writing.acquire(timeout=max(0, deadline - time.monotonic())):
            return False
        if not self._using.acquire(timeout=max(0, deadline - time.monotonic())):
            self._writing.release()
            return False
        return True
