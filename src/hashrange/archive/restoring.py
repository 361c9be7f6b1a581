"""Builds a database file, as of a requested moment, from the objects of its archive."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple
from uuid import uuid4

import apsw

from hashrange.archive import format as f
from hashrange.archive.contents import Contents
from hashrange.archive.format import ArchiveError, Segment, Snapshot
from hashrange.kv import StoreError
from hashrange.objects import ObjectError, Objects
from hashrange.storage.sqlite import maintenance
from hashrange.storage.sqlite.format import check_folder
from hashrange.storage.sqlite.problems import explain
from hashrange.storage.sqlite.tail import FRAME, FRAME_HEADER_BYTES


class Restored(NamedTuple):
    """The result of a restore: the file has the commits up to the end of `segment`.

    If the archive may lack commits between this state and the requested moment, `gap` is the
    reason; otherwise it is empty.
    """

    segment: Segment
    gap: str = ""

    def __str__(self) -> str:
        at = self.segment
        told = (
            f"{f.written(at.time)} (generation {at.generation}, segment {at.number}, "
            f"commit {at.commits})"
        )
        return f"{told}; later commits are not in the archive: {self.gap}" if self.gap else told


def restore(objects: Objects, path: str, at: float | None = None) -> Restored:
    """Build the new file `path`, with the commits up to the time `at` that are in the archive.

    `at` is in epoch seconds; None for all archived commits. Raises `ArchiveError` and
    `ObjectError`, and `StoreError` if the file exists. After an error, there is no new file.
    """
    path = os.path.abspath(path)
    check_folder(path)
    for name in (path, f"{path}-wal"):
        if os.path.exists(name):
            raise StoreError(f"{name}: exists already; name a new file")
    with _announced(objects), maintenance.unfinished(path) as unfinished:
        try:
            restored = build(objects, unfinished, at)
            maintenance.check(unfinished, f"{path}: not restored")
            maintenance.give_name(unfinished, path)
            maintenance.sync_folder(path)
        except apsw.Error as error:
            raise explain(error, path) from error
        except OSError as error:
            raise StoreError(f"{path}: not restored: {error.strerror}") from error
    return restored


def build(objects: Objects, path: str, at: float | None = None) -> Restored:
    """Write the pages as of the time `at` to the existing file `path`, and sync the file."""
    contents = Contents(objects)
    generations = contents.generations()
    snapshot, until = _base(contents, generations, at)
    with open(path, "rb+") as file:
        for number in range(len(snapshot.parts)):
            file.seek(number * f.PART_BYTES)
            file.write(contents.part(snapshot, number))
        last = _apply(contents, snapshot, until, file)
        file.flush()
        os.fsync(file.fileno())
    later = [each for number, each in generations.items() if number > last.generation]
    begun = [each.reason for each in later if at is None or each.time <= at]
    return Restored(last, begun[0] if begun else "")


def _base(
    contents: Contents, generations: dict[int, f.Generation], at: float | None
) -> tuple[Snapshot, float]:
    """The copy of the file to begin with, and the time after which no segment is applied.

    If a segment was added to a generation after the next generation had begun, it is not part of
    the history. It is from a server that did not know yet that another server had replaced it.
    """
    if not generations:
        raise ArchiveError(f"{contents.objects.address}: there is no archive here")
    until = float("inf") if at is None else at
    usable = [
        snapshot
        for snapshot in contents.snapshots()
        if snapshot.time <= min(until, _ends(generations, snapshot.generation))
    ]
    if not usable:
        raise ArchiveError(_too_early(contents, at))
    snapshot = usable[-1]
    return snapshot, min(until, _ends(generations, snapshot.generation))


def _ends(generations: dict[int, f.Generation], number: int) -> float:
    later = [each.time for other, each in generations.items() if other > number]
    return min(later, default=float("inf"))


def _too_early(contents: Contents, at: float | None) -> str:
    snapshots = contents.snapshots()
    if at is None or not snapshots:
        return (
            f"{contents.objects.address}: the archive has no complete copy of the database file yet"
        )
    return (
        f"{contents.objects.address}: {f.written(at)} is too early; the first moment in the "
        f"archive is {f.written(min(each.time for each in snapshots))}"
    )


def _apply(contents: Contents, snapshot: Snapshot, until: float, file: BinaryIO) -> Segment:
    last: Segment | None = None
    pages = snapshot.size // snapshot.page_bytes
    for segment, frames, digest in contents.chain(snapshot.generation, snapshot.start):
        if segment.number > snapshot.through and segment.time > until:
            break
        if segment.number == snapshot.through and digest != snapshot.digest:
            name = f.segment_name(segment.generation, segment.number)
            raise ArchiveError(f"{name}: is damaged: it does not belong to the snapshot")
        if segment.page_bytes != snapshot.page_bytes:
            name = f.segment_name(segment.generation, segment.number)
            raise ArchiveError(f"{name}: is damaged: its page size is not that of the snapshot")
        pages = write_frames(segment, frames, file) or pages
        last = segment
    if last is None or last.number < snapshot.through:
        missing = snapshot.start if last is None else last.number + 1
        raise ArchiveError(f"{f.segment_name(snapshot.generation, missing)}: is missing")
    file.truncate(pages * snapshot.page_bytes)
    return last


def write_frames(segment: Segment, frames: bytes, file: BinaryIO) -> int:
    """Write the pages of a segment's transactions to their places in the file.

    Returns the number of pages that the database has afterwards; 0 if there are no frames.
    """
    name = f.segment_name(segment.generation, segment.number)
    salts = bytes.fromhex(segment.log)
    pages = 0
    for start in range(0, len(frames), FRAME_HEADER_BYTES + segment.page_bytes):
        page, pages, frame_salts, _ = FRAME.unpack_from(frames, start)
        if frame_salts != salts or page == 0:
            raise ArchiveError(f"{name}: is damaged: a frame belongs to another log")
        file.seek((page - 1) * segment.page_bytes)
        begin = start + FRAME_HEADER_BYTES
        file.write(frames[begin : begin + segment.page_bytes])
    if frames and not pages:
        raise ArchiveError(f"{name}: is damaged: it ends within a transaction")
    return pages


@contextmanager
def _announced(objects: Objects) -> Iterator[None]:
    """Prevent the deletion of objects from the archive while the block runs.

    If the process may not write to the archive, the block runs without this protection.
    """
    name = f"{f.RESTORES}{uuid4().hex}-{int(time.time())}"
    with suppress(ObjectError):
        objects.put(name, b"")
    try:
        yield
    finally:
        with suppress(ObjectError):
            objects.delete(name)
