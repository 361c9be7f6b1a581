"""Reads the log of a file that others write, and keeps it from restarting before it has been read.

SQLite restarts a log from its first frame when all of its frames are in the file and no reader
needs them. So a connection with an open read transaction, the *guard*, protects unread frames from
this program and from any other:

- A guard that was opened while some frames were not in the file keeps its log from restarting.
- A guard that was opened when all frames were in the file lets the log restart. But it keeps every
  checkpoint from moving frames of the next log, so the next log cannot restart.

A checkpoint of this module replaces the guard while it holds the write lock, after it has read all
frames. So no frame is lost: at most one log restarts between two checkpoints, and that log has been
read to its end.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from typing import NamedTuple

import apsw

from hashrange.kv import Busy, Damaged, Durability
from hashrange.storage.sqlite.format import connect
from hashrange.storage.sqlite.problems import explain, explain_write
from hashrange.storage.sqlite.write_queue import ARCHIVING, Wait, WriteQueue

LOG_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
FRAME = Struct(">2I 8s 8s")
"""The header of a frame: the page's number, the number of pages in the file after a commit or 0,
the salts, and the checksum."""

FRAMES_EVERY = 8_000
"""The number of frames (32 MB) after which another checkpoint is due."""

FRAMES_BYTES_MAX = 128 << 20
_READ_BYTES = 16 << 20
_KEPT_BYTES = 64 << 20
_SALTS = slice(16, 24)
_BUSY_SECONDS = 5.0
_LOOKS = 100


class Position(NamedTuple):
    """A place in a log: after frame `frame`, which has the checksum `sums`. `log` has the salts
    that identify the log."""

    log: bytes
    frame: int
    sums: bytes


class Frames(NamedTuple):
    """Whole transactions from a log: only the last frame of each page, in the order of the log.

    `end` is the position after the transactions. `frame_count` is the number of all their frames.
    `more` says whether the log had further transactions.
    """

    data: bytes
    end: Position
    frame_count: int = 0
    commits: int = 0
    more: bool = False


def commit_frames(data: bytes, frame_bytes: int) -> list[int]:
    """The numbers, from 0 on, of the frames in `data` that end a transaction. Only the headers of
    these frames have a size of the file that is not 0."""
    sizes = zip(*(data[byte::frame_bytes] for byte in range(4, 8)), strict=True)
    return [number for number, size in enumerate(sizes) if any(size)]


def last_images(data: bytes, frame_bytes: int) -> bytes:
    """The last frame of each page in `data`, in the order of the log."""
    pages = zip(*(data[byte::frame_bytes] for byte in range(4)), strict=True)
    frames = sorted({page: number for number, page in enumerate(pages)}.values())
    view = memoryview(data)
    return b"".join([view[number * frame_bytes : (number + 1) * frame_bytes] for number in frames])


class Gap(Exception):
    """Unread frames are lost, or belong to a transaction that is too large for the archive. The
    message is one line."""


class Tail:
    """The log of one file. Call `open` first, and again to continue after `close`.

    `elected` says whether this process reads the log: at most one process does. Only one thread may
    use the other methods at a time. They raise `Gap` and the errors of `hashrange.kv`.
    """

    def __init__(self, path: str, durability: Durability) -> None:
        self.path = os.path.abspath(path)
        self._durability = durability
        self._write_queue = WriteQueue(self.path)
        self._turns_open = False
        self._connections: list[apsw.Connection] = []
        self._guard: apsw.Connection | None = None
        self._may_begin_again = False
        self._checkpoint_at = FRAMES_EVERY
        self.position = Position(b"", 0, b"")
        self.in_file: Position | None = None
        """Everything up to this position is known to be in the file."""
        self.page_bytes = 0

    @property
    def is_open(self) -> bool:
        return bool(self._connections)

    def elected(self) -> bool:
        if not self._turns_open:
            self._write_queue.open()
            self._turns_open = True
        return self._write_queue.elected(ARCHIVING)

    def open(self, position: Position | None) -> None:
        """Continue after `position`. None: begin where all earlier changes are in the file.

        Raises `Gap` if the log has lost frames after `position`.
        """
        with self._explained():
            self._connections = [self._connect(), self._connect()]
            self.page_bytes = self._looking.pragma("page_size")
            with self._write_lock():
                self._guard = self._new_guard()
                log, (end, moved) = self._log(), self._state()
                if position is None:
                    frame = end if moved == end else 0
                    self.position = Position(log, frame, self._sums(frame))
                elif not self._goes_on(position, log, end, moved):
                    raise Gap("the log does not continue where the archive ends")
                else:
                    self.position = position
                self._may_begin_again = self.position.frame == end
                self._checkpoint_at = FRAMES_EVERY

    def close(self) -> None:
        """Close all connections, and let another process be elected. `open` can continue later."""
        self._release()
        self._write_queue.close()
        self._turns_open = False

    def pause(self) -> None:
        """Close all connections, but stay elected."""
        self._release()

    def forget(self) -> None:
        """In a forked child: leave the locks of the queue to the parent process."""
        self._write_queue.forget()
        self._turns_open = False

    def log_bytes(self) -> int:
        """The size of the log's file."""
        try:
            return os.path.getsize(f"{self.path}-wal")
        except FileNotFoundError:
            return 0

    def read(self) -> Frames | None:
        """Some transactions that were committed after `position`; None if there are none."""
        with self._explained():
            return self._read()

    def nothing(self) -> Frames:
        """A result without frames, at the present position."""
        return Frames(b"", self.position)

    def checkpoint_is_due(self) -> bool:
        return self.position.frame >= self._checkpoint_at

    def checkpoint(self) -> Frames | None:
        """Move pages into the file, and let the log restart.

        Everything that was read before must be stored safely elsewhere. Returns the frames that had
        to be read before the log could restart. Raises `ReadOnly` after an I/O error.
        """
        try:
            new, old = self._new_guard(), self._guard
            self._guard = new
            _close(old)
            self._move()  # moves most pages while others write
            with self._write_lock():
                frames = self._read()
                if self.position.frame == self._state()[0]:
                    self._begin_again()
        except apsw.BusyError as error:
            raise explain(error, self.path) from error
        except apsw.Error as error:
            raise explain_write(error, self.path, self._looking.system_errno) from error
        finally:
            self._checkpoint_at = self.position.frame + FRAMES_EVERY
        return frames

    def skip(self) -> None:
        """Move `position` to the end of the log, as if `read` had returned everything."""
        with self._explained(), self._write_lock():
            end, _ = self._state()
            log = self._log()
            if log != self.position.log:
                self._checkpoint_at = FRAMES_EVERY
            self.position = Position(log, end, self._sums(end))

    def file_bytes(self) -> int:
        return os.path.getsize(self.path)

    def file_piece(self, first: int, size: int) -> bytes:
        """`size` bytes of the file from offset `first` on, without changes that are only in the
        log.

        SQLite reads the bytes: if this process opened and closed the file, SQLite would lose its
        locks.
        """
        with self._explained():
            _, piece = self._looking.read("main", 0, first, size)
            return bytes(piece)

    # ---- within ----

    def _begin_again(self) -> None:
        """Let the log restart. The caller has read all of it, and holds the write lock."""
        _close(self._guard)
        self._guard = None
        try:
            self._move()
        finally:
            self._guard = self._new_guard()
        self._may_begin_again = True
        end, moved = self._state()
        if moved == end:
            self.in_file = self.position

    @property
    def _looking(self) -> apsw.Connection:
        return self._connections[0]

    @property
    def _frame_bytes(self) -> int:
        return FRAME_HEADER_BYTES + self.page_bytes

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path, self._durability, _BUSY_SECONDS)
        # The log is kept, even if this is the last connection.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        connection.pragma("user_version")  # any read makes SQLite open the log
        return connection

    def _new_guard(self) -> apsw.Connection:
        guard = self._connect()
        guard.execute("BEGIN")
        guard.pragma("user_version")
        return guard

    def _release(self) -> None:
        _close(self._guard)
        self._guard = None
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()

    def _read(self) -> Frames | None:
        log, end = self._stable_end()
        position = self.position
        if log != position.log:
            if not self._may_begin_again:
                raise Gap("another program has restarted the log")
            position = Position(log, 0, b"")
            self._checkpoint_at = FRAMES_EVERY
        elif end < position.frame:
            if not self._may_begin_again:
                raise Gap("the log has lost commits")
            return None  # it is just being restarted
        if end == position.frame:
            return None
        frames = self._frames(Position(log, position.frame, b""), end)
        self._may_begin_again = False
        self.position = frames.end
        return frames

    def _frames(self, position: Position, end: int) -> Frames:
        """The frames after `position`, up to about 64 MB."""
        data, last, commits = b"", position.frame, 0
        while last < end and len(data) < _KEPT_BYTES:
            read = self._transactions(last, end)
            last += len(read) // self._frame_bytes
            commits += len(commit_frames(read, self._frame_bytes))
            data = last_images(data + last_images(read, self._frame_bytes), self._frame_bytes)
        *_, salts, sums = FRAME.unpack_from(data, len(data) - self._frame_bytes)
        if salts != position.log:
            raise Damaged(f"{self.path}-wal: frame {last} is damaged; see hashrange check")
        at = Position(position.log, last, sums)
        return Frames(data, at, last - position.frame, commits, more=last < end)

    def _transactions(self, after: int, end: int) -> bytes:
        """Whole transactions after frame `after`: as many as fit into 16 MB, or one larger one."""
        size = _READ_BYTES // self._frame_bytes
        while after + size < end:
            data = self._raw(after, after + size)
            whole = commit_frames(data, self._frame_bytes)
            if whole:
                return data[: (whole[-1] + 1) * self._frame_bytes]
            size *= 2
            if size * self._frame_bytes > FRAMES_BYTES_MAX:
                raise Gap("a transaction is too large to be archived")
        return self._raw(after, end)

    def _stable_end(self) -> tuple[bytes, int]:
        """The salts of the log and the number of its frames, as of one moment."""
        for _ in range(_LOOKS):
            log = self._log()
            end, _ = self._state()
            if self._log() == log:
                return log, end
        raise Busy(f"{self.path}: the log restarted during each attempt to read it; try again")

    def _state(self) -> tuple[int, int]:
        """The number of frames in the log, and how many of them have been moved into the file."""
        end, moved = self._looking.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        return max(end, 0), max(moved, 0)

    def _move(self) -> None:
        with suppress(apsw.BusyError):  # another program runs a checkpoint
            self._looking.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _log(self) -> bytes:
        """The salts in the header of the log; empty if there is none."""
        try:
            with open(f"{self.path}-wal", "rb") as file:
                return file.read(LOG_HEADER_BYTES)[_SALTS]
        except FileNotFoundError:
            return b""

    def _raw(self, after: int, end: int) -> bytes:
        size = (end - after) * self._frame_bytes
        with open(f"{self.path}-wal", "rb") as file:
            file.seek(LOG_HEADER_BYTES + after * self._frame_bytes)
            data = file.read(size)
        if len(data) < size:
            raise Damaged(f"{self.path}-wal: it ends before frame {end}; see hashrange check")
        return data

    def _sums(self, frame: int) -> bytes:
        if not frame:
            return b""
        sums: bytes = FRAME.unpack_from(self._raw(frame - 1, frame))[3]
        return sums

    def _goes_on(self, position: Position, log: bytes, end: int, moved: int) -> bool:
        """Whether nothing after `position` has been lost, and everything can still be read.

        The log has `end` frames. The first `moved` of them are in the file. If all are, any writer
        may restart the log.
        """
        if not log or position.log != log or position.frame > end:
            return False
        if end > position.frame and moved == end:
            return False
        return self._sums(position.frame) == position.sums

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Hold the write lock, so that nobody can commit. Writers of all processes wait for their
        turn."""
        locking = self._connections[1]
        locking.pragma("busy_timeout", 0)
        wait = Wait(_BUSY_SECONDS, time.monotonic)
        self.elected()  # opens the queue
        with self._write_queue.turn(wait):
            while not _begun(locking):
                if wait.is_over():
                    raise Busy(f"{self.path}: another process is writing; try again later")
                wait.pause()
            try:
                yield
            finally:
                locking.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise explain(error, self.path) from error


def _begun(connection: apsw.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        return False
    return True


def _close(connection: apsw.Connection | None) -> None:
    if connection is not None:
        connection.close()
