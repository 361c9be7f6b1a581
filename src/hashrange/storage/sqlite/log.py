"""Searches the write-ahead log for damage, which SQLite does not report.

    header   magic, format, page size, checkpoint, salt 1, salt 2 | checksum 1, checksum 2
    frame    page number, pages in the file after a commit or 0 |
             salt 1, salt 2 | checksum 1, checksum 2 | the page

All numbers have four bytes (https://sqlite.org/fileformat2.html#the_write_ahead_log). A checksum is
over the header or frame and all frames before it. When SQLite opens a log after a crash, it uses
the frames up to the first bad one and ignores the frames after it.

A bad frame in the last transaction may come from an interrupted write. An earlier bad frame is
damage, if each commit was synced before the next one began. So the frames after a bad frame
distinguish damage from a power cut. If they have the end of a transaction and then another whole
transaction, there were later commits.

Frames with other salts were written before the log was last restarted, and prove nothing. Nor do
the frames of one transaction that was rolled back, failed, or was interrupted by an earlier power
cut: at most its last frame is a commit frame.
"""

import os
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from struct import Struct, unpack
from time import sleep
from typing import BinaryIO, Literal, NamedTuple, Self

import apsw

from hashrange.storage.sqlite.problems import explain

_HEADER = Struct(">4I 8s 2I")
_FRAME = Struct(">2I 8s 2I")
_CHECKED_HEADER_BYTES = 24
_BIG_ENDIAN_MAGIC = 0x377F0683
_LITTLE_ENDIAN_MAGIC = 0x377F0682
_MASK = 0xFFFFFFFF
_LOOKS = 10
_BUSY_LOOKS = 500
_PAUSE_SECONDS = 0.002
_COPIED_BYTES_MAX = 64 << 20
"""The largest log that is copied before its checksums are computed. Computing them takes a hundred
times as long as reading the log, and meanwhile writers could restart a log that was not copied."""

Checksum = tuple[int, int]
Order = Literal["<", ">"]


class Frame(NamedTuple):
    """A frame of the log. `sums` is the stored checksum. `size` is the number of pages in the file
    if the frame ends a transaction, and otherwise 0."""

    number: int
    page: int
    size: int
    salts: bytes
    sums: Checksum
    data: bytes


class Log:
    """The file of a log, open for reading. Closing it does not release SQLite's locks.

    `sound` says whether the checksum of the header is right. `sums` are the possible starting
    values for the checksum of the first frame: the checksum that the header has, and the correct
    one. `copied` says whether the log was copied into memory when it was opened.
    """

    def __init__(self, path: str, page_size: int) -> None:
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115  `close` closes it
        self.copied = os.fstat(self._file.fileno()).st_size <= _COPIED_BYTES_MAX
        if self.copied:
            with self._file as file:
                self._file = BytesIO(file.read())
        self._frame_size = _FRAME.size + page_size
        header = self.header = self._file.read(_HEADER.size).ljust(_HEADER.size, b"\0")
        magic, _, size, _, self.salts, *stored = _HEADER.unpack(header)
        self.order: Order = ">" if sys.byteorder == "big" else "<"
        known = magic in (_BIG_ENDIAN_MAGIC, _LITTLE_ENDIAN_MAGIC) and size == page_size
        if known:
            self.order = ">" if magic == _BIG_ENDIAN_MAGIC else "<"
        computed = checksum(header[:_CHECKED_HEADER_BYTES], (0, 0), self.order)
        self.sums = [(stored[0], stored[1]), computed]
        self.sound = known and self.sums[0] == computed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def frames(self, first: int) -> Iterator[Frame]:
        """The frames from number `first` on, counted from 1, including old frames from before the
        log's last restart."""
        self._file.seek(_HEADER.size + (first - 1) * self._frame_size)
        while len(raw := self._file.read(self._frame_size)) == self._frame_size:
            page, size, salts, *sums = _FRAME.unpack_from(raw)
            yield Frame(first, page, size, salts, (sums[0], sums[1]), raw[_FRAME.size :])
            first += 1

    def sums_after(self, number: int) -> list[Checksum]:
        """The possible starting values for the checksum of the frame after frame `number`.

        For `number` 0 they are the two in `sums`, and otherwise only the checksum of frame
        `number`.
        """
        return [next(self.frames(number)).sums] if number else self.sums

    def follows(self, frame: Frame, before: list[Checksum]) -> bool:
        """Whether the checksum of a frame is right for one of the starting values `before`."""
        head = frame.page.to_bytes(4, "big") + frame.size.to_bytes(4, "big")
        return any(frame.sums == checksum(head + frame.data, sums, self.order) for sums in before)


def checksum(data: bytes, sums: Checksum, order: Order) -> Checksum:
    """SQLite's checksum of `data`, continued from `sums`, in the byte order `order`."""
    one, other = sums
    words = iter(unpack(f"{order}{len(data) // 4}I", data))
    for word in words:
        one = (one + word + other) & _MASK
        other = (other + next(words) + one) & _MASK
    return one, other


def lost_commits(connection: apsw.Connection, path: str) -> str | None:
    """Describe the damage if the log of the file at `path` has commits that cannot be read;
    otherwise return None."""
    log_path = f"{path}-wal"
    if not os.path.exists(log_path) or os.path.getsize(log_path) <= _HEADER.size:
        return None
    connection.pragma("user_version")  # any read makes SQLite look for the end of the log
    return _checked(connection, log_path, _lost)


def problems(connection: apsw.Connection, path: str) -> Iterator[str]:
    """Yield one line for each problem in the log of an open file, while it is in use."""
    log_path = f"{path}-wal"
    if os.path.exists(log_path):
        try:
            problem = _checked(connection, log_path, _damaged)
        except apsw.BusyError as error:
            raise explain(error, path) from None
        if problem:
            yield f"{log_path}: {problem}"


Look = Callable[["Log", int, apsw.Connection], str | None]


def _checked(connection: apsw.Connection, log_path: str, look: Look) -> str | None:
    """The problem that `look` finds in the log; None if it finds none.

    A frame that is just being written looks damaged. So if the end of the log has moved during the
    search, or the log has been restarted, a problem does not count, and `look` is called again.
    """
    for _ in range(_LOOKS):
        end = _end(connection)
        with Log(log_path, connection.pragma("page_size")) as log:
            still = not log.copied or _is_still(connection, log_path, log, end)
            problem = look(log, end, connection)
            if problem is None:
                return None
            if still and (log.copied or _is_still(connection, log_path, log, end)):
                return problem
        sleep(_PAUSE_SECONDS)
    return None


def _is_still(connection: apsw.Connection, log_path: str, log: Log, end: int) -> bool:
    """Whether nobody has written to the log since it was opened, when its end was frame `end`."""
    with open(log_path, "rb") as now:
        return now.read(_HEADER.size) == log.header and _end(connection) == end


def _lost(log: Log, end: int, connection: apsw.Connection) -> str | None:
    if log.sound:
        return _after_a_bad_frame(log, end)
    return None if end else _after_a_bad_header(log, connection)


def _damaged(log: Log, end: int, _: apsw.Connection) -> str | None:
    bad = _first_bad_frame(log, end)
    return bad or (_after_a_bad_frame(log, end) if log.sound else None)


def _end(connection: apsw.Connection) -> int:
    """The number of frames that SQLite considers valid.

    While another process changes the header of the log's index, SQLite is "busy". This call repeats
    its question for about a second, and then raises BusyError.
    """
    for left in reversed(range(_BUSY_LOOKS)):
        try:
            end, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            return max(end, 0)
        except apsw.BusyError:
            if not left:
                raise
        sleep(_PAUSE_SECONDS)
    raise AssertionError


def _first_bad_frame(log: Log, end: int) -> str | None:
    if end and not log.sound:
        return "the header is damaged"
    before = log.sums
    for frame in log.frames(1) if end else ():
        if frame.salts != log.salts or not log.follows(frame, before):
            return f"frame {frame.number} is damaged"
        if frame.number == end:
            return None
        before = [frame.sums]
    return f"it ends before frame {end}" if end else None


def _after_a_bad_frame(log: Log, end: int) -> str | None:
    """Describe the damage if commits after a bad frame cannot be read; otherwise return None.

    There are such commits if a bad frame after frame `end` is followed by the end of a transaction
    and then by another whole transaction.
    """
    bad = 0
    ended = False  # whether a transaction after the bad frame has ended before this frame
    before = log.sums_after(end)
    for frame in log.frames(end + 1):
        if frame.salts != log.salts or not log.follows(frame, before):
            bad = bad or frame.number
            ended = False
        elif bad and frame.size:
            if ended:
                return f"frame {bad} is damaged, and later commits cannot be read"
            ended = True
        before = [frame.sums]
    return None


def _after_a_bad_header(log: Log, connection: apsw.Connection) -> str | None:
    """Describe the damage if the commits after a bad header are not in the file; otherwise return
    None.

    A header is written only when all commits of the log are in the file, so a power cut does not
    leave such commits.
    """
    committed: dict[int, bytes] = {}
    pages: dict[int, bytes] = {}
    salts, before, size = b"", log.sums, 0
    for frame in log.frames(1):
        salts = salts or frame.salts
        if frame.salts != salts or not log.follows(frame, before):
            break
        pages[frame.page] = frame.data
        if frame.size:
            committed.update(pages)
            pages.clear()
            size = frame.size
        before = [frame.sums]
    for page, data in committed.items():
        if page <= size and not _is_in_file(connection, page, data):
            return "the header is damaged, and commits after it cannot be read"
    return None


def _is_in_file(connection: apsw.Connection, page: int, data: bytes) -> bool:
    """Whether the page in the file has the content `data`. SQLite must read the page: if this
    process opened and closed the file itself, SQLite would lose its locks."""
    _, stored = connection.read("main", 0, (page - 1) * len(data), len(data))
    return stored == data
