"""Writes the segments and copies of one generation."""

import os
from contextlib import suppress
from typing import NamedTuple

from hashrange.archive import format as f
from hashrange.archive.contents import Contents, Read
from hashrange.archive.format import Generation, Segment, Snapshot
from hashrange.objects import Objects, Taken
from hashrange.storage.sqlite.tail import Frames, Position, Tail

_ATTEMPTS = 100


class Waiting(NamedTuple):
    """A segment that has not been written yet, and its bytes."""

    segment: Segment
    body: bytes


class Chain:
    """The end of a generation, where segments are added.

    `add` makes a segment from frames of the log. It is in the archive only when `write` has
    returned.
    """

    def __init__(self, objects: Objects, generation: int, last: Read | None) -> None:
        self._objects = objects
        self.generation = generation
        self.waiting: list[Waiting] = []
        self.last = last.segment if last else None
        """The last segment that was added."""
        self._digest = last.digest if last else ""
        self.digest = self._digest
        """The SHA-256 of the last segment that was written."""
        self.stored = 0
        """The number of bytes in the segments that were stored since the last copy of the file."""
        self._settled = 0

    @classmethod
    def begun(cls, objects: Objects, now: float, reason: str) -> "Chain":
        """Begin a new generation. The `reason` is stored."""
        number = Contents(objects).last_generation() + 1
        record = Generation(f.VERSION, f.stamped(now), reason, os.urandom(8).hex())
        for generation in range(number, number + _ATTEMPTS):
            try:
                objects.put(f.generation_name(generation), f.encode(record))
            except Taken:
                continue  # another server has just begun it
            return cls(objects, generation, None)
        raise AssertionError(
            "no generation could be begun: other servers took each of the "
            f"{_ATTEMPTS} numbers that were tried"
        )

    @property
    def position(self) -> Position | None:
        """The position in the log behind the last segment that was added; None if there is none."""
        if self.last is None:
            return None
        at = self.last
        return Position(bytes.fromhex(at.log), at.frame, bytes.fromhex(at.sums))

    @property
    def start(self) -> int:
        """The number of the first segment that a copy needs if it is read from now on.

        All frames whose pages are not in the file yet belong to the present log, so no segment from
        before this log is needed.
        """
        assert self.last is not None
        return max(self.last.log_begins, self._settled)

    def settle(self) -> None:
        """Note that the file has all pages of the segments that were added."""
        assert self.last is not None
        self._settled = self.last.number

    def add(self, frames: Frames, page_bytes: int, now: float) -> None:
        """Add a segment with the transactions that follow the last segment.

        `now` must be a time after the transactions were read.
        """
        last, end = self.last, frames.end
        number = last.number + 1 if last else 1
        log = end.log.hex()
        segment = Segment(
            format=f.VERSION,
            generation=self.generation,
            number=number,
            before=self._digest,
            time=max(f.stamped(now), last.time if last else 0.0),
            page_bytes=page_bytes,
            log=log,
            log_begins=last.log_begins if last and last.log == log else number,
            first=end.frame - frames.frame_count,
            frame=end.frame,
            sums=end.sums.hex(),
            commits=(last.commits if last else 0) + frames.commits,
            size=len(frames.data),
            sha256=f.digest_of(frames.data),
        )
        body = f.pack_segment(segment, frames.data)
        self.waiting.append(Waiting(segment, body))
        self.last, self._digest = segment, f.digest_of(body)

    def write(self) -> None:
        """Write the added segments. Raises `Taken` if another server has written one of them."""
        while self.waiting:
            segment, body = self.waiting[0]
            self._objects.put(f.segment_name(self.generation, segment.number), body)
            self.digest = f.digest_of(body)
            self.stored += len(body)
            del self.waiting[0]


class Copying:
    """A copy of the file, part by part, while the file changes."""

    def __init__(self, objects: Objects, chain: Chain, tail: Tail) -> None:
        self._objects = objects
        self._chain = chain
        self._tail = tail
        self._start = chain.start
        self._size = tail.file_bytes()
        self._id = os.urandom(8).hex()
        self._parts: list[str] = []
        self._stored = 0

    def copy_part(self) -> bool:
        """Copy the next part to the archive. Returns whether there are more parts."""
        number = len(self._parts)
        first = number * f.PART_BYTES
        size = min(f.PART_BYTES, self._size - first)
        if size > 0:
            # If the file has become shorter, its last part is padded. The log has current pages.
            data = self._tail.file_piece(first, size).ljust(size, b"\0")
            packed = f.pack(data)
            self._objects.put(f.part_name(self._chain.generation, self._id, number), packed)
            self._parts.append(f.digest_of(data))
            self._stored += len(packed)
        return len(self._parts) * f.PART_BYTES < self._size

    def finish(self) -> Snapshot:
        """Write the snapshot. All parts must have been copied.

        The archive must already have all transactions that were committed before the last part was
        read.
        """
        last = self._chain.last
        assert last is not None
        assert not self._chain.waiting
        snapshot = Snapshot(
            format=f.VERSION,
            generation=self._chain.generation,
            start=self._start,
            through=last.number,
            digest=self._chain.digest,
            time=last.time,
            page_bytes=last.page_bytes,
            size=self._size,
            id=self._id,
            parts=self._parts,
            stored=self._stored,
        )
        name = f.snapshot_name(snapshot.generation, snapshot.through)
        with suppress(Taken):  # an attempt without an answer has written it: either copy will do
            self._objects.put(name, f.encode(snapshot))
        self._chain.stored = 0
        return snapshot
