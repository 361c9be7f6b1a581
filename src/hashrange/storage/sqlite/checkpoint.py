"""Moves committed pages from the write-ahead log into the file, in a background thread."""

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from time import monotonic

import apsw

from hashrange.kv import StoreError
from hashrange.storage.sqlite.write_queue import Wait, WriteQueue

_EVERY_PAGES = 4_000
_PAGES_MAX = 16_000
"""The number of pages in the log (64 MB) above which writers wait briefly until no reader needs the
log, so that it can restart. With twice as many pages, writers are faster than the disk, so they
also wait while any checkpoint runs."""

_HOLD_UP_MILLISECONDS = 200

_log = logging.getLogger("hashrange")


class Checkpointer:
    """Runs checkpoints, one at a time, each in a thread and on a connection of its own.

    `explain` takes an error of SQLite and the system's error number, and returns a store error.
    `failures` is the number of failed checkpoints since the last successful one.
    """

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        explain: Callable[[apsw.Error, int], StoreError],
        path: str,
    ) -> None:
        self._path = path
        self.failures = 0
        self._connect = connect
        self._explain = explain
        self._thread = threading.Thread()
        self._pages = 0
        self._pages_seen = 0
        self._pages_outlasted = 0
        self._restarting = False

    def committed(self, pages: int) -> None:
        """Call this after each commit, with the number of pages in the log."""
        self._pages = pages
        if pages < self._pages_seen:  # the log was restarted
            self._pages_seen = 0
            self._pages_outlasted = 0
        if pages - self._pages_seen >= _EVERY_PAGES and not self._thread.is_alive():
            self._pages_seen = pages
            self._thread = threading.Thread(target=self._checkpoint, args=(pages,), daemon=True)
            self._thread.start()

    def hold_up(self, seconds: float) -> bool:
        """If writers must wait for a checkpoint now, wait for at most `seconds`. Return whether the
        checkpoint still runs."""
        if self._restarting or self._pages >= 2 * _PAGES_MAX:
            self.wait(seconds)
            return self._thread.is_alive()
        return False

    def wait(self, seconds: float | None = None) -> None:
        """Return when no checkpoint runs, or after `seconds`."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def finish(self, connection: apsw.Connection) -> bool:
        """Copy the remaining pages before the file is closed. Return whether nothing failed."""
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:  # another process runs a checkpoint
            return True
        except apsw.Error as error:
            self._failed(error, connection.system_errno)
            return False
        return True

    def _checkpoint(self, pages: int) -> None:
        try:
            connection = self._connect()
        except apsw.Error as error:
            self._failed(error, 0)
            return
        with closing(connection):
            try:
                self._copy(connection, pages)
            except apsw.BusyError:  # another process runs a checkpoint
                pass
            except apsw.Error as error:
                self._failed(error, connection.system_errno)
            else:
                self._succeeded()

    def _failed(self, error: apsw.Error, system_errno: int) -> None:
        """Log the failure, if it is the first one since a success. The write-ahead log still has
        all commits."""
        problem = self._explain(error, system_errno)
        self.failures += 1
        if self.failures == 1:
            _log.error("a checkpoint failed: %s", problem)

    def _succeeded(self) -> None:
        if self.failures:
            _log.warning("checkpoints succeed again, after %d failures", self.failures)
            self.failures = 0

    def _copy(self, connection: apsw.Connection, pages: int) -> None:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if pages >= max(_PAGES_MAX, 2 * self._pages_outlasted):
            connection.pragma("busy_timeout", _HOLD_UP_MILLISECONDS)
            self._restart_log(connection, pages)

    def _restart_log(self, connection: apsw.Connection, pages: int) -> None:
        """Restart the log while writers wait.

        SQLite does not queue for the write lock, so without this wait the checkpoint would never
        get the lock. It takes part in the queue of processes, so that writers of other processes
        wait, too.

        If a reader outlasts the attempt, it is probably a backup. Then checkpoints do not try again
        until the log has twice as many `pages`, so that writers do not wait in vain again and
        again.
        """
        queue = WriteQueue(self._path)
        queue.open()
        self._restarting = True
        try:
            with queue.turn(Wait(_HOLD_UP_MILLISECONDS / 1000, monotonic)):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        except apsw.BusyError:
            self._pages_outlasted = pages
        finally:
            self._restarting = False
            queue.close()
