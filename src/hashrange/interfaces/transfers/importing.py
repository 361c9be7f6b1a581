"""Imports: reads the objects of a bucket in steps, and has their items put into a new table.

Each step is one commit, with the position that it has reached. If the process ends, the next one
reads the object under way again up to that position, and goes on.
"""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from hashrange.interfaces.data.item_keys import ItemKeys
from hashrange.interfaces.data.items import DataError, Record
from hashrange.interfaces.transfers import reading
from hashrange.interfaces.transfers.buckets import Buckets, Failed, Stream, failing
from hashrange.model.jobs import WHOLE
from hashrange.objects import Listed, Objects
from hashrange.runtime.background import RunsUpkeep, Worker, ask
from hashrange.runtime.hash_position import hash_position

STEP_ITEMS = 250
"""How many items one commit puts: about five milliseconds of work."""
TURN_STEPS = 10
GROUP_ITEMS = 50_000
GROUP_BYTES = 16 * 1024 * 1024
"""So much of an object is in memory."""
_BUFFER_BYTES = 1 << 16
LOGGED_MAX = 100
"""How many faulty items of an import are logged. The rest are only counted."""

_log = logging.getLogger("hashrange")
Json = dict[str, Any]
Position = tuple[str, int, int, int]
Found = tuple[int, Record | DataError]
"""A record and its number in the object."""


class Part(NamedTuple):
    """What a step does: some records of a group, and the position after it. See `Job`."""

    before: Position
    items: list[Record]
    numbers: list[int]
    faults: list[tuple[int, str]]
    bytes_before: int
    bytes: int


class Reading:
    """The parts of an import that are left, when it is at a position.

    The records of an object are taken in groups, and those of a group are put in the order in which
    they are stored: then each commit changes few pages of a file.
    """

    def __init__(self, bucket: Objects, prefix: str, job: Json) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._way = reading.way(job["Request"])
        [hashed] = [
            each["AttributeName"]
            for each in job["Request"]["TableCreationParameters"]["KeySchema"]
            if each["KeyType"] == "HASH"
        ]
        self._keys = ItemKeys([hashed])
        self.position: Position = tuple(job["Position"])
        self._bytes_before: int = job["BytesBefore"]
        self.parts = self._parts()

    def _parts(self) -> Iterator[Part]:
        key, records, group, done = self.position
        for each in _listed(self._bucket, self._prefix):
            is_done = each.name.encode() < key.encode() or (each.name == key and records == WHOLE)
            if not is_done and each.size_bytes:
                begun = (records, group, done) if each.name == key else (0, 0, 0)
                yield from self._of_object(each, *begun)

    def _of_object(self, each: Listed, start: int, count: int, done: int) -> Iterator[Part]:
        """The parts of an object from the record `start` on. A first group that is given must have
        the same `count` of records as before."""
        with closing(Stream(self._bucket, each.name)) as stream:
            packed = io.BufferedReader(stream, _BUFFER_BYTES)
            found = _numbered(reading.items(packed, each.name, self._way))
            for _ in range(start):
                next(found, None)
            whole = False
            while not whole:
                group = list(_group(found, count))
                whole = len(group) < count if count else not group
                size = 0 if whole else stream.position
                self._bytes_before += each.size_bytes if whole else 0
                yield from self._of_group(each.name, start, group, done, whole, size)
                start, count, done = start + len(group), 0, 0

    def _of_group(
        self, key: str, start: int, group: list[Found], done: int, whole: bool, size: int
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

    def _place(self, found: Found) -> bytes:
        _, record = found
        key = None if isinstance(record, DataError) else self._keys.of(record.item)
        try:
            return hash_position(key[0]) if key else b""
        except (ValueError, LookupError, TypeError, AttributeError):
            return b""  # it will be refused


def _part(some: list[Found], position: Position, bytes_before: int, size: int) -> Part:
    items, numbers, faults = [], [], []
    for number, record in some:
        if isinstance(record, DataError):
            faults.append((number, str(record)))
        else:
            items.append(record)
            numbers.append(number)
    return Part(position, items, numbers, faults, bytes_before, size)


def _listed(bucket: Objects, prefix: str) -> Iterator[Listed]:
    with failing():
        yield from bucket.list(prefix)


def _numbered(found: reading.Read) -> Iterator[Found]:
    """The records with their numbers in the object; what ends the reading is a record too."""
    number = 0
    try:
        for number, record in enumerate(found, 1):
            yield number, record
    except DataError as error:
        yield number + 1, error


def _group(found: Iterator[Found], count: int) -> Iterator[Found]:
    """The next records: as many as are asked for, or else as many as a group has."""
    size = 0
    for taken, (number, record) in enumerate(found, 1):
        yield number, record
        size += 0 if isinstance(record, DataError) else len(record.item)
        if taken == count or (not count and (taken == GROUP_ITEMS or size >= GROUP_BYTES)):
            return


class Imports(Worker):
    """Does all imports in progress, a step of each in turn."""

    name = "hashrange-imports"

    def __init__(self, runtime: RunsUpkeep, buckets: Buckets) -> None:
        self._buckets = buckets
        self._readings: dict[str, Reading] = {}
        self._logged: dict[str, int] = {}
        super().__init__(runtime, "imports")

    def step(self, is_ours: Callable[[], bool]) -> bool:
        jobs = ask(self.runtime, "upkeep.Jobs", {"Kind": "import"})["Jobs"]
        if not jobs or not is_ours():
            return False
        for job in jobs:
            try:
                if job["Begun"]:
                    self._advance(job)
                else:
                    self._begin(job)
            except Failed as error:
                self._end(job, (error.code, str(error)))
        return True

    def _advance(self, job: Json) -> None:
        """Some steps of a job that is at the position that its row has."""
        there = self._readings.get(job["Id"])
        if there is None or there.position != tuple(job["Position"]):
            there = self._readings[job["Id"]] = Reading(*self._source(job), job)
        for _ in range(TURN_STEPS):
            if self.closing:
                return
            part = next(there.parts, None)
            if part is None:
                self._end(job, None)
                return
            if not self._put(job, there, part):
                del self._readings[job["Id"]]  # it has ended, or another process had its turn
                return

    def _begin(self, job: Json) -> None:
        """Raises Failed if the bucket cannot be listed: then no table is made."""
        next(_listed(*self._source(job)), None)
        try:
            reading.needed_library(reading.way(job["Request"]))
        except DataError as error:
            raise Failed("UnsupportedFormat", str(error)) from None
        ask(self.runtime, "upkeep.BeginImport", {"Id": job["Id"]})

    def _source(self, job: Json) -> tuple[Objects, str]:
        """The bucket, and what the names of the objects begin with."""
        source = job["Request"]["S3BucketSource"]
        return self._buckets.bucket(source["S3Bucket"]), source.get("S3KeyPrefix", "")

    def _put(self, job: Json, there: Reading, part: Part) -> bool:
        """Whether the job was at the position at which the part begins."""
        body = {
            "Id": job["Id"],
            "After": there.position,
            "Before": part.before,
            "Numbers": part.numbers,
            "Items": [msgspec.Raw(record.item) for record in part.items],
            "Unreadable": len(part.faults),
            "BytesBefore": part.bytes_before,
            "Bytes": part.bytes,
        }
        answer = ask(self.runtime, "upkeep.ImportItems", body)
        if answer["Stale"]:
            return False
        there.position = part.before
        for number, fault in sorted([*part.faults, *map(tuple, answer["Faults"])]):
            self._log_fault(job, part.before[0], number, fault)
        return True

    def _end(self, job: Json, failure: tuple[str, str] | None) -> None:
        body = {"Kind": "import", "Id": job["Id"], "Failure": failure}
        ask(self.runtime, "upkeep.JobEnded", body)
        self._readings.pop(job["Id"], None)
        left = self._logged.pop(job["Id"], 0) - LOGGED_MAX
        if left > 0:
            _log.warning("%s: %d more items are faulty", job["Arn"], left)

    def _log_fault(self, job: Json, key: str, number: int, fault: str) -> None:
        """As the service logs it; its items are counted from 0 (?)."""
        logged = self._logged[job["Id"]] = self._logged.get(job["Id"], 0) + 1
        if logged <= LOGGED_MAX:
            bucket = job["Request"]["S3BucketSource"]["S3Bucket"]
            told = {
                "itemS3Pointer": {"bucket": bucket, "key": key, "itemIndex": number - 1},
                "importArn": job["Arn"],
                "errorMessages": [fault],
            }
            _log.warning("%s", msgspec.json.encode(told).decode())
