"""Reads the objects of a bucket in steps, and puts their items into a table.

Each step is one commit, which also stores the position that the job has reached. If the process
ends, the next process reads the current object up to that position again, and continues from there.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from hashrange.formats.item_keys import ItemKeys
from hashrange.formats.items import DataError, Record
from hashrange.model.jobs import WHOLE, Kind
from hashrange.objects import Listed, Objects
from hashrange.runtime.background import RunsUpkeep, Worker, ask
from hashrange.runtime.hash_position import hash_position
from hashrange.transfers import reading
from hashrange.transfers.buckets import Buckets, Failed, Stream, failing, failure

STEP_ITEMS = 250
"""The number of items that one commit puts: about five milliseconds of work."""
TURN_STEPS = 10
GROUP_ITEMS = 50_000
GROUP_BYTES = 16 * 1024 * 1024
"""The number of bytes of an object that are in memory at once."""
_BUFFER_BYTES = 1 << 16
Json = dict[str, Any]
Position = tuple[str, int, int, int]
Numbered = tuple[int, Record | DataError]
"""A record (or the error in its place) and its number in the object."""


class Part(NamedTuple):
    """The input of a step: some records of a group. `before` is the job's position after these
    records (see `Job`)."""

    before: Position
    items: list[Record]
    numbers: list[int]
    faults: list[tuple[int, str]]
    bytes_before: int
    bytes: int


class Reading:
    """The remaining parts of a job, from its position on.

    The records of an object are read in groups. The records of a group are put in the order in
    which the table stores them, so that each commit changes only a few pages of a file.
    """

    def __init__(
        self,
        bucket: Objects,
        prefix: str,
        way: reading.Way,
        job: Json,
        stopped: Callable[[], bool],
    ) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._way = way
        self._stopped = stopped
        self._keys = ItemKeys([job["Hash"]])
        self.position: Position = tuple(job["Position"])
        self._bytes_before: int = job["BytesBefore"]
        self.parts = self._parts()

    def _parts(self) -> Iterator[Part]:
        key, records, group, done = self.position
        for each in listed(self._bucket, self._prefix):
            is_done = each.name.encode() < key.encode() or (each.name == key and records == WHOLE)
            if not is_done and each.size_bytes:
                begun = (records, group, done) if each.name == key else (0, 0, 0)
                yield from self._of_object(each, *begun)

    def _of_object(self, each: Listed, start: int, count: int, done: int) -> Iterator[Part]:
        """The parts of an object after its first `start` records.

        If `count` is not 0, the next group is one that was interrupted: it has `count` records, and
        the first `done` of them, in the order of storage, have already been put.
        """
        with closing(Stream(self._bucket, each.name)) as stream:
            packed = io.BufferedReader(stream, _BUFFER_BYTES)
            records = _numbered(reading.items(packed, each.name, self._way, self._stopped))
            for _ in range(start):
                next(records, None)
            whole = False
            while not whole:
                group = list(_group(records, count))
                whole = len(group) < count if count else not group
                size = 0 if whole else stream.position
                self._bytes_before += each.size_bytes if whole else 0
                yield from self._of_group(each.name, start, group, done, whole, size)
                start, count, done = start + len(group), 0, 0

    def _of_group(
        self, key: str, start: int, group: list[Numbered], done: int, whole: bool, size: int
    ) -> Iterator[Part]:
        group.sort(key=self._place)
        total = len(group)
        while True:
            part = group[done : done + STEP_ITEMS]
            done += len(part)
            position = (key, start, total, done)
            if done >= total:
                position = (key, WHOLE if whole else start + total, 0, 0)
            yield _part(part, position, self._bytes_before, size)
            if done >= total:
                return

    def _place(self, numbered: Numbered) -> bytes:
        _, record = numbered
        key = None if isinstance(record, DataError) else self._keys.of(record.item)
        return hash_position(key[0]) if key else b""


def _part(some: list[Numbered], position: Position, bytes_before: int, size: int) -> Part:
    items, numbers, faults = [], [], []
    for number, record in some:
        if isinstance(record, DataError):
            faults.append((number, str(record)))
        else:
            items.append(record)
            numbers.append(number)
    return Part(position, items, numbers, faults, bytes_before, size)


def listed(bucket: Objects, prefix: str) -> Iterator[Listed]:
    with failing():
        yield from bucket.list(prefix)


def _numbered(records: reading.Read) -> Iterator[Numbered]:
    """The records of an object with their numbers, from 1. If a record cannot be read and ends the
    reading, its error comes last."""
    number = 0
    try:
        for number, record in enumerate(records, 1):
            yield number, record
    except DataError as error:
        yield number + 1, error


def _group(records: Iterator[Numbered], count: int) -> Iterator[Numbered]:
    """The next `count` records. If `count` is 0, the next records up to the size limits of a
    group."""
    size = 0
    for taken, (number, record) in enumerate(records, 1):
        yield number, record
        size += 0 if isinstance(record, DataError) else len(record.item)
        if taken == count or (not count and (taken == GROUP_ITEMS or size >= GROUP_BYTES)):
            return


class Loader(Worker):
    """Runs all jobs of one kind that are in progress, a few steps of each in turn.

    Subclasses define how the objects of a job are read, and what a step does.
    """

    kind: Kind

    def __init__(self, runtime: RunsUpkeep, buckets: Buckets) -> None:
        self.buckets = buckets
        self.readings: dict[str, Reading] = {}
        super().__init__(runtime, f"{self.kind}s")

    def source(self, job: Json) -> Json:
        """The members of the request that name the bucket."""
        raise NotImplementedError

    def way(self, job: Json) -> reading.Way:
        raise NotImplementedError

    def begin(self, job: Json, objects: Iterator[Listed]) -> None:
        """Begin a job, before its first step. If the bucket cannot be listed, iterating over
        `objects` raises Failed, and the job must not begin."""
        raise NotImplementedError

    def put(self, job: Json, body: Json, part: Part) -> bool:
        """Do a step: put the items of `part`. Raises Failed.

        `body` has the members that all requests of the job have. Returns False if the job is no
        longer at the position where the step begins.
        """
        raise NotImplementedError

    def rests(self, job: Json) -> bool:
        """Whether the job has to pause before its next step."""
        return False

    def step(self, is_ours: Callable[[], bool]) -> bool:
        jobs = ask(self.runtime, "upkeep.Jobs", {"Kind": self.kind})["Jobs"]
        if not jobs or not is_ours():
            return False
        ready = [job for job in jobs if not self.rests(job)]
        for job in ready:
            try:
                if job["Status"] == "CANCELLING":
                    self.end(job, None)
                elif job["Begun"]:
                    self._advance(job)
                else:
                    self._begin(job)
            except reading.Interrupted:
                return False
            except Exception as error:
                self.end(job, failure(error, job["Arn"]))
        return bool(ready)

    def _begin(self, job: Json) -> None:
        objects = listed(*self._place(job))
        try:
            reading.needed_library(self.way(job))
        except DataError as error:
            raise Failed("UnsupportedFormat", str(error)) from None
        self.begin(job, objects)

    def _advance(self, job: Json) -> None:
        """Do some steps of a job, from the position that is stored in the job."""
        there = self.readings.get(job["Id"])
        if there is None or there.position != tuple(job["Position"]):
            there = Reading(*self._place(job), self.way(job), job, lambda: self.closing)
            self.readings[job["Id"]] = there
        for _ in range(TURN_STEPS):
            if self.closing or self.rests(job):
                return
            part = next(there.parts, None)
            if part is None:
                self.end(job, None)
                return
            if not self.put(job, _body(job, there, part), part):
                del self.readings[job["Id"]]  # it has ended, or another process has continued it
                return
            there.position = part.before

    def _place(self, job: Json) -> tuple[Objects, str]:
        """The bucket of a job's objects, and the prefix of their names."""
        source = self.source(job)
        return self.buckets.bucket(source["S3Bucket"]), source.get("S3KeyPrefix", "")

    def end(self, job: Json, failure: tuple[str, str] | None) -> None:
        body = {"Kind": self.kind, "Id": job["Id"], "Failure": failure}
        ask(self.runtime, "upkeep.JobEnded", body)
        self.readings.pop(job["Id"], None)


def _body(job: Json, there: Reading, part: Part) -> Json:
    return {
        "Id": job["Id"],
        "After": there.position,
        "Before": part.before,
        "Numbers": part.numbers,
        "Unreadable": part.faults,
        "BytesBefore": part.bytes_before,
        "Bytes": part.bytes,
    }
