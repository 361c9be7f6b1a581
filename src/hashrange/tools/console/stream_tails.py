"""The newest records of streams. They are read when a page asks for them, and memory is limited."""

import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import run
from hashrange.design.streams.shards import TRIMMED, Shards
from hashrange.tools.console.outline import Change, difference
from hashrange.tools.console.shapes import Item

RECORDS_KEPT = 50
CHANGES_KEPT, LINES_KEPT, CHARS_KEPT = 40, 40, 500
"""The largest numbers of changed attributes of a record, lines of a change, and characters of a
line that are kept."""

TAILS_MAX = 8
"""The largest number of streams to remember. The least recently requested one is forgotten."""

SHARDS_MAX = 64
RECORDS_A_READ = 100
READS_A_POLL = 10
"""The largest number of reads of one shard for an answer, so that the answer does not take long."""

LOST = frozenset({TRIMMED, "ResourceNotFoundException"})
"""The codes of errors after which reading starts again, because records or shards are gone."""


@dataclass(frozen=True)
class Record:
    """A change of an item. `more` is the number of attributes whose change is not kept."""

    event: str
    at: datetime
    number: int
    keys: Item
    changes: list[Change]
    more: int


class StreamTail:
    """The newest records of one stream. `client` is boto3's client for streams; `start` is the type
    of shard iterator with which reading begins."""

    def __init__(self, client: Any, arn: str, start: str) -> None:
        self.records: deque[Record] = deque(maxlen=RECORDS_KEPT)
        self.seen = 0
        """The number of records that have been read."""
        self._connection = connect(client, binary=False, service="dynamodbstreams")
        self._lock = threading.Lock()
        self._shards = Shards(arn, start)
        run(self._shards.find(), self._connection)

    @property
    def left_out(self) -> int:
        """The number of shards that are not read, because the stream has too many."""
        return max(0, len(self._shards.readable()) - SHARDS_MAX)

    def poll(self) -> None:
        """Read new records. Raises botocore's errors."""
        with self._lock:
            for _ in range(READS_A_POLL):
                if not self._read():
                    break

    def _read(self) -> bool:
        """Read once from each shard. Returns whether there may be more records now."""
        chunk: list[Mapping[str, Any]] = []
        more = ended = False
        for shard in self._shards.readable()[:SHARDS_MAX]:
            records = run(self._shards.read(shard, RECORDS_A_READ), self._connection)
            chunk += records
            more |= len(records) == RECORDS_A_READ
            ended |= shard.ended
        if ended:  # its children have the next records
            run(self._shards.find(), self._connection)
        self.seen += len(chunk)
        self.records.extend(sorted(map(_record, chunk), key=lambda record: record.number))
        return more or ended


def _record(record: Mapping[str, Any]) -> Record:
    content = record["dynamodb"]
    changes = difference(content.get("OldImage", {}), content.get("NewImage", {}))
    return Record(
        record["eventName"],
        content["ApproximateCreationDateTime"],
        int(content["SequenceNumber"]),
        content["Keys"],
        [_short(change) for change in changes[:CHANGES_KEPT]],
        max(0, len(changes) - CHANGES_KEPT),
    )


def _short(change: Change) -> Change:
    lines = [
        (sign, text if len(text) <= CHARS_KEPT else f"{text[:CHARS_KEPT]} …")
        for sign, text in change.lines[:LINES_KEPT]
    ]
    return replace(change, lines=lines)


class StreamTails:
    """The tails of the streams that pages show, by ARN and by the type of the first shard
    iterator."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tails: OrderedDict[tuple[str, str], StreamTail] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, arn: str, start: str) -> StreamTail:
        """The tail of a stream, after new records have been read. Raises botocore's errors."""
        try:
            tail = self._tail(arn, start)
            tail.poll()
        except ClientError as error:
            if error.response["Error"]["Code"] not in LOST:
                raise
            with self._lock:
                self._tails.pop((arn, start), None)
            tail = self._tail(arn, start)
            tail.poll()
        return tail

    def _tail(self, arn: str, start: str) -> StreamTail:
        with self._lock:
            tail = self._tails.get((arn, start))
        if tail is None:
            tail = StreamTail(self._client, arn, start)
        with self._lock:
            tail = self._tails.setdefault((arn, start), tail)
            self._tails.move_to_end((arn, start))
            while len(self._tails) > TAILS_MAX:
                self._tails.popitem(last=False)
        return tail
