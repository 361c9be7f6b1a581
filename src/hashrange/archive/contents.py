"""Reads the objects of an archive."""

from collections.abc import Iterator
from typing import NamedTuple

from hashrange.archive import format as f
from hashrange.archive.format import ArchiveError, Generation, Segment, Snapshot
from hashrange.objects import NoSuchObject, Objects, ObjectTooLarge, get

_STORED_MAX = f.SEGMENT_BYTES_MAX + (1 << 20)


class Read(NamedTuple):
    """A segment that was read. `digest` is the SHA-256 of its object."""

    segment: Segment
    frames: bytes
    digest: str


class Span(NamedTuple):
    """The moments of one generation that can be restored.

    These are the moment of its first copy of the file, and the end of each later segment up to
    `last`.
    """

    number: int
    generation: Generation
    first: Snapshot | None
    last: Segment


class Contents:
    """Reads an archive. Its methods raise `ObjectError`, and `ArchiveError` for damage."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects

    def generations(self) -> dict[int, Generation]:
        """The generations by number, in ascending order."""
        return {
            f.number_in(each.name): self._manifest(each.name, Generation)
            for each in self.objects.list(f.GENERATIONS)
        }

    def last_generation(self) -> int:
        """The number of the last generation; 0 if there is none."""
        numbers = [f.number_in(each.name) for each in self.objects.list(f.GENERATIONS)]
        return numbers[-1] if numbers else 0

    def snapshots(self, generation: int | None = None) -> list[Snapshot]:
        """The snapshots, in the order of their generations and moments."""
        below = f.SNAPSHOTS if generation is None else f"{f.SNAPSHOTS}{generation:08}/"
        return [self._snapshot(each.name) for each in self.objects.list(below)]

    def segment(self, generation: int, number: int) -> Read | None:
        """The segment with this number; None if there is none.

        Its place in the chain is not checked.
        """
        name = f.segment_name(generation, number)
        try:
            body = self._get(name, _STORED_MAX)
        except NoSuchObject:
            return None
        segment, frames = f.unpack_segment(name, body)
        return Read(segment, frames, f.digest_of(body))

    def segment_sizes(self, generation: int, after: int = 0) -> list[tuple[int, int]]:
        """The (number, stored size in bytes) of each segment after the segment `after`."""
        name = f.segment_name(generation, after)
        below = f"{f.LOG}{generation:08}/"
        listed = self.objects.list(below, name)
        return [(f.number_in(each.name), each.size_bytes) for each in listed]

    def last_segment(self, generation: int) -> Read | None:
        snapshots = self.snapshots(generation)
        last = snapshots[-1].through if snapshots else 0
        numbers = [number for number, _ in self.segment_sizes(generation, last)]
        return self.segment(generation, numbers[-1] if numbers else last)

    def chain(self, generation: int, start: int) -> Iterator[Read]:
        """The segments from the number `start` on. Each is checked to follow the segment before it.

        Raises `ArchiveError` for damage, for example if a segment is missing before a later one.
        """
        before: Read | None = None
        number = start
        while read := self.segment(generation, number):
            if before is not None:
                _expect_next(before, read)
            yield read
            before = read
            number += 1
        if self.segment_sizes(generation, number):
            raise ArchiveError(f"{f.segment_name(generation, number)}: is missing")

    def part(self, snapshot: Snapshot, number: int) -> bytes:
        name = f.part_name(snapshot.generation, snapshot.id, number)
        size = min(f.PART_BYTES, snapshot.size - number * f.PART_BYTES)
        try:
            body = self._get(name, f.PART_BYTES + (1 << 20))
        except NoSuchObject:
            raise ArchiveError(f"{name}: is missing") from None
        return f.unpack(name, body, size, snapshot.parts[number])

    def spans(self) -> Iterator[Span]:
        for number, generation in self.generations().items():
            snapshots = self.snapshots(number)
            last = self.last_segment(number)
            if last is not None:
                yield Span(number, generation, snapshots[0] if snapshots else None, last.segment)

    def verify(self) -> int:
        """Read every object that a restore may need. Returns the number of objects.

        Raises `ArchiveError` for the first object that is damaged or missing.
        """
        count = 0
        snapshots = self.snapshots()
        for number in self.generations():
            sizes = self.segment_sizes(number)
            digests = {}
            for read in self.chain(number, sizes[0][0]) if sizes else ():
                digests[read.segment.number] = read.digest
            for snapshot in (each for each in snapshots if each.generation == number):
                if digests.get(snapshot.through) != snapshot.digest:
                    name = f.segment_name(number, snapshot.through)
                    raise ArchiveError(f"{name}: is missing, or does not belong to its snapshot")
                for part in range(len(snapshot.parts)):
                    self.part(snapshot, part)
                count += 1 + len(snapshot.parts)
            count += 1 + len(digests)
        return count

    def _snapshot(self, name: str) -> Snapshot:
        snapshot = self._manifest(name, Snapshot)
        if name != f.snapshot_name(snapshot.generation, snapshot.through):
            raise ArchiveError(f"{name}: is damaged: it names another snapshot")
        if len(snapshot.parts) != -(-snapshot.size // f.PART_BYTES):
            raise ArchiveError(f"{name}: is damaged: its parts do not match its size")
        if snapshot.start > snapshot.through:
            raise ArchiveError(f"{name}: is damaged: its last segment is before its first")
        return snapshot

    def _manifest(self, name: str, kind: type[f.T]) -> f.T:
        return f.decode(name, self._get(name, f.MANIFEST_BYTES_MAX), kind)

    def _get(self, name: str, bytes_max: int) -> bytes:
        try:
            return get(self.objects, name, bytes_max)
        except ObjectTooLarge as error:
            raise ArchiveError(f"{name}: is damaged: it is too large") from error


def _expect_next(before: Read, read: Read) -> None:
    one, other = before.segment, read.segment
    name = f.segment_name(other.generation, other.number)
    if other.before != before.digest:
        raise ArchiveError(f"{name}: is damaged: it does not follow the previous segment")
    follows = other.first == one.frame if other.log == one.log else other.first == 0
    if not follows or other.page_bytes != one.page_bytes:
        raise ArchiveError(f"{name}: is damaged: its frames do not follow the previous frames")
