"""The records of one shard that wait for a trigger's function, and the batches made of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from msgspec import json

from hashrange.design.streams.shards import Record, Shard
from hashrange.server.triggers.settings import Trigger

EVENT_BYTES_MAX = 6 * 1024 * 1024 - 64 * 1024
"""The largest size of the records in an event. Lambda accepts an event of 6 MB, which includes the
text around the records."""
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.5, 30.0


def number_of(record: Record) -> str:
    number: str = record["dynamodb"]["SequenceNumber"]
    return number


def event_record(record: Record, stream_arn: str) -> Record:
    """A record of GetRecords in the form in which Lambda passes it to a function."""
    shown = {**record, "eventSourceARN": stream_arn}
    if user := record.get("userIdentity"):
        shown["userIdentity"] = {"type": user["Type"], "principalId": user["PrincipalId"]}
    return shown


@dataclass
class Lane:
    """The waiting records of one shard. `handled` is the shard's checkpoint, and `passed` is the
    number of the last record that was read.

    `records` have matched the filters; the first of them has been waiting since `since`. After a
    failure they are dropped, and read again after a pause. If a batch was divided, `parts` has the
    sizes of the next batches.
    """

    shard: Shard
    trigger: Trigger
    handled: str | None = None
    passed: str | None = None
    records: list[Record] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    since: float = 0.0
    attempts: int = 0
    pauses: int = 0
    not_before: float = 0.0
    parts: list[int] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        return self.shard.ended and not self.records and self.passed == self.handled

    def begin_at(self, handled: str | None) -> None:
        """Drop the waiting records, and continue after the record number `handled`; None is the
        beginning of the shard."""
        if handled != self.handled:
            self.attempts, self.parts, self.pauses = 0, [], 0
        self.handled = self.passed = self.shard.after = handled
        self.shard.iterator, self.shard.ended = None, False
        self.records, self.sizes = [], []

    def wanted(self) -> int:
        """The number of records that still fit in the next batch."""
        full = sum(self.sizes) >= EVENT_BYTES_MAX
        return 0 if full else max(0, self.batch_size - len(self.records))

    @property
    def batch_size(self) -> int:
        return self.parts[0] if self.parts else self.trigger.batch_size

    def add(self, records: list[Record], matches: Callable[[Record], bool]) -> None:
        """Add records that have been read. Only records that match the filters will wait for the
        function."""
        if not records:
            return
        self.passed = number_of(records[-1])
        for record in filter(matches, records):
            if not self.records:
                self.since = monotonic()
            self.records.append(record)
            self.sizes.append(len(json.encode(record)))

    def batch(self) -> list[Record]:
        """The first waiting records that fit in one event, at least one."""
        size = count = 0
        while count < min(len(self.records), self.batch_size):
            size += self.sizes[count]
            if count and size > EVENT_BYTES_MAX:
                break
            count += 1
        return self.records[:count]

    def is_due(self, crowded: bool) -> bool:
        """Whether the next batch is complete or has waited long enough. `crowded` says that too
        many records are waiting already."""
        if self.parts or crowded or self.shard.ended or not self.wanted():
            return True
        return monotonic() >= self.since + self.trigger.maximum_batching_window_in_seconds

    def done(self, count: int) -> str:
        """Remove the first `count` records, which have been handled or discarded.

        Returns the new checkpoint.
        """
        last = self.records[count - 1 : count]
        del self.records[:count]
        del self.sizes[:count]
        self.attempts = self.pauses = 0
        if self.parts:
            self.parts[0] -= count
            self.parts = [size for size in self.parts if size > 0]
        self.handled = number_of(last[0]) if self.records else self.passed
        assert self.handled is not None, "a lane must have read a record"
        return self.handled

    def divide(self, count: int) -> None:
        """Divide the failed batch of `count` records into two halves for the next attempts."""
        self.parts[:1] = [count // 2, count - count // 2]

    def fail(self) -> float:
        """Set the time of the next attempt. Returns the seconds until that time."""
        pause: float = min(PAUSE_SECONDS_MIN * 2**self.pauses, PAUSE_SECONDS_MAX)
        self.pauses = min(self.pauses + 1, 10)
        self.not_before = monotonic() + pause
        return pause


def failed_from(answer: Any, batch: list[Record]) -> int:
    """The index of the first record that an answer reports as failed, or the batch's length if
    none.

    An invalid answer means that the whole batch has failed, as on Lambda.
    """
    failures = answer.get("batchItemFailures") if isinstance(answer, dict) else answer
    if failures is None or failures == []:
        return len(batch)
    if not isinstance(failures, list) or not isinstance(answer, dict):
        return 0
    places = {number_of(record): place for place, record in enumerate(batch)}
    return min(
        places.get(str(each.get("itemIdentifier")), 0) if isinstance(each, dict) else 0
        for each in failures
    )
