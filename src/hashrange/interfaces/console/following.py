"""The newest records of streams, read when a page asks and kept in bounded memory."""

import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from hashrange.interfaces.console.outline import Change, difference
from hashrange.interfaces.console.shapes import Item

RECORDS_KEPT = 50
CHANGES_KEPT, LINES_KEPT, CHARS_KEPT = 40, 40, 500
"""What is kept of a stream, of a record, of the change of an attribute, and of a line of it."""

FOLLOWED_MAX = 8
"""How many streams are followed at a time; the one that was asked for longest ago is forgotten."""

SHARDS_MAX = 64
RECORDS_A_READ = 100
READS_A_POLL = 10
"""How often each shard is read for one answer, so that an answer does not take long."""

LOST = frozenset(
    {"ExpiredIteratorException", "TrimmedDataAccessException", "ResourceNotFoundException"}
)
"""Following begins anew after these: nobody asked for a while, or shards are gone."""


@dataclass(frozen=True)
class Record:
    """A change of an item. `more` counts the attributes whose change is not kept."""

    event: str
    at: datetime
    number: int
    keys: Item
    changes: list[Change]
    more: int


class Follower:
    """Follows one stream. `client` is boto3's for streams; `start` is a type of shard iterator."""

    def __init__(self, client: Any, arn: str, start: str) -> None:
        self.records: deque[Record] = deque(maxlen=RECORDS_KEPT)
        self.seen = 0
        """How many records there were since following began."""
        self.left_out = 0
        """How many shards are beyond those that are read."""
        self._client = client
        self._arn = arn
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._iterators: dict[str, str] = {}
        self._find_shards(start)

    def poll(self) -> None:
        """Read what is new. Raises botocore's errors."""
        with self._lock:
            for _ in range(READS_A_POLL):
                if not self._read():
                    break

    def _read(self) -> bool:
        """Read once from each shard. Returns whether there may be more already."""
        found: list[Mapping[str, Any]] = []
        full = ended = False
        for shard, iterator in list(self._iterators.items()):
            page = self._client.get_records(ShardIterator=iterator, Limit=RECORDS_A_READ)
            found += page["Records"]
            full |= len(page["Records"]) == RECORDS_A_READ
            if following := page.get("NextShardIterator"):
                self._iterators[shard] = following
            else:
                del self._iterators[shard]
                ended = True
        if ended:  # its children have what follows
            self._find_shards("TRIM_HORIZON")
        self.seen += len(found)
        self.records.extend(sorted(map(_record, found), key=lambda record: record.number))
        return full or ended

    def _find_shards(self, start: str) -> None:
        """Begin with the shards that are not known. One that is closed has nothing for LATEST."""
        for shard in self._shards():
            name = shard["ShardId"]
            if name in self._known:
                continue
            if len(self._iterators) >= SHARDS_MAX:
                self.left_out += 1
                continue
            self._known.add(name)
            closed = "EndingSequenceNumber" in shard["SequenceNumberRange"]
            if closed and start == "LATEST":
                continue
            self._iterators[name] = self._client.get_shard_iterator(
                StreamArn=self._arn, ShardId=name, ShardIteratorType=start
            )["ShardIterator"]

    def _shards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        asked: dict[str, Any] = {"StreamArn": self._arn}
        self.left_out = 0
        while True:
            described = self._client.describe_stream(**asked)["StreamDescription"]
            found += described["Shards"]
            if "LastEvaluatedShardId" not in described:
                return found
            asked["ExclusiveStartShardId"] = described["LastEvaluatedShardId"]


def _record(found: Mapping[str, Any]) -> Record:
    told = found["dynamodb"]
    changes = difference(told.get("OldImage", {}), told.get("NewImage", {}))
    return Record(
        found["eventName"],
        told["ApproximateCreationDateTime"],
        int(told["SequenceNumber"]),
        told["Keys"],
        [_short(change) for change in changes[:CHANGES_KEPT]],
        max(0, len(changes) - CHANGES_KEPT),
    )


def _short(change: Change) -> Change:
    lines = [
        (sign, text if len(text) <= CHARS_KEPT else f"{text[:CHARS_KEPT]} …")
        for sign, text in change.lines[:LINES_KEPT]
    ]
    return replace(change, lines=lines)


class Following:
    """The streams that pages follow, by their ARN and where they began."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._followers: OrderedDict[tuple[str, str], Follower] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, arn: str, start: str) -> Follower:
        """The follower of a stream, which has read what is new. Raises botocore's errors."""
        try:
            follower = self._follower(arn, start)
            follower.poll()
        except ClientError as error:
            if error.response["Error"]["Code"] not in LOST:
                raise
            with self._lock:
                self._followers.pop((arn, start), None)
            follower = self._follower(arn, start)
            follower.poll()
        return follower

    def _follower(self, arn: str, start: str) -> Follower:
        with self._lock:
            follower = self._followers.get((arn, start))
        if follower is None:
            follower = Follower(self._client, arn, start)
        with self._lock:
            follower = self._followers.setdefault((arn, start), follower)
            self._followers.move_to_end((arn, start))
            while len(self._followers) > FOLLOWED_MAX:
                self._followers.popitem(last=False)
        return follower
