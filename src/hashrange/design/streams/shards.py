"""The shards of a stream: the order in which they are read, and the last record read of each.

A shard is read after its parent has ended, so the records of each item come in the order of its
changes.
"""

from dataclasses import dataclass
from typing import Any

from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps

Record = dict[str, Any]
"""A record as GetRecords returns it."""

EXPIRED = "ExpiredIteratorException"
TRIMMED = "TrimmedDataAccessException"
"""The code of the error for a position whose next records the stream has already dropped."""


@dataclass
class Shard:
    """A shard, and how far it has been read.

    `after` is the sequence number of the last record that was read. If there is none, reading
    begins with an iterator of the type `start`. A `closed` shard gets no more records. A shard that
    has `ended` has been read to its end."""

    id: str
    parent: str | None
    start: str
    closed: bool = False
    ended: bool = False
    after: str | None = None
    iterator: str | None = None


class Shards:
    """The shards of the stream `arn`.

    Shards that the first `find` returns are read from an iterator of the type `start`, later shards
    from their first record.
    """

    def __init__(self, arn: str, start: str = "TRIM_HORIZON") -> None:
        self.known: dict[str, Shard] = {}
        self._arn = arn
        self._start = start

    def find(self) -> Steps[None]:
        """Learn of new shards, and forget those that the stream no longer has."""
        shards: dict[str, Shard] = {}
        request: dict[str, Any] = {"StreamArn": self._arn}
        while True:
            described = (yield ApiCall("DescribeStream", request))["StreamDescription"]
            for each in described["Shards"]:
                id = each["ShardId"]
                shard = self.known.get(id) or Shard(id, each.get("ParentShardId"), self._start)
                shard.closed = "EndingSequenceNumber" in each["SequenceNumberRange"]
                if shard.closed and shard.start == "LATEST":
                    shard.ended = True
                shards[id] = shard
            if "LastEvaluatedShardId" not in described:
                break
            request = {**request, "ExclusiveStartShardId": described["LastEvaluatedShardId"]}
        self.known = shards
        self._start = "TRIM_HORIZON"

    def readable(self) -> list[Shard]:
        """The shards that have not ended, and whose parents have ended."""
        return [
            shard
            for shard in self.known.values()
            if not shard.ended
            and (shard.parent not in self.known or self.known[shard.parent].ended)
        ]

    def read(self, shard: Shard, limit: int | None = None) -> Steps[list[Record]]:
        """The next records of a shard, perhaps none. Raises ApiFailure, e.g. `TRIMMED`."""
        if shard.iterator is None:
            shard.iterator = yield from self._iterator(shard)
        limits = {} if limit is None else {"Limit": limit}
        try:
            page = yield ApiCall("GetRecords", {"ShardIterator": shard.iterator, **limits})
        except ApiFailure as failure:
            if failure.code != EXPIRED:
                raise
            shard.iterator = None  # the next read gets another one
            return []
        records: list[Record] = page["Records"]
        if records:
            shard.after = records[-1]["dynamodb"]["SequenceNumber"]
        shard.iterator = page.get("NextShardIterator")
        shard.ended = shard.iterator is None
        return records

    def _iterator(self, shard: Shard) -> Steps[str]:
        request = {"StreamArn": self._arn, "ShardId": shard.id}
        if shard.after is None:
            request["ShardIteratorType"] = shard.start
        else:
            request["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER"
            request["SequenceNumber"] = shard.after
        return str((yield ApiCall("GetShardIterator", request))["ShardIterator"])
