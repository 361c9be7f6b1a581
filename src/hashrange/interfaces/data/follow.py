"""Applies the records of a stream to a copy of its table.

Records of a shard are applied in their order, and a shard after its parent, so the records of each
item are applied in the order of its changes. To apply a record again, or one from before the item
was copied, does no harm: the later records of the item follow.
"""

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hashrange.interfaces.data.connection import THROTTLED, Refused, refusals
from hashrange.interfaces.data.items import DataError, Record, encode
from hashrange.interfaces.data.pace import pause
from hashrange.interfaces.data.sink import Sink
from hashrange.interfaces.data.tables import TableInfo

if TYPE_CHECKING:
    from hashrange.interfaces.data.copying import TableState
    from hashrange.interfaces.target import Target

RETENTION_SECONDS = 24 * 60 * 60
"""A stream keeps its records for a day."""
_MARGIN_SECONDS = 300
"""Records that are older than the copy by more than this are in it. It is longer than clocks differ
and than a read may be behind."""
_SHARDS_SECONDS = 5.0
"""How often to look for new shards."""
_VIEWS = frozenset({"NEW_IMAGE", "NEW_AND_OLD_IMAGES"})


class Round(NamedTuple):
    """The records that were applied, and how many seconds the copy is behind."""

    records: int
    behind: float


def stream_of(table: TableInfo, place: str) -> str:
    """The ARN of a stream that can be followed. Raises DataError."""
    if table.stream_arn is None or table.stream_view not in _VIEWS:
        raise DataError(
            f"{place}: to follow {table.name}, it needs a stream with the view NEW_IMAGE or "
            "NEW_AND_OLD_IMAGES"
        )
    return table.stream_arn


class _Shard:
    def __init__(self, id: str, parent: str | None) -> None:
        self.id = id
        self.parent = parent
        self.iterator: str | None = None
        self.ended = False


class Follower:
    """Follows one table. `state.sequences` says how far, by shard."""

    def __init__(self, source: "Target", arn: str, state: "TableState", sink: Sink) -> None:
        if not state.sequences and time.time() - state.began > RETENTION_SECONDS - _MARGIN_SECONDS:
            raise DataError(
                f"{source.name}: the copy began more than a day ago, which is how long a stream "
                "keeps its records; copy again"
            )
        self._client = source.streams
        self._place = source.name
        self._arn = arn
        self._state = state
        self._sink = sink
        self._shards: dict[str, _Shard] = {}
        self._looked = 0.0

    def round(self) -> Round:
        """Read once from each shard that is to be read now, and apply what came."""
        if time.monotonic() - self._looked >= _SHARDS_SECONDS:
            self._look()
        records, oldest = 0, time.time()
        for shard in list(self._shards.values()):
            parent = self._shards.get(shard.parent or "")
            if not shard.ended and (parent is None or parent.ended):
                found = self._read(shard)
                if found:
                    self._apply(found)
                    self._state.sequences[shard.id] = found[-1]["dynamodb"]["SequenceNumber"]
                    records += len(found)
                    oldest = min(oldest, _created(found[-1]))
                if shard.ended:
                    self._looked = 0.0  # its children follow
        return Round(records, max(0.0, time.time() - oldest) if records else 0.0)

    def _look(self) -> None:
        """Learn of new shards, and forget those that the stream no longer has."""
        request: dict[str, Any] = {"StreamArn": self._arn}
        found: dict[str, _Shard] = {}
        while True:
            described = self._call("describe_stream", request)["StreamDescription"]
            for each in described["Shards"]:
                shard = self._shards.get(each["ShardId"])
                found[each["ShardId"]] = shard or _Shard(each["ShardId"], each.get("ParentShardId"))
            if "LastEvaluatedShardId" not in described:
                break
            request["ExclusiveStartShardId"] = described["LastEvaluatedShardId"]
        for id in self._shards.keys() - found.keys():
            self._state.sequences.pop(id, None)
        self._shards = found
        self._looked = time.monotonic()

    def _read(self, shard: _Shard) -> list[dict[str, Any]]:
        if shard.iterator is None:
            shard.iterator = self._iterator(shard)
        try:
            answer = self._call("get_records", {"ShardIterator": shard.iterator})
        except Refused as refusal:
            if refusal.code != "ExpiredIteratorException":
                raise self._lost(refusal) from None
            shard.iterator = None
            return []
        shard.iterator = answer.get("NextShardIterator")
        shard.ended = shard.iterator is None
        found: list[dict[str, Any]] = answer["Records"]
        return found

    def _iterator(self, shard: _Shard) -> str:
        request = {"StreamArn": self._arn, "ShardId": shard.id}
        after = self._state.sequences.get(shard.id)
        if after is None:
            request["ShardIteratorType"] = "TRIM_HORIZON"
        else:
            request |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        try:
            return str(self._call("get_shard_iterator", request)["ShardIterator"])
        except Refused as refusal:
            raise self._lost(refusal) from None

    def _lost(self, refusal: Refused) -> DataError:
        if refusal.code != "TrimmedDataAccessException":
            return refusal
        return DataError(
            f"{self._place}: the stream no longer has the records that follow, because it keeps "
            "them for a day; copy again"
        )

    def _call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        attempt = 0
        while True:
            try:
                with refusals(self._place):
                    answer: dict[str, Any] = getattr(self._client, method)(**request)
                    return answer
            except Refused as refusal:
                if refusal.code not in THROTTLED:
                    raise
            pause(attempt)
            attempt += 1

    def _apply(self, records: list[dict[str, Any]]) -> None:
        since = self._state.began - _MARGIN_SECONDS
        changes = [_change(record) for record in records if _created(record) >= since]
        if changes:
            self._sink.write(changes)


def _created(record: dict[str, Any]) -> float:
    moment: float = record["dynamodb"]["ApproximateCreationDateTime"].timestamp()
    return moment


def _change(record: dict[str, Any]) -> Record:
    content = record["dynamodb"]
    if record["eventName"] == "REMOVE":
        return Record(encode(content["Keys"]), 0, delete=True)
    return Record(encode(content["NewImage"]), 0)
