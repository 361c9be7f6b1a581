"""Reads the streams of a table, and calls a trigger's function with one batch at a time.

If several servers have the same trigger, only one of them calls the function. The checkpoint of a
shard is stored after a batch has been handled. If the server ends before that, the batch is handled
again: each record is delivered at least once, and the records of an item are delivered in order.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Any

import msgspec

from hashrange.amounts import counted
from hashrange.database.database import Database
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import run
from hashrange.design.streams.shards import TRIMMED, Record, Shards
from hashrange.model.errors import ApiError
from hashrange.runtime.background import Worker, ask
from hashrange.server.triggers.functions import (
    LOADING_SECONDS,
    Abandoned,
    Failed,
    Function,
    NotReached,
    called,
    function_of,
)
from hashrange.server.triggers.lanes import Lane, event_record, failed_from, number_of
from hashrange.server.triggers.settings import Trigger

GRACE_SECONDS = 2.0
"""The time for which a call may continue after the server has begun to end."""
READ_RECORDS_MAX = 1000
CROWDED_RECORDS = 50_000
"""The number of waiting records above which incomplete batches are processed at once."""

_log = logging.getLogger("hashrange")


@dataclass
class Reading:
    """A stream that is read, and its shards by id. `is_over` says that all of it has been
    handled."""

    arn: str
    shards: Shards
    lanes: dict[str, Lane] = field(default_factory=dict)
    is_over: bool = False


class Calls(Worker):
    """Calls the function of one trigger. `ending` is set when the first trigger of a server is
    closed, so that all triggers end at the same time."""

    name = "hashrange-trigger"
    pause_seconds = 0.2

    def __init__(
        self, database: Database, trigger: Trigger, function: Function, ending: Event | None = None
    ) -> None:
        self._database = database
        self._connection = connect(database)
        self._trigger = trigger
        self._patterns = trigger.patterns()
        self._function = function
        self._readings: dict[str, Reading] = {}
        self._said = ""
        self._ending = ending or Event()
        self._has_looked = False
        super().__init__(database.runtime, f"trigger-{trigger.id}")

    def close(self) -> None:
        self._ending.set()
        super().close()
        self._function.close()

    def step(self, is_ours: Callable[[], bool]) -> bool:
        more = False
        for reading in self._open_readings(is_ours):
            more |= self._read(reading, is_ours)
        return more

    # ---- streams ----

    def _open_readings(self, is_ours: Callable[[], bool]) -> Iterator[Reading]:
        """The table's streams that have unhandled records, oldest first."""
        table = self._trigger.table_name
        arns = [each["StreamArn"] for each in self._ask("ListStreams", TableName=table)["Streams"]]
        latest = self._latest(table)
        for arn in sorted(arns):
            reading = self._readings.get(arn)
            if reading is None and (arn == latest or self._reader(arn)["Begun"]):
                if not self._begin(arn, is_ours):
                    return
                reading = self._readings[arn] = Reading(arn, Shards(arn))
            if reading is not None and not reading.is_over:
                yield reading
                if not reading.is_over and arn != latest:
                    return  # finish this stream first: its records precede those of the next one
        self._has_looked = True
        for arn in self._readings.keys() - set(arns):
            del self._readings[arn]

    def _latest(self, table: str) -> str | None:
        try:
            described = self._ask("DescribeTable", TableName=table)["Table"]
        except ApiError as error:
            if error.code != "ResourceNotFoundException":
                raise
            self._say(f"there is no table {table}")
            return None
        if not described.get("StreamSpecification", {}).get("StreamEnabled"):
            self._say(f"the table {table} has no stream; enable it with StreamSpecification")
            return None
        self._say("")
        arn: str = described["LatestStreamArn"]
        return arn

    def _begin(self, arn: str, is_ours: Callable[[], bool]) -> bool:
        """Begin to read a stream, if no server has begun yet and this server has the lease
        (`is_ours` returns True). Returns whether any server has begun."""
        if self._reader(arn)["Begun"]:
            return True
        if not is_ours():
            return False
        # A stream that was enabled after the start is read from its beginning even for LATEST,
        # because all of its records are later than the start.
        latest = self._trigger.starting_position == "LATEST" and not self._has_looked
        ask(self.runtime, "upkeep.BeginReading", {**self._place(arn), "Latest": latest})
        return True

    # ---- shards ----

    def _read(self, reading: Reading, is_ours: Callable[[], bool]) -> bool:
        """Read each shard of a stream once. Returns whether there may be more records."""
        run(reading.shards.find(), self._connection)
        handled = self._reader(reading.arn)["Handled"]
        known = reading.shards.known
        reading.lanes = {
            id: reading.lanes.get(id) or Lane(shard, self._trigger) for id, shard in known.items()
        }
        more = False
        for id, lane in reading.lanes.items():
            parent = reading.lanes.get(lane.shard.parent or "")
            if self.closing or (parent is not None and not parent.finished):
                continue
            if handled.get(id) != lane.handled:  # another server has continued
                lane.begin_at(handled.get(id))
            more |= self._advance(reading, lane, is_ours)
        if gone := [id for id in handled if id not in known]:
            ask(self.runtime, "upkeep.Handled", {**self._place(reading.arn), "Gone": gone})
        closed = all(shard.closed for shard in known.values())
        reading.is_over = closed and all(lane.finished for lane in reading.lanes.values())
        return more

    def _advance(self, reading: Reading, lane: Lane, is_ours: Callable[[], bool]) -> bool:
        """Read a shard, and call the function if a batch is due. Returns whether to call this
        method again at once."""
        if lane.finished or monotonic() < lane.not_before:
            return False
        self._fill(reading, lane)
        if lane.records and not lane.is_due(self._is_crowded()):
            return False
        if lane.passed == lane.handled:
            return lane.shard.ended
        if not is_ours() or self._reader(reading.arn)["Handled"].get(lane.shard.id) != lane.handled:
            lane.begin_at(lane.handled)
            return False
        if not lane.records:  # no record that was read matches
            self._keep(reading, lane, lane.done(0))
            return True
        return self._call(reading, lane, is_ours)

    def _fill(self, reading: Reading, lane: Lane) -> None:
        """Read records for the next batch until it is full, or until no more are available."""
        while not lane.shard.ended and (wanted := lane.wanted()):
            try:
                limit = min(wanted, READ_RECORDS_MAX)
                records = run(reading.shards.read(lane.shard, limit), self._connection)
            except ApiError as error:
                if error.code != TRIMMED:
                    raise
                _log.error(
                    "trigger %s: records are lost because the stream keeps them only for a day",
                    self._trigger.name,
                )
                lane.shard.after = lane.shard.iterator = None
                continue
            lane.add(records, self._matches)
            if not records or not lane.records:
                return

    def _matches(self, record: Record) -> bool:
        return not self._patterns or any(matches(record) for matches in self._patterns)

    def _is_crowded(self) -> bool:
        waiting = (
            len(lane.records)
            for reading in self._readings.values()
            for lane in reading.lanes.values()
        )
        return sum(waiting) > CROWDED_RECORDS

    # ---- calls ----

    def _call(self, reading: Reading, lane: Lane, is_ours: Callable[[], bool]) -> bool:
        if old := self._too_old(lane):
            self._give_up(reading, lane, old, "too old")
            return True
        batch = lane.batch()
        event = {"Records": [event_record(record, reading.arn) for record in batch]}
        try:
            answer = self._answer(msgspec.json.encode(event), is_ours)
        except Abandoned:
            lane.begin_at(lane.handled)
            return False
        except Failed as error:
            self._function.close()
            self._failed(reading, lane, len(batch), error)
            return True
        handled = failed_from(answer, batch) if self._trigger.reports_failures else len(batch)
        if handled:
            self._keep(reading, lane, lane.done(handled))
        if handled < len(batch):
            self._failed(reading, lane, len(batch) - handled, None)
        return True

    def _answer(self, event: bytes, is_ours: Callable[[], bool]) -> Any:
        function, ends = self._function, [0.0]

        def wanted() -> bool:
            if self._ending.is_set():
                ends[0] = ends[0] or monotonic() + GRACE_SECONDS
                return monotonic() < ends[0]
            return is_ours()

        called(function.load, function.abandon, LOADING_SECONDS, wanted)
        seconds = self._trigger.timeout
        return called(lambda: function.call(event), function.abandon, seconds, wanted)

    def _failed(self, reading: Reading, lane: Lane, count: int, error: Failed | None) -> None:
        """Retry the first `count` records, in halves or together, or discard them. `error` is None
        if the function itself reported that these records have failed."""
        reason = (
            str(error)
            if error
            else f"the function reported the failure of {counted(count, 'record')}"
        )
        most = self._trigger.maximum_retry_attempts
        if error and count > 1 and self._trigger.bisect_batch_on_function_error:
            lane.divide(count)
        elif not isinstance(error, NotReached):
            lane.attempts += 1
            if 0 <= most < lane.attempts:
                self._give_up(reading, lane, count, reason)
                return
        pause = lane.fail()
        lane.begin_at(lane.handled)
        _log.error("trigger %s: %s; retrying in %g s", self._trigger.name, reason, pause)

    def _too_old(self, lane: Lane) -> int:
        """The number of waiting records that are older than the trigger allows. They come first,
        because records are ordered by time."""
        age = self._trigger.maximum_record_age_in_seconds
        if age < 0:
            return 0
        oldest = self._database.runtime.environment.clock.now() - age
        times = [record["dynamodb"]["ApproximateCreationDateTime"] for record in lane.records]
        return sum(time < oldest for time in times)

    def _give_up(self, reading: Reading, lane: Lane, count: int, reason: str) -> None:
        first, last = number_of(lane.records[0]), number_of(lane.records[count - 1])
        _log.error(
            "trigger %s: gave up %s: %s; shard %s, sequence numbers %s to %s",
            *(self._trigger.name, counted(count, "record"), reason, lane.shard.id, first, last),
        )
        self._keep(reading, lane, lane.done(count))

    # ---- the database ----

    def _keep(self, reading: Reading, lane: Lane, number: str) -> None:
        place = self._place(reading.arn)
        ask(self.runtime, "upkeep.Handled", {**place, "Handled": {lane.shard.id: number}})

    def _reader(self, arn: str) -> dict[str, Any]:
        return ask(self.runtime, "upkeep.Reader", self._place(arn))

    def _place(self, arn: str) -> dict[str, Any]:
        return {"StreamArn": arn, "Reader": self._trigger.id}

    def _ask(self, operation: str, **members: Any) -> dict[str, Any]:
        return self._database.execute(operation, members)

    def _say(self, trouble: str) -> None:
        """Log `trouble`, the reason why nothing can be read, unless it was logged last time. An
        empty `trouble` means that there is none."""
        if trouble and trouble != self._said:
            _log.warning(
                "trigger %s cannot read records, and tries again: %s", self._trigger.name, trouble
            )
        self._said = trouble


def start_triggers(database: Database, triggers: Sequence[Trigger], url: str) -> None:
    """Call functions with the changes of tables, in threads that end when the database is closed.

    `url` is the address of this server, which the functions use as their endpoint.
    """
    ending = Event()
    for trigger in triggers:
        database.employ(Calls(database, trigger, function_of(trigger, url), ending))
