"""Applies the records of a stream to a copy of its table.

Records of a shard are applied in their order, and a shard after its parent, so the records of each
item are applied in the order of its changes. A record may be applied twice, or be older than the
copy of its item. This does no harm, because later records of the item follow.
"""

import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hashrange.clients.connection import THROTTLED, Refused, refusals
from hashrange.declared.tables import TableInfo
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import ApiFailure, Connection, Steps, run
from hashrange.design.streams.shards import TRIMMED, Shards
from hashrange.formats.items import DataError, Record, encode
from hashrange.tools.moving.pace import pause
from hashrange.tools.moving.scan import TableState
from hashrange.tools.moving.sink import Sink

if TYPE_CHECKING:
    from hashrange.tools.target import Target

T = TypeVar("T")

RETENTION_SECONDS = 24 * 60 * 60
"""The time for which a stream keeps its records."""
_MARGIN_SECONDS = 300
"""The age at the start of a copy from which a change is certainly in the copy. Neither differences
between clocks nor the lag of reads come near it."""
_SHARDS_SECONDS = 5.0
"""The interval between two searches for new shards."""
_VIEWS = frozenset({"NEW_IMAGE", "NEW_AND_OLD_IMAGES"})


class Round(NamedTuple):
    """The number of applied records, and the seconds that the copy is behind."""

    records: int
    behind: float


def stream_of(table: TableInfo, place: str) -> str:
    """The ARN of the table's stream. Raises DataError if the table has no stream that can be
    followed."""
    if table.stream_arn is None or table.stream_view not in _VIEWS:
        raise DataError(
            f"{place}: to follow {table.name}, the table needs a stream with the view NEW_IMAGE or "
            "NEW_AND_OLD_IMAGES"
        )
    return table.stream_arn


class Replicator:
    """Applies the changes of one table. `state.sequences` has the progress in each shard."""

    def __init__(self, source: "Target", arn: str, state: TableState, sink: Sink) -> None:
        if not state.sequences and time.time() - state.began > RETENTION_SECONDS - _MARGIN_SECONDS:
            raise DataError(
                f"{source.name}: the copy began more than a day ago, but a stream keeps its "
                "records only for a day; copy again"
            )
        self._connection = _Patient(connect(source.streams, service="dynamodbstreams"))
        self._place = source.name
        self._state = state
        self._sink = sink
        self._shards = Shards(arn)
        self._looked = 0.0

    def round(self) -> Round:
        """Read each available shard once, and apply the records."""
        if time.monotonic() - self._looked >= _SHARDS_SECONDS:
            self._look()
        records, oldest = 0, time.time()
        for shard in self._shards.readable():
            records_read = self._run(self._shards.read(shard))
            if records_read:
                self._apply(records_read)
                self._state.sequences[shard.id] = records_read[-1]["dynamodb"]["SequenceNumber"]
                records += len(records_read)
                oldest = min(oldest, _created(records_read[-1]))
            if shard.ended:
                self._looked = 0.0  # look for its child shards at once
        return Round(records, max(0.0, time.time() - oldest) if records else 0.0)

    def _look(self) -> None:
        """Find new shards, and drop the positions in shards that no longer exist."""
        self._run(self._shards.find())
        sequences = self._state.sequences
        for id in sequences.keys() - self._shards.known.keys():
            del sequences[id]
        for shard in self._shards.known.values():
            shard.after = shard.after or sequences.get(shard.id)
        self._looked = time.monotonic()

    def _run(self, steps: Steps[T]) -> T:
        """Send the requests of `steps`. Raises DataError."""
        try:
            with refusals(self._place):
                return run(steps, self._connection)
        except Refused as refusal:
            if refusal.code != TRIMMED:
                raise
        raise DataError(
            f"{self._place}: the stream no longer has the next records, because it keeps them "
            "only for a day; copy again"
        )

    def _apply(self, records: list[Any]) -> None:
        since = self._state.began - _MARGIN_SECONDS
        changes = [_change(record) for record in records if _created(record) >= since]
        if changes:
            self._sink.write(changes)


class _Patient:
    """A connection that repeats each request while the service throttles it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        attempt = 0
        while True:
            try:
                return self._connection.call(operation, payload)
            except ApiFailure as failure:
                if failure.code not in THROTTLED:
                    raise
            pause(attempt)
            attempt += 1


def _created(record: dict[str, Any]) -> float:
    moment: float = record["dynamodb"]["ApproximateCreationDateTime"].timestamp()
    return moment


def _change(record: dict[str, Any]) -> Record:
    content = record["dynamodb"]
    if record["eventName"] == "REMOVE":
        return Record(encode(content["Keys"]), 0, delete=True)
    return Record(encode(content["NewImage"]), 0)
